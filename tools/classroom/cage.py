"""A place for code that nobody has read: no network, no other files, few processes, little memory, a home that vanishes.

Three kinds of cage, the strongest first. **bubblewrap**, where it is installed, and **namespaces** of our own where it is not
(both on Linux, where the kernel allows them): the code sees no network, no other process and, of the files of this machine,
Python and its libraries alone, which it cannot write. **python**: limits and the process group are the system's, but network
and files are closed by a hook inside Python, which code that is out to get around it can get around. Nothing runs in the last
kind unless the teacher says so.
"""

import os
import resource
import signal
import tempfile
from dataclasses import dataclass
from typing import Literal

from classroom import bubble, hook, namespaces, places
from classroom.limits import MEGABYTE, Limits, counts_apart, mapped, running
from classroom.system import DEATH_SIGNAL, DUMPABLE, LINUX, drop_privileges, prctl

Kind = Literal["bubblewrap", "namespaces", "python"]
HOME = "/student"
"""The home inside the walls."""


@dataclass(frozen=True)
class Cage:
    """Which cage. ``user`` is the number of a user without any rights to become, where the grader is root.

    Args:
        kind: see above.
        user: see above; None stays who it is.
        closed: folders that nobody inside sees: pack, submissions, results, this repository.
    """

    kind: Kind
    user: int | None = None
    closed: tuple[str, ...] = ()

    @property
    def walls(self) -> bool:
        """Whether the kernel keeps it closed."""
        return self.kind != "python"

    def __str__(self) -> str:
        kernel = f"network, files and processes closed by the kernel ({self.kind})"
        closed = kernel if self.walls else "closed by Python only, see the book"
        root = ", as root" if os.getuid() == 0 and not self.walls else ""
        return closed + (root if self.user is None else ", a user of its own")


def cages(closed: tuple[str, ...], worker: int, *, unprotected: bool = False) -> list[Cage]:
    """The cages worth trying here, the strongest first; without walls only where that is asked for."""
    users = [61000 + worker, None] if os.getuid() == 0 else [None]
    kinds: list[Kind] = []
    if LINUX:
        kinds += ["bubblewrap", "namespaces"] if bubble.found() else ["namespaces"]
    if unprotected:
        kinds.append("python")
    return [Cage(kind, user, closed) for kind in kinds for user in users]


class Entrance:
    """Walls that stand before a submission is there. :meth:`enter` is called in its process, :meth:`close` in the warden's.

    Raises OSError where the walls cannot be made.
    """

    def __init__(self, cage: Cage, limits: Limits) -> None:
        self.cage, self.limits = cage, limits
        apart = os.getuid() == 0 or (cage.walls and counts_apart())
        self._others = 0 if apart else running()  # the kernel counts all that a user has
        self._places = places.view(cage.closed) if cage.walls else []
        self._bubble = bubble.Bubble(self._places, limits, HOME) if cage.kind == "bubblewrap" else None
        self.home = HOME if cage.walls else tempfile.mkdtemp(prefix="home-")
        if not cage.walls and cage.user is not None:
            os.chown(self.home, cage.user, cage.user)

    def enter(self) -> None:
        """Go inside, in a process of its own that this call may make; it returns there. Raises OSError where it cannot."""
        os.setsid()
        if self._bubble is not None:
            self._bubble.enter()
        elif self.cage.walls:
            namespaces.enter(self._places, self.limits, HOME)
        if self.cage.user is not None:
            os.setgroups([])
            os.setgid(self.cage.user)
            os.setuid(self.cage.user)
        drop_privileges()
        if LINUX:
            prctl(DEATH_SIGNAL, signal.SIGKILL)
            if self.cage.walls or self.cage.user is None:  # the warden, perhaps the same user, counts open files
                prctl(DUMPABLE, 1)
        _limit(self.limits, self._others)
        hook.close(self.cage.closed, None if self.cage.walls else self.home, places.pythons())
        os.chdir(self.home)

    def close(self) -> None:
        """Take the walls down."""
        if self._bubble is not None:
            self._bubble.close()


def _limit(limits: Limits, others: int) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: int(limits.wall) + 1,  # of one process; steps are watched from outside
        resource.RLIMIT_FSIZE: limits.file * MEGABYTE,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_AS: mapped() + limits.memory * MEGABYTE,
        resource.RLIMIT_NPROC: limits.processes + 2 * others,  # they may become more; the warden counts, too
    }
    for kind, value in wanted.items():
        if kind == resource.RLIMIT_NPROC and not LINUX:
            continue  # counts all processes of the user there; the warden counts
        resource.setrlimit(kind, (value, value))
