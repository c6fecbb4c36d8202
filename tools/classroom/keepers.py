"""Keepers as the grader sees them: started, tried out, asked, ended."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from classroom.cage import Cage, cages
from classroom.judge import heard
from classroom.limits import Limits

SLACK = 30
"""Seconds beyond the wall of a submission in which its warden must have answered."""
_TOOLS = str(Path(__file__).resolve().parent.parent)
_KEEPER = """\
import socket, sys
sys.path.insert(0, sys.argv[1])
from classroom.keeper import main
sys.path.remove(sys.argv[1])
import matplotlib.pyplot
main(socket.socket(fileno=int(sys.argv[2])))"""
_PROBE = """\
import os, socket, wave, torch
def probe(what):
    if what == "alive":
        open("here", "w").close()
        return 1
    if what == "connect":
        return str(socket.create_connection(("127.0.0.1", 9), 1))
    return open(what).read(1)
"""
"""A submission that tries to get out."""


class Refused(Exception):
    """No cage that was tried works; says of each why not."""


class Keeper:
    """A keeper, started when it is first needed, and again should it be lost. Submissions see nothing of ``closed`` folders.

    ``refused`` says of stronger cages than its own why they do not work here.
    """

    def __init__(self, number: int, limits: Limits, closed: Sequence[str], *, unprotected: bool = False):
        self.limits, self._closed = limits, tuple(closed)
        self.choices = cages(self._closed, number, unprotected=unprotected)
        self.empty: dict[str, Any] = {}
        self.program: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None
        self.refused: list[str] = []

    def _start(self) -> socket.socket:
        """A keeper's program, and the door through which connections are handed to it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        plain = {"LANG": "C.UTF-8", "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        places = {"PATH": f"{sys.prefix}/bin:/usr/bin:/bin", "MPLCONFIGDIR": f"{tempfile.gettempdir()}/classroom-{os.getuid()}"}
        command = [sys.executable, "-I", "-c", _KEEPER, _TOOLS, str(theirs.fileno())]
        with theirs:
            self.program = subprocess.Popen(command, env=plain | places, start_new_session=True, pass_fds=(theirs.fileno(),))
        self._door = ours
        return ours

    def ask(self, job: dict[str, Any], wall: float) -> dict[str, Any]:
        """What a warden answers to a job. Raises OSError or ValueError where it is lost, or does not answer in time."""
        ours, theirs = socket.socketpair()
        try:
            with ours, theirs:
                socket.send_fds(self._door or self._start(), [b"x"], [theirs.fileno()])
                theirs.close()
                ours.settimeout(wall + SLACK)
                ours.sendall(json.dumps({**job, "wall": wall, "limits": asdict(self.limits)}).encode() + b"\n")
                with ours.makefile("rb") as answer:
                    return json.loads(answer.readline())
        except (OSError, ValueError):
            self.close()
            raise

    def run(self, path: Path, questions: list[dict[str, Any]], skip: list[list[str]], wall: float) -> dict[str, Any]:
        """Run a submission once, in so many seconds at most. Raises OSError where its cage is not to be had."""
        job = {"notebook": str(path), "questions": questions, "skip": skip, "cage": asdict(self.cage)}
        answer = self.ask(job, wall)
        if answer["end"] == "cage":
            raise OSError(answer["said"])
        return answer

    @property
    def cage(self) -> Cage:
        """The strongest cage that works here, found by trying each with a submission that tries to get out.

        Raises :class:`Refused` where none does.
        """
        while not self.empty:
            if not self.choices:
                raise Refused("\n".join(self.refused) or "There is no cage of the kernel's on this system.")
            why = self._tried(self.choices[0])
            if why is not None:
                self.refused.append(f"{self.choices[0]}: {why}")
                self.choices.pop(0)
        return self.choices[0]

    def agree(self, cage: Cage, empty: dict[str, Any]) -> None:
        """Take a cage that works for another keeper, and what it takes to do nothing there."""
        self.choices = [choice for choice in self.choices if str(choice) == str(cage)]
        self.empty = empty

    def _tried(self, cage: Cage) -> str | None:
        """Why a cage does not do; None where it does. Notes what a submission takes that does nothing."""
        with tempfile.TemporaryDirectory() as folder:
            secret, notebook = Path(folder) / "secret", Path(folder) / "probe.ipynb"
            secret.write_text("secret")
            notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": _PROBE}]}))
            witnesses = filter(None, map(_witness, self._closed))
            tries = [[{"plain": what}] for what in ("alive", "connect", str(secret), *witnesses)]
            question = {"number": "1", "name": "probe", "calls": tries}
            closed = (*cage.closed, folder)
            job = {"notebook": str(notebook), "questions": [question], "skip": []}
            answer = self.ask(job | {"cage": asdict(cage) | {"closed": closed}}, self.limits.wall)
        found = {message[2]: message[3] for message in heard(answer["said"]) if message[0] == "result" and len(message) == 4}
        broken = [message[1] for message in heard(answer["said"]) if message[0] == "broken"]
        if answer["end"] != "done" or found.get(0) != {"plain": 1}:
            return str((broken or [answer["said"] or answer["end"]])[0])[:300]
        if any("raised" not in answer for place, answer in found.items() if place):
            return f"a submission in it reaches the network or a closed folder: {found}"[:300]
        self.empty = answer
        return None

    def close(self) -> None:
        """End it, and with it all that it has started."""
        if self._door is not None:
            self._door.close()
            self._door = None
        if self.program is not None:
            try:
                self.program.wait(2)
            except subprocess.TimeoutExpired:
                self.program.kill()
                self.program.wait()
            self.program = None


def _witness(folder: str) -> str | None:
    """A file in a closed folder, to be found closed."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in sorted(folders) if not (Path(place) / name / "pyvenv.cfg").exists()]
        if files:
            return os.path.join(place, min(files))
    return None


@contextmanager
def keepers(workers: int, limits: Limits, closed: Sequence[str], *, unprotected: bool = False) -> Iterator[list[Keeper]]:
    """Keepers, who have agreed on a cage. They are ended in the end. Raises :class:`Refused` where there is no cage."""
    every = [Keeper(number, limits, closed, unprotected=unprotected) for number in range(workers)]
    try:
        found = every[0].cage
        for keeper in every[1:]:
            keeper.agree(found, every[0].empty)
        yield every
    finally:
        for keeper in every:
            keeper.close()
