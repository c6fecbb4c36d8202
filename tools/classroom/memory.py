"""A limit on the memory of all processes of a submission together, files in memory included: a control group.

Where there is none the warden adds up what it sees, a few times a second.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from classroom.limits import MEGABYTE

_ROOT = Path("/sys/fs/cgroup")


class Group:
    """A control group with a limit, for processes that are put into it. Use :func:`group`."""

    def __init__(self, folder: Path, limit: int, *, old: bool) -> None:
        self.folder, self._old = folder, old
        folder.mkdir()
        try:
            (folder / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(limit))
            with suppress(OSError):
                (folder / ("memory.memsw.limit_in_bytes" if old else "memory.swap.max")).write_text(str(limit if old else 0))
        except OSError:
            folder.rmdir()
            raise

    def add(self, process: int) -> None:
        """Put a process in, and so all that it will start."""
        (self.folder / "cgroup.procs").write_text(str(process))

    @property
    def exceeded(self) -> bool:
        """Whether the kernel has ended something in it for lack of memory."""
        events = self.folder / ("memory.oom_control" if self._old else "memory.events")
        with suppress(OSError):
            return any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in events.read_text().splitlines())
        return False

    @property
    def most(self) -> float | None:
        """Megabytes, at most so far; None where the kernel does not tell."""
        with suppress(OSError, ValueError):
            name = "memory.max_usage_in_bytes" if self._old else "memory.peak"
            return int((self.folder / name).read_text()) / MEGABYTE
        return None

    def close(self) -> None:
        """Remove it, once all in it have ended."""
        for _ in range(100):
            with suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.01)


def group(megabytes: int) -> Group | None:
    """A control group with this limit; None where this user may make none."""
    name = f"classroom-{os.getpid()}-{time.monotonic_ns()}"
    own = dict[str, str]()
    with suppress(OSError):
        own = {line.split(":", 2)[1]: line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()}
    tries = [(_ROOT / "memory" / own["memory"].strip("/"), True)] if "memory" in own else []
    if "" in own:
        here = _ROOT / own[""].strip("/")
        tries += [(place, False) for place in (here, here.parent) if _hands_on(place)]
    for place, old in tries:
        with suppress(OSError):
            return Group(place / name, megabytes * MEGABYTE, old=old)
    return None


def _hands_on(place: Path) -> bool:
    with suppress(OSError):
        return "memory" in (place / "cgroup.subtree_control").read_text().split()
    return False
