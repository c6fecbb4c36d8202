"""Runs a submission: its cells from top to bottom, then its functions on the inputs of the questions. Judges nothing.

What it says, it says on one pipe, a line of JSON for each message: ``begin`` and ``failed`` for a step, ``result`` for a call,
``done``; the first step's name is the number of its process. A submission can write to that pipe too, or change this module
while it runs. It gains nothing: what arrives at the other end counts as its answer, and only right numbers are worth points.
"""

import ast
import asyncio
import inspect
import json
import os
import signal
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from classroom.notebook import Cell, cells_of, defines, python, statements

DTYPES = {str(d).removeprefix("torch."): d for d in (torch.float64, torch.float32, torch.float16, torch.bfloat16)}
DTYPES |= {
    str(d).removeprefix("torch."): d for d in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
}
LARGEST, LONGEST = 100_000, 10_000
REST = ["cells", "rest"]
"""In the list of what is to be left out: of all cells, all but definitions."""
ALL = ["cells", "all"]
"""And all cells."""
TOO_LONG = "took too long"


def clock() -> str:
    """Seconds since the machine was started: by this the kernel dates processes."""
    return f"{time.clock_gettime(getattr(time, 'CLOCK_BOOTTIME', time.CLOCK_MONOTONIC)):.3f}"


class Interrupted(BaseException):
    """Raised where a step is when its time is over."""


def packed(value: object) -> dict[str, Any]:
    """A value as JSON: a tensor with its dtype and shape, a plain value, or the name of its type."""
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        if kind not in DTYPES or value.numel() > LARGEST:
            return {"other": f"{kind} tensor with {value.numel()} numbers"}
        plain = value.detach().cpu().to(torch.float64) if value.is_floating_point() else value.detach().cpu()
        return {"tensor": plain.reshape(-1).tolist(), "dtype": kind, "shape": list(value.shape)}
    if value is None or value is ...:
        return {"plain": None}
    if type(value) in (bool, int, float, str):
        return {"plain": value}
    return {"other": type(value).__name__}


def unpacked(given: dict[str, Any]) -> object:
    """What :func:`packed` was given. Raises ValueError, KeyError or TypeError where it cannot be that."""
    if "tensor" not in given:
        return given["plain"]
    numbers, shape, dtype = given["tensor"], given["shape"], DTYPES[given["dtype"]]
    if (
        len(numbers) > LARGEST
        or not all(type(n) is int for n in shape)
        or not all(type(n) in (bool, int, float) for n in numbers)
    ):
        raise ValueError("these are no numbers")
    wide = torch.float64 if dtype.is_floating_point else dtype
    return torch.tensor(numbers, dtype=wide).reshape(shape).to(dtype)


def said(error: BaseException) -> str:
    """One line about an error."""
    if isinstance(error, Interrupted):
        return TOO_LONG
    try:
        text = " ".join(str(error).split())
    except BaseException:  # the error is the submission's, and so is what it says of itself
        text = ""
    if isinstance(error, SyntaxError):
        text = f"{error.msg}, line {error.lineno}"
    return f"{type(error).__name__}: {text}"[:300].rstrip(": ")


class Shell:
    """What a cell finds under ``get_ipython()``: it runs the Python of ``%time``, and nothing else."""

    def __init__(self, space: dict[str, Any]):
        self._space = space

    def run_line_magic(self, name: str, line: str, *_: object, **__: object) -> None:
        """Run what a magic only measures."""
        if name in ("time", "timeit", "prun", "memit"):
            exec(line, self._space)

    def getoutput(self, *_: object, **__: object) -> list[str]:
        """What a program of the shell would have said."""
        return []

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class Runner:
    """One submission. ``skip`` holds the steps that have come to a bad end before, and what is known already."""

    def __init__(self, pipe: int, skip: list[list[str]]):
        self.pipe, self.skip, self.me = pipe, skip, os.getpid()
        self.space = types.ModuleType("__main__")
        self.open = False
        signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_: object) -> None:
        if self.open:
            self.open = False
            raise Interrupted

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """What runs in here is the submission's: an interrupt ends it."""
        signal.signal(signal.SIGINT, self._interrupt)
        self.open = True
        try:
            yield
        finally:
            self.open = False

    def say(self, *message: object) -> None:
        """Write one message. A child that the submission has made ends where it comes here."""
        if os.getpid() != self.me:
            os._exit(0)
        line = b"\n" + json.dumps(message).encode() + b"\n"  # whatever a submission has begun to write ends here
        while line:
            line = line[os.write(self.pipe, line) :]

    def step(self, kind: str, name: str) -> bool:
        """Announce a step, unless it is to be left out."""
        if [kind, name] in self.skip:
            return False
        self.say("begin", kind, name, clock())
        return True

    def part(self, kind: str, name: str) -> bool:
        """Announce the first step of a cell, or a question. An alarm that the last one has set does not go off in this one."""
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        return self.step(kind, name)

    def cells(self, cells: list[Cell]) -> None:
        """Run the code, one cell after the other, whatever becomes of it."""
        sys.modules["__main__"] = self.space
        shell = Shell(self.space.__dict__)
        self.space.__dict__.update(check=lambda *a, **k: None, display=lambda *a, **k: None, get_ipython=lambda: shell)
        for number, cell in enumerate((cell for cell in cells if cell.kind == "code"), start=1):
            self.cell(cell.source, str(number))

    def cell(self, source: str, number: str) -> None:
        """Run a cell statement by statement: an error ends it, but for what it defines further down."""
        if not self.part("cell", f"{number}.0"):
            return
        only_definitions = REST in self.skip
        try:
            with self.interruptible():
                parts = statements(python(source), f"cell {number}")
        except BaseException as error:  # no Python, or too much of it
            self.say("failed", "cell", number, said(error))
            return
        for place, (statement, flags) in enumerate(parts, start=1):
            if (only_definitions and not defines(statement)) or not self.step("cell", f"{number}.{place}"):
                continue
            try:
                with self.interruptible():
                    self.execute(statement, flags, f"cell {number}")
            except BaseException as error:  # an exit, too, is only the end of this cell
                self.say("failed", "cell", number, said(error))
                only_definitions = only_definitions or not isinstance(error, Interrupted)

    def execute(self, statement: ast.stmt, flags: int, name: str) -> None:
        """Run one statement; one that awaits, in an event loop of its own."""
        code = compile(ast.Module([statement], []), name, "exec", flags, dont_inherit=True)
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(eval(code, self.space.__dict__))
        else:
            exec(code, self.space.__dict__)

    def question(self, number: str, name: str, calls: list[list[dict[str, Any]]]) -> None:
        """Call a function on all its inputs."""
        if not self.part("question", number):
            return
        function = self.space.__dict__.get(name)
        if not callable(function):
            self.say("result", number, 0, {"missing": name})
            return
        for place, arguments in enumerate(calls):
            try:
                with self.interruptible():
                    answer = packed(function(*map(unpacked, arguments)))
            except Interrupted:
                self.say("failed", "question", number, TOO_LONG)
                return
            except BaseException as error:  # whatever it raises is its answer
                answer = {"raised": said(error)}
            self.say("result", number, place, answer)


def run(pipe: int, notebook: int, job: dict[str, Any]) -> None:
    """Do a job: read the notebook from one file descriptor, say what comes of it on another."""
    runner = Runner(pipe, job["skip"])
    sys.modules["attnlib"] = None  # type: ignore[assignment]  # the package has the answers
    runner.say("begin", "file", str(os.getpid()), clock())
    try:
        with open(notebook, encoding="utf-8-sig") as file:
            cells = cells_of(file.read())
        texts = [[cell.source[:LONGEST], cell.question] for cell in cells if cell.kind == "markdown"]
        runner.say("written", texts[:200])
    except (ValueError, MemoryError) as error:
        runner.say("failed", "file", "", said(error))
        runner.say("done")
        return
    if ALL not in runner.skip:
        runner.cells(cells)
    for question in job["questions"]:
        runner.question(question["number"], question["name"], question["calls"])
    runner.say("done")
