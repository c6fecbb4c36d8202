"""Looks at the processes of a submission, and holds what it spends against its limits."""

import os
import stat
import time
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from classroom import memory
from classroom.limits import MEGABYTE, Limits

LOOK = 0.1


@dataclass
class Family:
    """Processes that descend from one: which, how many have not ended, their seconds, their memory, whether one could run."""

    members: list[int] = field(default_factory=list)
    alive: int = 0
    seconds: float = 0
    megabytes: float = 0
    awake: bool = False


def family(first: int, apart: Set[int] = frozenset()) -> Family:
    """The processes that descend from one and itself, but those that stand apart, as Linux tells; elsewhere only the one.

    Memory is what each has beyond the warden's own, which all of them share, and what lies in files of theirs without a name.
    """
    parents, use = dict[int, int](), dict[int, tuple[float, float, str]]()
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE") / MEGABYTE
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        use[pid] = (sum(map(int, fields[11:15])) / tick, int(fields[21]) * page, fields[0])
    every, shared = [first], use.get(os.getpid(), (0, 0, "Z"))[1]
    for pid in every:  # grows while it is read
        every += [child for child, parent in parents.items() if parent == pid]
    found = Family([pid for pid in every if pid not in apart])
    for pid in found.members:
        seconds, megabytes, state = use.get(pid, (0, 0, "Z"))
        found.awake, found.alive = found.awake or state == "R", found.alive + (state != "Z")
        found.seconds, found.megabytes = found.seconds + seconds, found.megabytes + max(megabytes - shared, 0)
    found.megabytes += nameless(found.members)
    return found


def kept(home: str) -> float:
    """Megabytes in a folder, and a few kilobytes for each thing in it."""
    size = 0
    for folder, folders, files in os.walk(home):
        for name in (*folders, *files):
            with suppress(OSError):
                size += max(os.lstat(os.path.join(folder, name)).st_blocks * 512, 4096)
    return size / MEGABYTE


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
    Its processes are all below the warden, whoever has started them, but those that stand ``apart``: what makes the walls.
    ``home`` is its home where no walls keep that small.
    """

    def __init__(self, limits: Limits, wall: float, apart: Set[int] = frozenset(), home: str | None = None):
        self.limits, self.apart, self.home, self.until = limits, apart, home, time.monotonic() + wall
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

    @property
    def family(self) -> Family:
        """Its processes now."""
        return family(os.getpid(), self.apart)

    def exceeded(self, group: memory.Group | None) -> str | None:
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
        seen = self.family
        self.worked, self.most = max(self.worked, seen.seconds), max(self.most, seen.megabytes)
        self.asleep += 0 if seen.awake else now - self.looked
        self.looked = now
        over = {
            "total": self.kind == "cell" and self.spent > self.limits.total + self.limits.grace,
            "time": self.spent - self.step_begin > self.limits.seconds + self.limits.grace,
            "processes": seen.alive > self.limits.processes + 3,  # those that lead into the cage
            "memory": seen.megabytes > self.limits.memory,
            "disk": self.home is not None and kept(self.home) > 4 * self.limits.file,
        }
        return next((limit for limit, is_over in over.items() if is_over), None)
