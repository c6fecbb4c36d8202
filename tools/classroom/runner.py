"""Runs a submission: its cells from top to bottom, then its functions on the inputs of the questions. Judges nothing.

What it says, it says on one pipe, a line of JSON for each message: ``begin`` and ``failed`` for a step, ``result`` for a call,
``done``. A submission can write to that pipe too, or change this module while it runs. It gains nothing: what arrives at the
other end counts as its answer, and only right numbers are worth points.
"""

import json
import os
import re
import sys
import types
from typing import Any

import torch

DTYPES = {str(d).removeprefix("torch."): d for d in (torch.float64, torch.float32, torch.float16, torch.bfloat16)}
DTYPES |= {
    str(d).removeprefix("torch."): d for d in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
}
LARGEST, LONGEST = 100_000, 10_000
CHECKS = "# @title The checks."
"""How the cell with the public checks begins. It is left out: a check would call a function that hangs."""
_MAGIC = re.compile(r"^(\s*)[%!].*", re.MULTILINE)


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


def cells_of(text: str) -> list[tuple[str, str]]:
    """Kind and source of the cells of a notebook, of one from before 2014 too. Raises ValueError for what is no notebook."""
    try:
        notebook = json.loads(text)
        sheets = notebook.get("worksheets") or [notebook]
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        return [(str(cell.get("cell_type")), "".join(cell.get("source", cell.get("input", "")))) for cell in cells]
    except (AttributeError, KeyError, TypeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}"[:200]) from None


def said(error: BaseException) -> str:
    """One line about an error."""
    try:
        text = " ".join(str(error).split())
    except BaseException:  # the error is the submission's, and so is what it says of itself
        text = ""
    if isinstance(error, SyntaxError):
        text = f"{error.msg}, line {error.lineno}"
    return f"{type(error).__name__}: {text}"[:300].rstrip(": ")


class Runner:
    """One submission. ``skip`` holds the steps that have come to a bad end before, and what is known already."""

    def __init__(self, pipe: int, skip: list[list[str]]):
        self.pipe, self.skip, self.me = pipe, skip, os.getpid()
        self.space = types.ModuleType("__main__")

    def say(self, *message: object) -> None:
        """Write one message. A child that the submission has made ends where it comes here."""
        if os.getpid() != self.me:
            os._exit(0)
        line = json.dumps(message).encode() + b"\n"
        while line:
            line = line[os.write(self.pipe, line) :]

    def step(self, kind: str, name: str) -> bool:
        """Announce a step, unless it is to be left out."""
        if [kind, name] in self.skip:
            return False
        self.say("begin", kind, name)
        return True

    def cells(self, sources: list[str]) -> None:
        """Run the code, one cell after the other, whatever becomes of it."""
        sys.modules["__main__"] = self.space
        self.space.__dict__.update(check=lambda *a, **k: None, display=lambda *a, **k: None)
        for number, source in enumerate(sources, start=1):
            if source.lstrip().startswith(("%%", CHECKS)) or not self.step("cell", str(number)):
                continue
            try:
                exec(compile(_MAGIC.sub(r"\1pass", source), f"cell {number}", "exec"), self.space.__dict__)
            except BaseException as error:  # an exit, too, is only the end of this cell
                self.say("failed", "cell", str(number), said(error))

    def question(self, number: str, name: str, calls: list[list[dict[str, Any]]]) -> None:
        """Call a function on all its inputs."""
        if not self.step("question", number):
            return
        function = self.space.__dict__.get(name)
        if not callable(function):
            self.say("result", number, 0, {"missing": name})
            return
        for place, arguments in enumerate(calls):
            try:
                answer = packed(function(*map(unpacked, arguments)))
            except BaseException as error:  # whatever it raises is its answer
                answer = {"raised": said(error)}
            self.say("result", number, place, answer)


def run(pipe: int, notebook: int, job: dict[str, Any]) -> None:
    """Do a job: read the notebook from one file descriptor, say what comes of it on another."""
    runner = Runner(pipe, job["skip"])
    sys.modules["attnlib"] = None  # the package has the answers
    runner.say("begin", "file", "")
    try:
        with open(notebook, encoding="utf-8-sig") as file:
            cells = cells_of(file.read())
        runner.say("written", [source[:LONGEST] for kind, source in cells if kind == "markdown"][:200])
    except (ValueError, MemoryError) as error:
        runner.say("failed", "file", "", said(error))
        runner.say("done")
        return
    runner.cells([source for kind, source in cells if kind == "code"])
    for question in job["questions"]:
        runner.question(question["number"], question["name"], question["calls"])
    runner.say("done")
