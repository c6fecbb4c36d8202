"""Keeps submissions while they run: starts each in a cage, watches time, memory and processes, ends all that is left of it.

A keeper is a program of its own, with an environment that holds no credentials, and runs no code of a submission itself. It has
loaded torch, so that a submission starts in a few milliseconds: by a fork of it. It reads jobs from its input, one a line, and
answers each with what the submission said and how it ended.
"""

import json
import os
import select
import shutil
import signal
import stat
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from classroom import cage as cages
from classroom import runner

LOOK = 0.2


@dataclass
class Family:
    """Processes that descend from one: which, their processor time in seconds, their memory, whether one of them works."""

    members: list[int] = field(default_factory=list)
    seconds: float = 0
    megabytes: float = 0
    awake: bool = False


def family(first: int) -> Family:
    """The processes that descend from one and itself, as Linux tells; elsewhere nothing is known of them.

    Memory is what each has beyond the keeper's own, which all of them share.
    """
    parents, use = dict[int, int](), dict[int, tuple[float, float, bool]]()
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE") / cages.MEGABYTE
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        use[pid] = (sum(map(int, fields[11:15])) / tick, int(fields[21]) * page, fields[0] in "RD")
    found, shared = Family([first]), use.get(os.getpid(), (0, 0, False))[1]
    for pid in found.members:  # grows while it is read
        found.members += [child for child, parent in parents.items() if parent == pid]
        seconds, megabytes, awake = use.get(pid, (0, 0, False))
        found.awake = found.awake or awake
        found.seconds, found.megabytes = found.seconds + seconds, found.megabytes + max(megabytes - shared, 0)
    return found


class Watch:
    """What a submission spends against its limits: processor time, and time in which all of it sleeps.

    Time in which it could run but other programs do is not counted, so that a busy machine takes no points away.
    """

    def __init__(self, limits: cages.Limits):
        self.limits = limits
        self.looked = time.monotonic()
        self.worked = self.asleep = self.step_begin = 0.0
        self.said = 0

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return self.worked + self.asleep

    def step(self) -> None:
        """A new step has begun."""
        self.step_begin = self.spent

    def exceeded(self, first: int) -> str | None:
        """The limit that is exceeded. Looks at the processes now and then."""
        now = time.monotonic()
        if self.said > self.limits.output * cages.MEGABYTE:
            return "output"
        if now - self.looked < LOOK:
            return None
        seen = family(first)
        self.worked = max(self.worked, seen.seconds)
        self.asleep += 0 if seen.awake else now - self.looked
        self.looked = now
        over = {
            "total": self.spent > self.limits.total,
            "time": self.spent - self.step_begin > self.limits.seconds,
            "processes": len(seen.members) > self.limits.processes + 3,  # those that lead into the cage
            "memory": seen.megabytes > self.limits.memory,
        }
        return next((limit for limit, is_over in over.items() if is_over), None)


def step_in(line: bytes) -> list[str] | None:
    """The step that a line says has begun."""
    if not line.startswith(b'["begin"') or len(line) > 200:
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message[1:] if len(message) == 3 and all(type(word) is str for word in message) else None


def listen(pipe: int, child: int, limits: cages.Limits) -> tuple[str, list[str], bytes]:
    """Hear what a submission says until it ends or must be ended: how, in which step, and all that it said."""
    watch, heard, step = Watch(limits), bytearray(), ["file", ""]
    gone, read = False, 0
    while True:
        ready, _, _ = select.select([pipe], [], [], LOOK)
        data = os.read(pipe, 65536) if ready else b""
        heard += data
        watch.said = len(heard)
        if b"\n" in data:
            *lines, _ = bytes(heard[read:]).split(b"\n")
            read = heard.rindex(b"\n") + 1
            for begun in filter(None, map(step_in, lines)):
                step = begun
                watch.step()
        if (gone and not data) or (ready and not data):
            return ("done" if b'["done"]\n' in heard[-4096:] else "died"), step, bytes(heard)
        over = watch.exceeded(child)
        if over:
            return over, step, bytes(heard)
        gone = gone or os.waitpid(child, os.WNOHANG) != (0, 0)


def end(child: int) -> None:
    """End a submission and all that it has started. The keeper has adopted what was left alone."""
    for _ in range(100):
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


def inside(pipe: int, notebook: int, job: dict[str, Any], home: str) -> None:
    """In the child: go into the cage and run. Never returns."""
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        sys.stdin, sys.stdout, sys.stderr = (open(stream, mode) for stream, mode in enumerate("rww"))  # noqa: SIM115
        cages.enter(cages.Cage(**job["cage"]), cages.Limits(**job["limits"]), home)
        os.environ.update(HOME=home, TMPDIR=home, MPLCONFIGDIR=home)
        tempfile.tempdir = home
        runner.run(pipe, notebook, job)
        code = 0
    except BaseException as error:
        os.write(pipe, json.dumps(["broken", runner.said(error)]).encode() + b"\n")
    finally:
        os._exit(code)


def opened(path: str, limits: cages.Limits) -> int | str:
    """A descriptor of the file, or why not."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    about = os.fstat(file)
    if stat.S_ISREG(about.st_mode) and about.st_size <= limits.notebook * cages.MEGABYTE:
        return file
    os.close(file)
    return f"{about.st_size >> 20} MB" if stat.S_ISREG(about.st_mode) else "not a file"


def keep(job: dict[str, Any]) -> dict[str, Any]:
    """Run one submission: how it ended, in which step, what it said."""
    limits = cages.Limits(**job["limits"])
    notebook = opened(job["notebook"], limits)
    if isinstance(notebook, str):
        return {"end": "unopened", "step": ["file", ""], "said": notebook}
    home = tempfile.mkdtemp(prefix="home-")
    os.chmod(home, 0o777)
    pipe, its_end = os.pipe()
    try:
        child = os.fork()
        if child == 0:
            os.close(pipe)
            inside(its_end, notebook, job, home)
        os.close(its_end)
        how, step, heard = listen(pipe, child, limits)
        end(child)
        return {"end": how, "step": step, "said": heard.decode("utf-8", "replace")}
    finally:
        os.close(pipe)
        os.close(notebook)
        shutil.rmtree(home, ignore_errors=True)


def main(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer jobs until there are no more."""
    cages.adopt()
    for line in jobs:
        answers.write(json.dumps(keep(json.loads(line))).encode() + b"\n")
        answers.flush()
