"""Builds what students and teachers get from a master."""

import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import Any

import nbformat

import attnlib
from classroom.master import Cell, Master
from classroom.question import ByHand, Question
from classroom.runner import packed

YOURS = "**Your answer to question {}.** *Write here, in place of this line.*"
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _numbers(answer: Any, question: Question) -> list[Any]:
    return [packed(answer(*arguments)) for arguments in question.shown]


def _plain(argument: object) -> object:
    there = packed(argument)
    return there if "tensor" in there else there["plain"]


def public(question: Question) -> dict[str, Any]:
    """What the public check of a question knows: numbers in, numbers out, and those of each mistake with its sentence."""
    known = [wrong for wrong in question.wrong.values() if wrong.shown]
    return {
        "calls": [[_plain(argument) for argument in arguments] for arguments in question.shown],
        "expected": _numbers(question.answer, question),
        "mistakes": [{"message": wrong.message, "numbers": _numbers(wrong.answer, question)} for wrong in known],
    }


def checks_cell(master: Master) -> str:
    """The cell that a student's notebook carries its checks in."""
    numbers = json.dumps({question.number: public(question) for question in master.automatic})
    source = resources.files("classroom").joinpath("student_check.py").read_text(encoding="utf-8")
    return source.replace("{numbers}", numbers).rstrip("\n")


def _cell(kind: str, source: str, place: int, **metadata: Any) -> Any:
    make = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
    return make(source, id=f"cell-{place}", metadata=metadata)


def _answers(cell: Cell, master: Master) -> str:
    """The number of the question that a cell answers with a function; empty where it does not."""
    for question in master.automatic:
        if "answer" in cell.tags and f"def {question.answer.__name__}(" in cell.source:
            return question.number
    return ""


def _collected(name: str, points: int) -> dict[str, Any]:
    """Metadata by which a cell is found again, whatever is written into it: those of nbgrader's exchange format."""
    about = {"grade_id": name, "solution": True, "grade": points > 0, "locked": False, "task": False, "schema_version": 3}
    return {"nbgrader": about | ({"points": points} if points else {})}


def _notebook(parts: list[tuple[str, str, dict[str, Any]]]) -> str:
    made = [_cell(kind, source, place, **metadata) for place, (kind, source, metadata) in enumerate(parts)]
    notebook = nbformat.v4.new_notebook(cells=made, metadata=KERNEL)
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def student(master: Master, solved: bool = False) -> str:
    """The student's notebook, or what it looks like when it is solved."""
    folded = {"tags": ["checks"], "cellView": "form", "jupyter": {"source_hidden": True}}
    parts: list[tuple[str, str, dict[str, Any]]] = []
    for cell in master.cells:
        if "teacher" in cell.tags:
            continue
        about = _collected(f"answer-{answers}", 0) if (answers := _answers(cell, master)) else {}
        parts.append((cell.kind, cell.solved if solved else cell.stub, about))
        if len(parts) == 1:
            parts.append(("code", checks_cell(master), folded))
        if answers:
            function = next(question.answer.__name__ for question in master.automatic if question.number == answers)
            parts.append(("code", f'check("{answers}", {function})', {}))
        if "by-hand" in cell.tags:
            number = cell.source.removeprefix("## Question ").partition(".")[0]
            points = next(question.points for question in master.questions if question.number == number)
            parts.append(("markdown", YOURS.format(number), _collected(f"question-{number}", points)))
    return _notebook(parts)


def teacher(master: Master) -> str:
    """The notebook for teachers: everything, with solutions, questions and rubrics."""
    return _notebook([(cell.kind, cell.solved, {"tags": list(cell.tags)}) for cell in master.cells])


def _described(question: Question | ByHand) -> dict[str, Any]:
    about = {"number": question.number, "points": question.points, "by hand": isinstance(question, ByHand)}
    if isinstance(question, Question):
        about |= {"function": question.answer.__name__, "cases": {name: c.points for name, c in question.cases.items()}}
    return about


def write(master: Master, folder: Path) -> tuple[Path, Path]:
    """Write the student's notebook and the teacher's pack below a folder. Only the owner can read the pack.

    Raises ValueError for a master with :meth:`Master.problems`, before anything is written.
    """
    if wrong := master.problems():
        raise ValueError("\n".join(f"{master.name}, {problem}" for problem in wrong))
    pack = folder / "teacher" / master.name
    pack.mkdir(parents=True, exist_ok=True)
    pack.chmod(0o700)
    (folder / "student").mkdir(exist_ok=True)
    notebook = folder / "student" / f"{master.name}.ipynb"
    notebook.write_text(student(master), encoding="utf-8")
    about = {
        "assignment": master.name,
        "title": master.title,
        "attnlib": attnlib.__version__,
        "master": hashlib.sha256(master.text.encode()).hexdigest(),
        "questions": [_described(question) for question in master.questions],
    }
    (pack / "master.py").write_text(master.text, encoding="utf-8")
    (pack / "solutions.ipynb").write_text(teacher(master), encoding="utf-8")
    (pack / "pack.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return notebook, pack
