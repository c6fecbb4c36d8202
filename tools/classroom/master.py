"""Reads a master: a notebook as text, in the format py:percent that jupytext also reads, which is a Python module as well."""

import re
import sys
import types
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from classroom.question import ByHand, Question

_MARKER = re.compile(r"^# %%(?: \[(?P<kind>markdown)\])?(?: tags=\[(?P<tags>[^\]]*)\])?\s*$")
_SOLUTION = re.compile(r"^(?P<indent> *)# solution\n.*?^ *# end\n?", re.MULTILINE | re.DOTALL)
TAGS = ("answer", "teacher", "show", "by-hand")
"""``answer``: holds a solution. ``teacher``: not for students. ``show``: runs in notebooks only. ``by-hand``: text to write."""


@dataclass(frozen=True)
class Cell:
    """A cell of a master; ``line`` is where it begins."""

    kind: str
    source: str
    tags: tuple[str, ...]
    line: int

    @property
    def stub(self) -> str:
        """The source without solutions: dots stand for the lines from ``# solution`` to ``# end``."""
        return _SOLUTION.sub(r"\g<indent>...\n", self.source + "\n").rstrip("\n")

    @property
    def solved(self) -> str:
        """The source with its solution and without the marks."""
        return re.sub(r"^ *# (solution|end)\n", "", self.source + "\n", flags=re.MULTILINE).rstrip("\n")


def cells(text: str) -> list[Cell]:
    """The cells of a text. Raises ValueError for a line that looks like a marker and is none, and for an unknown tag."""
    found: list[Cell] = []
    lines = text.splitlines()
    starts = [place for place, line in enumerate(lines) if line.startswith("# %%")]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        marker = _MARKER.match(lines[start])
        tags = re.findall(r'"([^"]+)"', marker["tags"] or "") if marker else ["?"]
        if not marker or not set(tags) <= set(TAGS):
            raise ValueError(
                f"line {start + 1} is {lines[start]!r}; expected '# %%', perhaps [markdown] and tags out of {TAGS}"
            )
        body = lines[start + 1 : stop]
        if marker["kind"]:
            body = [re.sub(r"^# ?", "", line) for line in body]
        found.append(Cell(marker["kind"] or "code", "\n".join(body).strip("\n"), tuple(tags), start + 2))
    return found


@dataclass(frozen=True)
class Master:
    """A master. ``name`` is that of its folder."""

    name: str
    text: str

    @classmethod
    def read(cls, path: Path, name: str | None = None) -> "Master":
        """From its file."""
        return cls(name or path.parent.name, path.read_text(encoding="utf-8"))

    @cached_property
    def cells(self) -> list[Cell]:
        """Its cells."""
        return cells(self.text)

    @property
    def title(self) -> str:
        """Its heading."""
        return self.cells[0].source.splitlines()[0].removeprefix("# ")

    @cached_property
    def module(self) -> types.ModuleType:
        """Its code, run: the solutions and the teacher's cells, not what only shows something."""
        module = types.ModuleType(f"assignment_{self.name}")
        sys.modules[module.__name__] = module
        for cell in self.cells:
            if cell.kind == "code" and "show" not in cell.tags:
                source = "\n" * (cell.line - 1) + cell.source
                exec(compile(source, f"{self.name}/master.py", "exec"), module.__dict__)
        return module

    @property
    def questions(self) -> list[Question | ByHand]:
        """Its questions in their order."""
        return [thing for thing in vars(self.module).values() if isinstance(thing, Question | ByHand)]

    def problems(self) -> list[str]:
        """What would give something away or cost someone points: a solution without an end, points that do not add up."""
        found = list[str]()
        for cell in self.cells:
            left = re.findall(r"^ *# (?:solution|end)$", cell.stub, re.MULTILINE)
            if left or ("answer" in cell.tags and cell.stub == cell.source):
                found.append(f"line {cell.line}: a solution needs both its marks, '# solution' and '# end'")
        text = "\n".join(cell.source for cell in self.cells if cell.kind == "markdown")
        said = dict(re.findall(r"^## Question (\S+)\..*\((\d+) points\)$", text, re.MULTILINE))
        there = {question.number: str(question.points) for question in self.questions}
        found += [
            f"question {number} is worth {there.get(number, 'nothing')} and its heading says {said.get(number, 'nothing')}"
            for number in sorted(said.keys() | there.keys())
            if said.get(number) != there.get(number)
        ]
        whole = re.search(r"^(\d+) points\.", self.cells[0].source, re.MULTILINE)
        points = sum(question.points for question in self.questions)
        if not whole or int(whole[1]) != points:
            found.append(
                f"all questions together are worth {points} and the first cell says {whole[1] if whole else 'nothing'}"
            )
        return found

    @property
    def automatic(self) -> list[Question]:
        """The questions that are graded by running them."""
        return [question for question in self.questions if isinstance(question, Question)]
