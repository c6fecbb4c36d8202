"""Submissions as a class hands them in: made from the solved notebook, each with what is to become of it."""

import json
import os
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
WRAPPED = """\
for name in ("log_weights", "heat_capacity", "merge", "collapse"):
    globals()[name] = lambda *a, f=globals()[name]: ({change})"""
"""Right answers, and what is made of them."""
UNINTERRUPTED = """\
import os
os.mkfifo("f")
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "f", os.O_RDONLY, 0)])"""
SWALLOWS = """\
while True:
    try:
        while True: pass
    except BaseException: pass"""
SPINNING_THREADS = """\
import threading
def spin():
    while True: pass
for _ in range(4): threading.Thread(target=spin, daemon=True).start()"""
LYING_TENSORS = """\
import torch
class Lying(torch.Tensor):
    numel = lambda self: 1
    tolist = lambda self: "right"
    is_floating_point = lambda self: True
    __eq__ = lambda self, other: True
"""
HIDDEN_MEMORY = """\
import os
for _ in range(20):
    if os.fork() == 0:
        held = []
        while True:
            try:
                file = os.memfd_create("x"); held.append(file)
                while os.write(file, bytes(10**6)): pass
            except OSError:
                if len(held) > 60: __import__("time").sleep(10**6)
__import__("time").sleep(10**6)"""
REALPATH = """\
import os, torch
os.path.realpath = lambda path, **_: "/nowhere"
os.fsdecode = lambda path: "/nowhere"
exec(open({pack!r} + "/master.py").read())"""
PAST_THE_VIEW = """\
import ctypes, os
libc = ctypes.CDLL(None)
libc.unshare(0x10000000 | 0x20000)
libc.umount2(b"/", 2), libc.mount(b"none", b"/usr", b"", 0x1000 | 0x20, 0), libc.chroot(b"/proc/1/root")
exec(open({pack!r} + "/master.py").read())"""
ODD_NAME = """\
import ctypes, os
ctypes.CDLL(None).prctl(15, b") R 1 1 1", 0, 0, 0)
while True: pass"""
SLOW_BELOW = """

for _ in iter(int, 1): pass"""
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
    "cheat: bfloat16": Handed(last(WRAPPED.format(change="1.03 * f(*a)).bfloat16(")), points=(0, 0, 0, 0)),
    "cheat: float16": Handed(last(WRAPPED.format(change="1.008 * f(*a)).half(")), points=(0, 0, 0, 0)),
    "cheat: zeros": Handed(last(WRAPPED.format(change="0 * f(*a)).bfloat16(")), points=(0, 0, 0, 0)),
    "cheat: lying tensors": Handed(
        last(LYING_TENSORS + WRAPPED.format(change="1.03 * f(*a)).as_subclass(Lying")), points=(0, 0, 0, 0)
    ),
    "cheat: realpath": Handed(only_wrong(REALPATH), "incomplete", (0, 0, 0, 0), "Error"),
    "cheat: past the view": Handed(only_wrong(PAST_THE_VIEW), "incomplete", (0, 0, 0, 0), "Error"),
    "single precision": Handed(last(WRAPPED.format(change="f(*a).float()"))),
    "cannot be interrupted": Handed(first(UNINTERRUPTED), "incomplete", note="cell 1: took too long"),
    "ignores interrupts": Handed(
        first("import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass"), "incomplete", note="cell 1: took too long"
    ),
    "swallows interrupts": Handed(first(SWALLOWS), "incomplete", note="cell 1: took too long"),
    "stops itself": Handed(first("import os; os.kill(os.getpid(), 19)"), "incomplete", note="cell 1: took too long"),
    "a number too large": Handed(first("x = 9**9**9"), "incomplete", note="cell 1: took too long"),
    "closes all files": Handed(first("import os; os.closerange(0, 100)"), "incomplete", note="cell 1: ended Python"),
    "deep recursion": Handed(
        first("import sys; sys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)"), "incomplete", note="cell 1: "
    ),
    "threads that spin": Handed(first(SPINNING_THREADS)),
    "memory without a name": Handed(first(HIDDEN_MEMORY), "incomplete", note="cell 1: took too "),
    "an odd name": Handed(first(ODD_NAME), "incomplete", note="cell 1: took too long"),
    "an error that cannot be written": Handed(begins("merge", "raise ValueError('\\ud800')"), points=(4, 4, 0, 4)),
    "times an answer": Handed(magic("%%time"), points=(4, 4, 4, 4)),
    "captures an answer": Handed(magic("%%capture out"), points=(4, 4, 4, 4)),
    "a line begins with a percent sign": Handed(begins("merge", "n = (7\n    % 3)")),
    "asks for help": Handed(above("merge", "torch.softmax?\n!pip install einops\n%matplotlib inline\nx = !ls")),
    "awaits": Handed(above("merge", "import asyncio\nawait asyncio.sleep(0)")),
    "a slow loop below an answer": Handed(below("merge", SLOW_BELOW), "incomplete", note="cell 7: took too long"),
    "four slow cells": Handed(slow_cells, "incomplete", note="took too long"),
    "three functions that hang": Handed(hanging, "incomplete", (0, 0, 0, 4), "question 3: took too long"),
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
