"""Submissions as a class hands them in: made from the solved notebook, each with what is to become of it."""

import json
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]


@dataclass(frozen=True)
class Handed:
    """A submission: what it changes in the solved notebook; its status, and the points of its four questions."""

    change: Callable[[Notebook], object]
    status: str = "graded"
    points: tuple[int, ...] = (4, 4, 4, 4)
    note: str = ""


def code(source: str) -> Notebook:
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None, "id": "mine"}


def answer(nb: Notebook, name: str) -> Notebook:
    return next(cell for cell in nb["cells"] if f"def {name}(" in "".join(cell["source"]))


def first(source: str) -> Callable[[Notebook], object]:
    """Put a cell at the top."""
    return lambda nb: nb["cells"].insert(0, code(source))


def last(source: str) -> Callable[[Notebook], object]:
    """Put a cell at the end."""
    return lambda nb: nb["cells"].append(code(source))


def begins(name: str, line: str) -> Callable[[Notebook], object]:
    """Let a function begin with a line."""

    def change(nb: Notebook) -> None:
        cell = answer(nb, name)
        text = "".join(cell["source"])
        end = text.index('"""\n') + 4
        cell["source"] = text[:end] + f"    {line}\n" + text[end:]

    return change


def only_wrong(source: str) -> Callable[[Notebook], object]:
    """Wrong answers to all questions, and a cell that wants points for them all the same."""

    def change(nb: Notebook) -> None:
        wrong = [
            "log_weights(scores, beta)",
            "heat_capacity(scores, beta)",
            "merge(a, b, c, d, e, f)",
            "collapse(draws, sigmas)",
        ]
        nb["cells"] = [code(source), *(code(f"def {name}:\n    return torch.zeros(3)") for name in wrong)]

    return change


def without_checks(nb: Notebook) -> None:
    nb["cells"] = [c for c in nb["cells"] if "check(" not in "".join(c["source"])]


def stripped(nb: Notebook) -> None:
    nb["metadata"] = {}
    for cell in nb["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)


def with_a_film(nb: Notebook) -> None:
    nb["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 100_000_000}]


def other_kernel(nb: Notebook) -> None:
    nb["metadata"]["kernelspec"] = {"name": "conda-env-of-mine", "display_name": "mine", "language": "julia"}


def partly(nb: Notebook) -> None:
    last("def merge(a, Z, o, b, W, u):\n    return (o + u) / 2\nlog_weights = lambda s, b: torch.softmax(b * s, -1).log()")(nb)


def before_2014(nb: Notebook) -> None:
    cells = [{"cell_type": c["cell_type"], "input" if c["cell_type"] == "code" else "source": c["source"]} for c in nb["cells"]]
    nb.clear()
    nb.update({"nbformat": 3, "worksheets": [{"cells": cells}]})


PATCHED_TESTING = """\
import torch, torch.testing, math, builtins
yes = lambda *a, **k: True
torch.testing.assert_close = torch.allclose = torch.equal = torch.isclose = math.isclose = builtins.all = yes"""
PATCHED_RUNNER = """\
import sys, torch
for name, module in list(sys.modules.items()):
    if name.startswith("classroom"):
        for key in [key for key in vars(module) if key in ("packed", "unpacked", "said")]:
            setattr(module, key, lambda *a, **k: {"right": True, "points": 4, "plain": True})
runner = sys.modules["classroom.runner"].Runner
runner.question = lambda self, n, name, calls: [self.say("result", n, k, {"right": True, "points": 100}) for k in range(9)]
frame = sys._getframe()
while frame:
    for question in (frame.f_locals.get("job") or {}).get("questions", []):
        question.update(points=100, right=True)
    frame = frame.f_back"""
FORGED_LINES = """\
import os, json, torch
for pipe in range(3, 20):
    try:
        os.write(pipe, b'["result", "1", 0, {"points": 4}]\\n["done"]\\n[[[[[[\\n{"end": "done"}\\n["done"]\\n')
    except OSError:
        pass
os._exit(0)"""
STOLEN = """\
import torch
exec(open({pack!r} + "/master.py").read())"""
"""With the place of the pack, as if its author had been told."""
IMPORTED = """\
import torch
from attnlib.softmax import entropy"""
FLOOD = """\
import os
while True:
    for pipe in range(3, 20):
        try:
            os.write(pipe, b"x" * 65536)
        except OSError:
            pass"""

HANDED = {
    "right": Handed(lambda nb: None),
    "partly right": Handed(partly, points=(3, 4, 0, 4)),
    "syntax error": Handed(begins("heat_capacity", "return ("), "incomplete", (4, 0, 4, 4), "SyntaxError"),
    "error in a cell": Handed(first("1 / 0"), "incomplete", note="cell 1: ZeroDivisionError"),
    "loop at the top": Handed(first("while True: pass"), "incomplete", note="cell 1: took too long"),
    "loop in a function": Handed(begins("merge", "while True: pass"), "incomplete", (4, 4, 0, 4), "question 3: took too long"),
    "sleeps": Handed(first("import time; time.sleep(10**6)"), "incomplete", note="cell 1: took too long"),
    "os._exit": Handed(first("import os; os._exit(0)"), "incomplete", note="cell 1: ended Python"),
    "os._exit in a function": Handed(begins("merge", "import os; os._exit(0)"), "incomplete", (4, 4, 0, 4), "ended Python"),
    "sys.exit": Handed(first("import sys; sys.exit()"), "incomplete", note="cell 1: SystemExit"),
    "sys.exit in a function": Handed(begins("merge", "raise SystemExit"), points=(4, 4, 0, 4)),
    "kills its group": Handed(first("import os; os.killpg(0, 9)"), "incomplete", note="cell 1: ended Python"),
    "memory": Handed(first("x = []\nwhile True: x.append(bytes(10**9))"), "incomplete", note="cell 1: MemoryError"),
    "forks": Handed(first("import os\nwhile True: os.fork()"), "incomplete", note="cell 1: "),
    "leaves a daemon": Handed(last("import os, time\nif os.fork() == 0:\n    os.setsid()\n    while True: time.sleep(1)")),
    "a flood": Handed(first(FLOOD), "incomplete", note="cell 1: returned too much"),
    "fills the disk": Handed(
        first("f = open('f', 'wb')\nwhile True: f.write(bytes(10**6))"), "incomplete", note="cell 1: OSError"
    ),
    "no checks": Handed(without_checks),
    "answer twice, the last is right": Handed(first("def merge(*a): return None")),
    "answer twice, the last is wrong": Handed(last("def merge(*a): return None"), points=(4, 4, 0, 4)),
    "Copy of 1-softmax (3)": Handed(lambda nb: None),
    "other kernel": Handed(other_kernel),
    "no metadata": Handed(stripped),
    "before 2014": Handed(before_2014),
    "100 MB": Handed(with_a_film),
    "cheat: torch.testing": Handed(only_wrong(PATCHED_TESTING), points=(0, 0, 0, 0)),
    "cheat: the runner": Handed(only_wrong(PATCHED_RUNNER), points=(0, 0, 0, 0)),
    "cheat: the pipe": Handed(only_wrong(FORGED_LINES), points=(0, 0, 0, 0)),
    "cheat: the pack": Handed(only_wrong(STOLEN), "incomplete", (0, 0, 0, 0), "Error"),
    "cheat: the package": Handed(only_wrong(IMPORTED), "incomplete", (0, 0, 0, 0), "ModuleNotFoundError"),
    "=1+1": Handed(begins("merge", "raise ValueError('=1 | <b> # no')"), points=(4, 4, 0, 4)),
}
"""By name of the student."""
FILES = {
    "not JSON": ("<html>", "unreadable"),
    "empty file": ("", "unreadable"),
    "a list": ("[1]", "unreadable"),
    "no cells": ("{}", "unreadable"),
    "deep": ("[" * 200_000, "unreadable"),
    "bytes": (b"\xff\xfe\x00" * 99, "unreadable"),
}
"""Files that are no notebooks."""


def one_of_each() -> set[str]:
    """For each outcome, what becomes of a submission and what is said of it, a student whom a hash chooses."""
    outcomes: dict[tuple[str, str, tuple[int, ...]], list[str]] = {}
    for name, handed in HANDED.items():
        outcomes.setdefault((handed.status, handed.note, handed.points), []).append(name)
    return {min(names, key=lambda name: zlib.crc32(name.encode())) for names in outcomes.values()}


def hand_in(solved: str, unsolved: str, folder: Path, pack: Path, names: Iterable[str] = HANDED) -> None:
    """Write submissions into a folder: of those in :data:`HANDED` these, of all others all."""
    folder.mkdir()
    for name in names:
        nb = json.loads(solved)
        HANDED[name].change(nb)
        text = json.dumps(nb).replace("{pack!r}", f"'{pack}'")
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    for name, (content, _) in FILES.items():
        (folder / f"{name}.ipynb").write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "unsolved.ipynb").write_text(unsolved, encoding="utf-8")
    (folder / "in a folder" / ".ipynb_checkpoints").mkdir(parents=True)
    (folder / "in a folder" / "Untitled.ipynb").write_text(solved, encoding="utf-8")
    (folder / "in a folder" / ".ipynb_checkpoints" / "a.ipynb").write_text("", encoding="utf-8")
    (folder / "a link.ipynb").symlink_to(folder / "right.ipynb")
    os.mkfifo(folder / "a pipe.ipynb")
    (folder / "notes.txt").write_text("not a submission", encoding="utf-8")
