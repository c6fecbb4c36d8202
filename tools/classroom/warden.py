"""Watches one submission: time, memory, processes; interrupts a step that takes too long, and ends all that is left of it.

A warden is a fork of a keeper that has never seen a submission or a result. It reads one job, forks the process that goes into
the cage, writes what that said, and ends. So there is nothing in any process from which a submission descends but torch and the
submission's own inputs.
"""

import json
import os
import re
import select
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from classroom import memory, runner
from classroom.cage import Cage, Entrance
from classroom.limits import MEGABYTE, Limits
from classroom.system import DEATH_SIGNAL, LINUX, adopt, prctl

LOOK = 0.1


@dataclass
class Family:
    """Processes that descend from one: which, their processor time in seconds, their memory, whether one of them could run."""

    members: list[int] = field(default_factory=list)
    seconds: float = 0
    megabytes: float = 0
    awake: bool = False


def family(first: int) -> Family:
    """The processes that descend from one and itself, as Linux tells; elsewhere nothing is known of them.

    Memory is what each has beyond the warden's own, which all of them share, and what lies in files of theirs without a name.
    """
    parents, use = dict[int, int](), dict[int, tuple[float, float, bool]]()
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE") / MEGABYTE
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        use[pid] = (sum(map(int, fields[11:15])) / tick, int(fields[21]) * page, fields[0] == "R")
    found, shared = Family([first]), use.get(os.getpid(), (0, 0, False))[1]
    for pid in found.members:  # grows while it is read
        found.members += [child for child, parent in parents.items() if parent == pid]
        seconds, megabytes, awake = use.get(pid, (0, 0, False))
        found.awake = found.awake or awake
        found.seconds, found.megabytes = found.seconds + seconds, found.megabytes + max(megabytes - shared, 0)
    found.megabytes += nameless(found.members)
    return found


def nameless(processes: list[int]) -> float:
    """Megabytes in open files that no folder has: memory that counts to no process."""
    seen = dict[tuple[int, int], float]()
    for pid in processes:
        with suppress(OSError):
            for file in os.scandir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    about = os.stat(file.path)
                    if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                        seen[about.st_dev, about.st_ino] = about.st_blocks * 512 / MEGABYTE
    return sum(seen.values())


class Watch:
    """What a submission spends against its limits: processor time, and time in which none of it could run.

    Time in which it could run but other programs do is counted by the wall alone, so that a busy machine takes no points away.
    """

    def __init__(self, limits: Limits, wall: float):
        self.limits, self.until = limits, time.monotonic() + wall
        self.looked = time.monotonic()
        self.worked = self.asleep = self.step_begin = self.most = 0.0
        self.kind, self.said, self.interrupted = "file", 0, False

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return self.worked + self.asleep

    @property
    def late(self) -> bool:
        """Whether the step has used its seconds and is to be interrupted, once."""
        if self.interrupted or self.kind == "file" or self.spent - self.step_begin <= self.limits.seconds:
            return False
        self.interrupted = True
        return True

    def step(self, kind: str) -> None:
        """A new step has begun."""
        self.step_begin, self.kind, self.interrupted = self.spent, kind, False

    def exceeded(self, first: int, group: memory.Group | None) -> str | None:
        """The limit that is exceeded. Looks at the processes now and then."""
        now = time.monotonic()
        if now > self.until:
            return "wall"
        if self.said > self.limits.output * MEGABYTE:
            return "output"
        if group is not None and group.exceeded:
            return "memory"
        if now - self.looked < LOOK:
            return None
        seen = family(first)
        self.worked, self.most = max(self.worked, seen.seconds), max(self.most, seen.megabytes)
        self.asleep += 0 if seen.awake else now - self.looked
        self.looked = now
        over = {
            "total": self.kind == "cell" and self.spent > self.limits.total + self.limits.grace,
            "time": self.spent - self.step_begin > self.limits.seconds + self.limits.grace,
            "processes": len(seen.members) > self.limits.processes + 3,  # those that lead into the cage
            "memory": seen.megabytes > self.limits.memory,
        }
        return next((limit for limit, is_over in over.items() if is_over), None)


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


def runner_in(members: list[int], said: int) -> int | None:
    """The member that calls itself by a number, in the view of processes that it has."""
    for pid in members:
        with suppress(OSError):
            own = re.search(r"^NSpid:.*?(\d+)$", Path(f"/proc/{pid}/status").read_text(errors="replace"), re.MULTILINE)
            if own and int(own[1]) == said:
                return pid
    return None


def place(step: list[str]) -> tuple[str, str]:
    """The cell or the question that a step is part of."""
    return step[0], step[1].partition(".")[0]


def leave_alone(first: int, runner: int | None, before: float) -> None:
    """End what steps have left behind: processes that began before, and are neither the runner nor lead to it."""
    members, kept = family(first).members, {first}
    if runner is None or runner not in members:
        return
    about = {one: _stat(one) for one in members}
    pid = runner
    while pid not in kept and about.get(pid):  # the runner, and those that lead into the cage
        kept.add(pid)
        pid = int(about[pid][1])
    tick = os.sysconf("SC_CLK_TCK")
    for one in set(members) - kept:
        if about[one] and int(about[one][19]) / tick < before - 2 / tick:
            with suppress(OSError):
                os.kill(one, signal.SIGKILL)


def _stat(pid: int) -> list[str]:
    """What the kernel tells of a process, from its state on; nothing if it has gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return []


def listen(pipe: int, child: int, watch: Watch, group: memory.Group | None) -> tuple[str, list[str], bytes]:
    """Hear what a submission says until it ends or must be ended: how, in which step, and all that it said."""
    heard, step, runner = bytearray(), ["file", ""], None
    gone, read = False, 0
    while True:
        ready, _, _ = select.select([pipe], [], [], LOOK)
        data = os.read(pipe, 65536) if ready else b""
        heard += data
        watch.said = len(heard)
        if b"\n" in data:
            *lines, _ = bytes(heard[read:]).split(b"\n")
            read = heard.rindex(b"\n") + 1
            for begun, when in filter(None, map(step_in, lines)):
                if (
                    begun[0] == "file" and runner is None and begun[1].isdecimal()
                ):  # before anything of the submission's has run
                    runner = runner_in(family(child).members, int(begun[1]))
                elif watch.interrupted or place(begun) != place(step):
                    leave_alone(child, runner, when)  # what a cell leaves running ends with it, and counts to nothing after it
                step = begun
                watch.step(step[0])
        if (gone and not data) or (ready and not data):
            if group is not None and group.exceeded:
                return "memory", step, bytes(heard)
            return ("done" if b'["done"]\n' in heard[-4096:] else "died"), step, bytes(heard)
        over = watch.exceeded(child, group)
        if over:
            return over, step, bytes(heard)
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
    watch = Watch(limits, job["wall"])
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
        how, step, heard = listen(pipe, child, watch, group)
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
