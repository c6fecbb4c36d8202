"""Watches one submission: time, memory, processes; interrupts a step that takes too long, and ends all that is left of it.

A warden is a fork of a keeper that has never seen a submission or a result. It reads one job, forks the process that goes into
the cage, writes what that said, and ends. So there is nothing in any process from which a submission descends but torch and the
submission's own inputs.
"""

import json
import os
import select
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

from classroom import memory, runner
from classroom.cage import Cage, Entrance
from classroom.leftovers import leave_alone, runner_in
from classroom.limits import MEGABYTE, Limits
from classroom.system import DEATH_SIGNAL, LINUX, adopt, prctl
from classroom.watch import LOOK, Watch, family


def step_in(line: bytes) -> tuple[list[str], float] | None:
    """The step that a line says has begun, and when, in seconds since the machine was started."""
    if not line.startswith(b'["begin"') or len(line) > 200:
        return None
    try:
        message = json.loads(line)
        when = float(message[3])
    except (ValueError, RecursionError, IndexError, TypeError):
        return None
    return (message[1:3], when) if len(message) == 4 and all(type(word) is str for word in message) else None


def turn(step: list[str], questions: list[str]) -> tuple[int, int, int] | None:
    """When it is a step's turn: cells come first, and everything once. None for what is no step."""
    kind, (cell, _, statement) = step[0], step[1].partition(".")
    if kind == "cell" and cell.isdecimal() and statement.isdecimal():
        return 1, int(cell), int(statement)
    return (2, questions.index(step[1]), 0) if kind == "question" and step[1] in questions else None


class Ear:
    """Hears what a submission says, and knows from it which step it is in.

    A step is believed once, and only after those that come before it: who announces one again and again gains no time.
    """

    def __init__(self, watch: Watch, questions: list[str]) -> None:
        self.watch, self.questions = watch, questions
        self.heard, self.step, self.at = bytearray(), ["file", ""], (0, 0, 0)
        self._read = 0
        self._runner: int | None = None

    def hear(self, data: bytes) -> None:
        """Take in what has come. What steps have left behind is ended once for all that came together."""
        self.heard += data
        self.watch.said = len(self.heard)
        if b"\n" not in data:
            return
        *lines, _ = bytes(self.heard[self._read :]).split(b"\n")
        self._read = self.heard.rindex(b"\n") + 1
        left: float | None = None
        for begun, when in filter(None, map(step_in, lines)):
            if begun[0] == "file" and self._runner is None and begun[1].isdecimal():  # before anything of the submission's
                self._runner = runner_in(self._members(), int(begun[1]))
            at = turn(begun, self.questions)
            if at is None or at <= self.at:
                continue
            if self.watch.interrupted or at[:2] != self.at[:2]:
                left = when  # what a cell leaves running ends with it, and counts to nothing after it
            self.step, self.at = begun, at
            self.watch.step(begun[0])
        if left is not None:
            leave_alone(self._members, self._runner, left)

    def _members(self) -> list[int]:
        return self.watch.family.members


def listen(pipe: int, child: int, ear: Ear, group: memory.Group | None) -> tuple[str, list[str], bytes]:
    """Hear what a submission says until it ends or must be ended: how, in which step, and all that it said."""
    watch, gone = ear.watch, False
    while True:
        ready, _, _ = select.select([pipe], [], [], LOOK)
        data = os.read(pipe, 65536) if ready else b""
        ear.hear(data)
        if (gone and not data) or (ready and not data):
            done = b'["done"]\n' in ear.heard[-4096:]
            how = "memory" if group is not None and group.exceeded else "done" if done else "died"
            return how, ear.step, bytes(ear.heard)
        over = watch.exceeded(group)
        if over:
            return over, ear.step, bytes(ear.heard)
        if watch.late:
            with suppress(OSError):
                os.killpg(child, signal.SIGINT)
        gone = gone or os.waitpid(child, os.WNOHANG) != (0, 0)


def end(child: int, entrance: Entrance) -> None:
    """End a submission and all that it has started. The warden has adopted what was left alone."""
    entrance.close()
    for _ in range(500):
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        for pid in {child, *family(os.getpid()).members} - {os.getpid()}:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:  # nobody is left
            return
        time.sleep(0.01)


def inside(pipe: int, notebook: int, job: dict[str, Any], entrance: Entrance, begin: int) -> None:
    """In the child: go into the cage and run. Never returns."""
    code = 1
    try:
        if LINUX:
            prctl(DEATH_SIGNAL, signal.SIGKILL)
        os.read(begin, 1)
        _close_all_but(pipe, notebook)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        sys.stdin, sys.stdout, sys.stderr = (open(stream, mode) for stream, mode in enumerate("rww"))  # noqa: SIM115
        entrance.enter()
        os.environ.update(HOME=entrance.home, TMPDIR=entrance.home, MPLCONFIGDIR=entrance.home)
        tempfile.tempdir = entrance.home
        runner.run(pipe, notebook, job)
        code = 0
    except BaseException as error:
        os.write(pipe, json.dumps(["broken", runner.said(error)]).encode() + b"\n")
    finally:
        os._exit(code)


def _close_all_but(*kept: int) -> None:
    """Close what the warden has open, its line to the grader first of all."""
    below = 3
    for file in (*sorted(kept), os.sysconf("SC_OPEN_MAX")):
        os.closerange(below, file)
        below = file + 1


def opened(path: str, limits: Limits) -> int | str:
    """A descriptor of the file, or why not."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    about = os.fstat(file)
    if stat.S_ISREG(about.st_mode) and about.st_size <= limits.notebook * MEGABYTE:
        return file
    os.close(file)
    return f"{about.st_size >> 20} MB" if stat.S_ISREG(about.st_mode) else "not a file"


def watched(job: dict[str, Any]) -> dict[str, Any]:
    """Run one submission: how it ended, in which step, what it said, what it took."""
    limits = Limits(**job["limits"])
    notebook = opened(job["notebook"], limits)
    if isinstance(notebook, str):
        return {"end": "unopened", "step": ["file", ""], "said": notebook}
    entrance = Entrance(Cage(**job["cage"] | {"closed": tuple(job["cage"]["closed"])}), limits)
    group = memory.group(limits.memory)
    (pipe, its_end), (waits, go) = os.pipe(), os.pipe()
    apart = set(family(os.getpid()).members)  # this one, and what makes the walls
    watch = Watch(limits, job["wall"], apart, None if entrance.cage.walls else entrance.home)
    ear = Ear(watch, [question["number"] for question in job["questions"]])
    try:
        child = os.fork()
        if child == 0:
            os.close(pipe)
            os.close(go)
            inside(its_end, notebook, job, entrance, waits)
        os.close(its_end)
        os.close(waits)
        if group is not None:
            group.add(child)
        os.close(go)
        how, step, heard = listen(pipe, child, ear, group)
        end(child, entrance)
        most = (group.most if group is not None else None) or watch.most
        spent = {"seconds": round(watch.spent, 2), "megabytes": round(most)}
        return {"end": how, "step": step, "said": heard.decode("utf-8", "replace"), "group": group is not None} | spent
    finally:
        entrance.close()
        if not entrance.cage.walls:
            shutil.rmtree(entrance.home, ignore_errors=True)
        if group is not None:
            group.close()


def serve(connection: socket.socket) -> None:
    """Read one job, answer it."""
    if LINUX:
        prctl(DEATH_SIGNAL, signal.SIGKILL)
    adopt()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with connection, connection.makefile("rb") as asked:
        line = asked.readline()
        try:
            answer = watched(json.loads(line))
        except OSError as error:  # a cage that cannot be had
            answer = {"end": "cage", "step": ["file", ""], "said": str(error)}
        connection.sendall(json.dumps(answer).encode() + b"\n")
