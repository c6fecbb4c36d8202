"""Write ``book/claims.md``: every claim of every page, what was measured, its bound, a link to the cell that asserts it.

    python tools/make_claims.py [--check]

Reads the outputs of the executed notebooks. Fails on an id that is used twice or belongs to another chapter, and on a call of
``claim`` whose output is missing. With --check nothing is written: it fails when the page is stale.
"""

import argparse
import re
import sys
from pathlib import Path

import course

PAGE = Path("book") / "claims.md"
INTRODUCTION = """\
# All claims

A claim is a sentence with a number in it, and the program that measures the number stands next to the sentence. This page
lists them all: what holds, what was measured when the pages were last run, and the bound that it must meet. A claim's number
leads to the cell that checks it. The key claims, those that a section is about, are marked. Numbers ascend in the order of the
pages. A number is a name: it stays with its claim, and a claim that comes later has the number before it and a letter.

Δ is the largest deviation of many numbers from those expected. The last digits of a measured value depend on the machine; the
bound holds on all of them.
"""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#~|])")


class ClaimsError(Exception):
    """The claims of the notebooks contradict each other or their outputs."""


def chapter(path: Path) -> str:
    """``"3"`` for ``03b_attention_is_a_gradient_step.ipynb``."""
    return re.match(r"0*(\d+)", path.name)[1]


def collect(paths: list[Path]) -> dict[Path, list[course.Shown]]:
    """The claims of each notebook, in order, checked against its code and against each other."""
    found: dict[Path, list[course.Shown]] = {}
    home: dict[str, str] = {}
    for path in paths:
        found[path] = []
        for number, cell in enumerate(course.code_cells(course.read(path)), start=1):
            asked, shown = course.claims_asked(cell), course.claims_shown(cell)
            here = f"{path.name}, code cell {number}"
            if asked != [one.id for one in shown]:
                raise ClaimsError(f"{here}: the code makes the claims {asked}, its output shows {[one.id for one in shown]}")
            for id in (one.id for one in shown):
                if id in home:
                    raise ClaimsError(f"{here}: claim {id} is already made in {home[id]}")
                if id.split(".")[0] != chapter(path):
                    raise ClaimsError(f"{here}: claim {id} is not one of chapter {chapter(path)}")
                home[id] = here
            found[path] += shown
    return found


def escape(words: str) -> str:
    """Words as Markdown shows them; formulas, between dollar signs, stay as they are."""
    parts = words.split("$")
    return "$".join(part if index % 2 else _MARKDOWN.sub(r"\\\1", part) for index, part in enumerate(parts))


def row(claim: course.Shown, target: str) -> str:
    """One line of the table."""
    number = f'<a href="{target}#claim-{claim.id.replace(".", "-")}">{claim.id}</a>'
    mark = ' <span class="claim-mark">key</span>' if claim.key else ""
    return f"| {number}{mark} | {escape(claim.sentence)} | {escape(claim.measured)} | {escape(claim.bound)} |"


def page(root: Path = course.ROOT) -> str:
    """The text of the claims page."""
    parts = [INTRODUCTION]
    for path, claims in collect(course.notebooks(root)).items():
        if claims:
            rows = [row(claim, f"../notebooks/{path.stem}.html") for claim in claims]
            head = ["| claim | what holds | measured | bound |", "|---|---|---|---|"]
            parts.append("\n".join([f"## {course.title(course.read(path))}", "", *head, *rows, ""]))
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail when the page is stale")
    check = parser.parse_args(arguments).check
    target = course.ROOT / PAGE
    try:
        new = page()
    except ClaimsError as error:
        print(error, file=sys.stderr)
        return 1
    if check and (not target.exists() or target.read_text(encoding="utf-8") != new):
        print(f"{PAGE} is stale; run: make notebooks", file=sys.stderr)
        return 1
    if not check:
        target.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
