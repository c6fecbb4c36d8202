"""Submissions as a class hands them in: made from the solved notebook, each with what is to become of it."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import attacks

Notebook = dict[str, Any]
Outcome = tuple[str, tuple[int, ...], str]
"""Status, points of the four questions, and what stands in the notes."""


@dataclass(frozen=True)
class Without:
    """What is noted of a submission where there are no walls, and why it is something else there."""

    note: str
    why: str


@dataclass(frozen=True)
class Handed:
    """A submission: what it changes in the solved notebook, and what is to become of it, in any cage."""

    change: Callable[[Notebook], object]
    status: str = "graded"
    points: tuple[int, ...] = (4, 4, 4, 4)
    note: str = ""
    without_walls: Without | None = None

    def outcome(self, walls: bool) -> Outcome:
        """In a cage of the kernel's, or in one that has no walls."""
        note = self.note if walls or self.without_walls is None else self.without_walls.note
        return self.status, self.points, note


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


WRONG = ["log_weights(scores, beta)", "heat_capacity(scores, beta)", "merge(a, b, c, d, e, f)", "collapse(draws, sigmas)"]


def only_wrong(source: str) -> Callable[[Notebook], object]:
    """Wrong answers to all questions, below a cell that wants points for them all the same."""

    def change(nb: Notebook) -> None:
        nb["cells"] = [code(source), *(code(f"def {name}:\n    return torch.zeros(3)") for name in WRONG)]

    return change


def in_place_of_wrong(source: str) -> Callable[[Notebook], object]:
    """Wrong answers to all questions, above a cell that puts others in their place."""

    def change(nb: Notebook) -> None:
        only_wrong("import torch")(nb)
        nb["cells"].append(code(source))

    return change


def above(name: str, lines: str) -> Callable[[Notebook], object]:
    """Put lines on top of the cell of a function."""

    def change(nb: Notebook) -> None:
        cell = answer(nb, name)
        cell["source"] = f"{lines}\n{''.join(cell['source'])}"

    return change


def below(name: str, lines: str) -> Callable[[Notebook], object]:
    """Put lines under a function."""

    def change(nb: Notebook) -> None:
        cell = answer(nb, name)
        cell["source"] = f"{''.join(cell['source'])}\n{lines}"

    return change


def magic(line: str) -> Callable[[Notebook], object]:
    """Let every answer's cell begin with a magic."""

    def change(nb: Notebook) -> None:
        for name in ("log_weights", "heat_capacity", "merge", "collapse"):
            above(name, line)(nb)

    return change


def slow_cells(nb: Notebook) -> None:
    for place in range(4):
        nb["cells"].insert(3 * place, code("while True: pass"))


def hanging(nb: Notebook) -> None:
    for name in ("log_weights", "heat_capacity", "merge"):
        begins(name, "while True: pass")(nb)


def many_cells(nb: Notebook) -> None:
    nb["cells"] += [code(f"x = {number}") for number in range(10_000)]


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
    "a flood": Handed(first(attacks.FLOOD), "incomplete", note="cell 1: returned too much"),
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
    "cheat: torch.testing": Handed(only_wrong(attacks.PATCHED_TESTING), points=(0, 0, 0, 0)),
    "cheat: the runner": Handed(only_wrong(attacks.PATCHED_RUNNER), points=(0, 0, 0, 0)),
    "cheat: the pipe": Handed(only_wrong(attacks.FORGED_LINES), points=(0, 0, 0, 0)),
    "cheat: the pack": Handed(in_place_of_wrong(attacks.STOLEN), "incomplete", (0, 0, 0, 0), "Error"),
    "cheat: the package": Handed(only_wrong(attacks.IMPORTED), "incomplete", (0, 0, 0, 0), "ModuleNotFoundError"),
    "cheat: bfloat16": Handed(last(attacks.WRAPPED.format(change="1.03 * f(*a)).bfloat16(")), points=(0, 0, 0, 0)),
    "cheat: float16": Handed(last(attacks.WRAPPED.format(change="1.008 * f(*a)).half(")), points=(0, 0, 0, 0)),
    "cheat: zeros": Handed(last(attacks.WRAPPED.format(change="0 * f(*a)).bfloat16(")), points=(0, 0, 0, 0)),
    "cheat: lying tensors": Handed(
        last(attacks.LYING_TENSORS + attacks.WRAPPED.format(change="1.03 * f(*a)).as_subclass(Lying")), points=(0, 0, 0, 0)
    ),
    "cheat: realpath": Handed(in_place_of_wrong(attacks.REALPATH), "incomplete", (0, 0, 0, 0), "Error"),
    "cheat: past the view": Handed(in_place_of_wrong(attacks.PAST_THE_VIEW), "incomplete", (0, 0, 0, 0), "Error"),
    "single precision": Handed(last(attacks.WRAPPED.format(change="f(*a).float()"))),
    "cannot be interrupted": Handed(
        first(attacks.UNINTERRUPTED),
        "incomplete",
        note="cell 1: took too long",
        without_walls=Without("cell 1: PermissionError: no other program", "a program is started, which only walls can allow"),
    ),
    "ignores interrupts": Handed(
        first("import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass"), "incomplete", note="cell 1: took too long"
    ),
    "swallows interrupts": Handed(first(attacks.SWALLOWS), "incomplete", note="cell 1: took too long"),
    "stops itself": Handed(first("import os; os.kill(os.getpid(), 19)"), "incomplete", note="cell 1: took too long"),
    "a number too large": Handed(first("x = 9**9**9"), "incomplete", note="cell 1: took too long"),
    "closes all files": Handed(first("import os; os.closerange(0, 100)"), "incomplete", note="cell 1: ended Python"),
    "deep recursion": Handed(
        first("import sys; sys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)"), "incomplete", note="cell 1: "
    ),
    "threads that spin": Handed(first(attacks.SPINNING_THREADS)),
    "memory without a name": Handed(first(attacks.HIDDEN_MEMORY), "incomplete", note="cell 1: took too "),
    "an odd name": Handed(first(attacks.ODD_NAME), "incomplete", note="cell 1: took too long"),
    "an error that cannot be written": Handed(begins("merge", "raise ValueError('\\ud800')"), points=(4, 4, 0, 4)),
    "times an answer": Handed(magic("%%time"), points=(4, 4, 4, 4)),
    "captures an answer": Handed(magic("%%capture out"), points=(4, 4, 4, 4)),
    "a line begins with a percent sign": Handed(begins("merge", "n = (7\n    % 3)")),
    "asks for help": Handed(above("merge", "torch.softmax?\n!pip install einops\n%matplotlib inline\nx = !ls")),
    "awaits": Handed(above("merge", "import asyncio\nawait asyncio.sleep(0)")),
    "a slow loop below an answer": Handed(below("merge", attacks.SLOW_BELOW), "incomplete", note="cell 7: took too long"),
    "four slow cells": Handed(slow_cells, "incomplete", note="took too long"),
    "three functions that hang": Handed(hanging, "incomplete", (0, 0, 0, 4), "question 3: took too long"),
    "a segmentation fault": Handed(first("import ctypes; ctypes.string_at(0)"), "incomplete", note="cell 1: ended Python"),
    "deep parentheses": Handed(first("x = " + "(" * 10_000 + ")" * 10_000), "incomplete", note="cell 1: "),
    "an alarm": Handed(
        first("import signal\nsignal.setitimer(signal.ITIMER_PROF, 0.02)\nwhile True: pass"),
        "incomplete",
        note="cell 1: ended Python",
    ),
    "spoils what it is given": Handed(
        last(attacks.WRAPPED.format(change="(f(*a), [x.zero_() for x in a if hasattr(x, 'zero_')])[0]"))
    ),
    "spoils it first": Handed(
        last(attacks.WRAPPED.format(change="[x.zero_() for x in a if hasattr(x, 'zero_')] and f(*a)")), points=(0, 0, 0, 0)
    ),
    "not a number": Handed(last(attacks.WRAPPED.format(change="f(*a) * float('nan')")), points=(0, 0, 0, 0)),
    "equal to everything": Handed(last(attacks.EQUAL), points=(0, 0, 0, 0)),
    "cheat: json": Handed(only_wrong(attacks.FORGED_JSON), points=(0, 0, 0, 0)),
    "cheat: at exit": Handed(only_wrong(attacks.AT_EXIT), points=(0, 0, 0, 0)),
    "cheat: gc": Handed(in_place_of_wrong(attacks.FOUND_BY_GC), points=(0, 0, 0, 0)),
    "cheat: shapes": Handed(only_wrong(attacks.FORGED_SHAPES), points=(0, 0, 0, 0)),
    "cheat: looks for the pack": Handed(in_place_of_wrong(attacks.LOOKED_FOR), points=(0, 0, 0, 0)),
    "cheat: a neighbour's notebook": Handed(in_place_of_wrong(attacks.COPIED), "incomplete", (0, 0, 0, 0), "Error"),
    "cheat: a neighbour's answers": Handed(in_place_of_wrong(attacks.OVERHEARD), points=(0, 0, 0, 0)),
    "kills its parent": Handed(first(attacks.KILLS_ITS_PARENT), "incomplete", note="cell 1: "),
    "many files": Handed(
        first(attacks.MANY_FILES), "incomplete", note="cell 1: OSError", without_walls=Without("cell 1: filled", "home")
    ),
    "writes outside": Handed(first(attacks.WRITES_OUTSIDE), "incomplete", note="cell 1: "),
    "restarts its clock": Handed(first(attacks.RESTARTS_ITS_CLOCK), "incomplete", note="cell 1: took too long"),
    "nothing built in": Handed(first("import builtins\nbuiltins.__dict__.clear()"), "incomplete", note="cell 1: ended Python"),
    "says nothing more": Handed(first("import os\nos.write = lambda *_: 0"), "incomplete", note="cell 1: took too long"),
    "forks in a function": Handed(begins("merge", "import os; os.fork()")),
    "leaves a loop": Handed(last("import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass")),
    "an error that hangs": Handed(
        begins("merge", attacks.ERROR_HANGS), "incomplete", (4, 4, 0, 4), "question 3: took too long"
    ),
    "an error of a hundred megabytes": Handed(begins("merge", "raise ValueError('x' * 10**8)"), points=(4, 4, 0, 4)),
    "ten thousand cells": Handed(many_cells),
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


FEW = (
    *("right", "partly right", "=1+1", "100 MB", "syntax error", "loop in a function", "os._exit", "memory"),
    *("cheat: torch.testing", "cheat: the package", "leaves a daemon", "times an answer"),
)
"""Whom make test grades: those whom tests ask after, and one for each kind of end, by an error, a limit or a trick."""


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
