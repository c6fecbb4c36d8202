"""What a submission may use."""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """What a submission may use. A step is a statement of a cell, or a question.

    Seconds are processor time, and time in which nothing of the submission could run; those of the wall are seconds. A step
    that has used its seconds is interrupted, as by the stop button, and the next one begins. One that does not let itself be
    interrupted is ended ``grace`` seconds later with all that it belongs to, and the submission runs again without it.

    Args:
        seconds: for a step.
        total: for all cells together. A question has its own.
        wall: for all runs of a submission, whatever the machine does beside it. Nothing goes on beyond it.
        grace: see above.
        memory: megabytes beyond what an empty submission needs.
        processes: at the same time.
        file: megabytes that a file may grow to, and four times as much in the temporary home.
        files: open at the same time, by one process.
        notebook: megabytes of the submission itself.
        output: megabytes of results.
    """

    seconds: float = 20
    total: float = 120
    wall: float = 600
    grace: float = 2
    memory: int = 3000
    processes: int = 32
    file: int = 16
    files: int = 64
    notebook: int = 256
    output: int = 16


def shortage(limits: Limits, workers: int, empty: float) -> str | None:
    """What to say where so many submissions at once may need more memory than this machine has left; None where they do not.

    Args:
        limits, workers: of the run.
        empty: megabytes that a submission needs which does nothing, as measured.
    """
    about = Path("/proc/meminfo")
    if not about.exists():
        return None
    free = next(int(line.split()[1]) / 1024 for line in about.read_text().splitlines() if line.startswith("MemAvailable"))
    need = workers * (limits.memory + empty)
    if need <= free:
        return None
    fit = max(1, int(free // (limits.memory + empty)))
    return (
        f"{workers} submissions at once may take {need / 1024:.1f} GB, and this machine has {free / 1024:.1f} GB left: "
        f"one that is right could be ended for lack of memory. Grade {fit} at once (WORKERS={fit}), or allow each less."
    )


def mapped() -> int:
    """Bytes of address space that this process has. A torch with the libraries of a GPU maps gigabytes before it computes."""
    size = Path("/proc/self/statm")
    return int(size.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if size.exists() else 0


def running() -> int:
    """How many processes and threads the user of this one has."""
    found, own = 0, str(os.getuid())
    for about in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it has ended
            text = about.read_text(errors="replace")
            user, threads = (re.search(rf"^{name}:\s*(\d+)", text, re.MULTILINE) for name in ("Uid", "Threads"))
            found += int(threads[1]) if user and threads and user[1] == own else 0
    return found


def counts_apart() -> bool:
    """Whether the kernel counts processes in a user namespace apart from others of the same user: Linux since 5.14."""
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return release is not None and (int(release[1]), int(release[2])) >= (5, 14)
