"""Ends what a step of a submission has left running when the next one begins, and nothing else."""

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROUNDS = 50
"""How often what is left behind is looked for, at most."""


def runner_in(members: list[int], said: int) -> int | None:
    """The member that calls itself by a number, in the view of processes that it has."""
    for pid in members:
        with suppress(OSError):
            own = re.search(r"^NSpid:.*?(\d+)$", Path(f"/proc/{pid}/status").read_text(errors="replace"), re.MULTILINE)
            if own and int(own[1]) == said:
                return pid
    return None


def leave_alone(members: Callable[[], list[int]], runner: int | None, before: float) -> None:
    """End what steps have left behind: processes that began before, and all that descend from them.

    Those stay that lead to the runner, the runner, and what it has begun since. All are stopped before one is ended: who forks
    without end would leave children that nobody can be asked for.
    """
    stopped, tick = set[int](), os.sysconf("SC_CLK_TCK")
    for _ in range(ROUNDS):
        about = {one: found for one in members() if (found := _stat(one)) and found[0] != "Z"}
        if runner not in about:
            break
        kept = set(_line(runner, about))
        old = {one for one, found in about.items() if int(found[19]) / tick < before - 2 / tick}
        left = {one for one in about.keys() - kept - stopped if (set(_line(one, about)) - kept) & old}
        if not left:
            break
        _signal(left, signal.SIGSTOP)
        stopped |= left
    _signal(stopped, signal.SIGKILL)
    for _ in range(ROUNDS):
        if all(_stat(one)[:1] in ([], ["Z"]) for one in stopped):
            break
        time.sleep(0.01)


def _signal(processes: set[int], number: int) -> None:
    for one in processes:
        with suppress(OSError):
            os.kill(one, number)


def _line(pid: int, about: dict[int, list[str]]) -> list[int]:
    """A process and those above it, as far as they are there."""
    found = list[int]()
    while pid in about and pid not in found:
        found.append(pid)
        pid = int(about[pid][1])
    return found


def _stat(pid: int) -> list[str]:
    """What the kernel tells of a process, from its state on; nothing if it has gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return []
