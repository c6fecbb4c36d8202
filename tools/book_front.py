"""The way in: the map of the course, claims shown away from their pages, how long pages take.

A Sphinx extension; ``_config.yml`` names it. Nothing of it is written by hand: which page needs which is what the pages say, in
the sentence "It builds on", minutes are those in their heads, and a claim's card is what the page's cell has shown.
"""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import course
import reading
from docutils import nodes
from docutils.parsers.rst import Directive

SHORT = {
    "1": "Softmax",
    "2a": "√d",
    "2b": "Translation",
    "2c": "Hops, heads",
    "3a": "Memory",
    "3b": "Gradient",
    "3c": "Flatland",
    "3d": "At work",
    "4a": "TAP",
    "4b": "Implicit",
    "4c": "Digits",
    "5a": "Free energy",
    "5b": "z sticks",
    "5c": "Its layer",
    "6a": "Graphs",
    "6b": "Beliefs",
    "7a": "Many mixers",
    "7b": "One step?",
    "7c": "Collectives",
    "7d": "Instruments",
    "8a": "Time's arrow",
    "8b": "Forgetting",
    "8c": "Driven block",
}
"""What a page is called on the map, where there is little room."""

COLUMNS, WIDTH, NODE, ROW = 4, 400, (86, 38), 72
"""Boxes of a row, the map's width, a page's box, and how far apart chapters are, in units of a pixel on a phone."""

_NEEDS = re.compile(r"It builds on.*?\.(?=\s|$)")
_LINK = re.compile(r"\]\((\d\d\w?)_\w+\.ipynb")


@dataclass(frozen=True)
class Page:
    """A page of a chapter: its number, its title without it, its minutes, and the numbers of the pages that it builds on."""

    number: str
    file: str
    title: str
    minutes: int
    needs: tuple[str, ...]

    @property
    def chapter(self) -> str:
        return self.number[0]

    @property
    def address(self) -> str:
        return f"notebooks/{self.file}.html"


@cache
def pages(root: Path = course.ROOT) -> dict[str, Page]:
    """All pages by their number, in their order."""
    found = {}
    for path in course.notebooks(root):
        nb = course.read(path)
        text = "\n".join(cell.source for cell in nb.cells[:8] if cell.cell_type == "markdown")
        number, _, title = text.splitlines()[0].removeprefix("# ").partition(". ")
        says = _NEEDS.search(text)
        needs = tuple(dict.fromkeys(place.lstrip("0") for place in _LINK.findall(says[0]))) if says else ()
        found[number] = Page(number, path.stem, title, reading.minutes(nb), needs)
    return found


def before(number: str) -> Iterator[str]:
    """A page and all that it builds on, and what these do."""
    yield number
    for needed in pages()[number].needs:
        yield from before(needed)


def spoken(minutes: int) -> str:
    """Minutes as hours and minutes."""
    hours, rest = divmod(minutes, 60)
    parts = [f"{hours} hour{'s' * (hours > 1)}"] * bool(hours) + [f"{rest} minutes"] * bool(rest)
    return " and ".join(parts) or "no time"


# --- the map ---


def places(rows: dict[str, list[Page]]) -> dict[str, tuple[float, float]]:
    """The upper left corner of each page's box; a chapter is a row, and all rows have the same columns."""
    step = NODE[0] + (WIDTH - COLUMNS * NODE[0]) / (COLUMNS + 1)
    found = {}
    for row, members in enumerate(rows.values()):
        first = (COLUMNS - len(members)) // 2
        for column, page in enumerate(members, first):
            found[page.number] = (step - NODE[0] + column * step, 22 + row * ROW)
    return found


def line(start: tuple[float, float], end: tuple[float, float]) -> str:
    """The path of an arrow between two boxes: over the others of a row, down to the next one, or down between two columns."""
    (x, y), (u, v) = start, end
    a, b = x + NODE[0] / 2, u + NODE[0] / 2
    if y == v:
        return f"M{a:.0f} {y:.0f}C{a:.0f} {y - 18:.0f} {b:.0f} {y - 18:.0f} {b:.0f} {y - 3:.0f}"
    y += NODE[1]
    if v - y < ROW:
        return f"M{a:.0f} {y:.0f}C{a:.0f} {y + 20:.0f} {b:.0f} {v - 24:.0f} {b:.0f} {v - 3:.0f}"
    gap = (WIDTH - COLUMNS * NODE[0]) / (COLUMNS + 1)
    way = x - gap / 2 if u < x else x + NODE[0] + gap / 2
    down = f"M{a:.0f} {y:.0f}C{a:.0f} {y + 18:.0f} {way:.0f} {y + 10:.0f} {way:.0f} {y + 30:.0f}V{v - 30:.0f}"
    return f"{down}C{way:.0f} {v - 8:.0f} {b:.0f} {v - 24:.0f} {b:.0f} {v - 3:.0f}"


def drawn(root: str) -> str:
    """The map as SVG: a box for each page, a link, and an arrow from each page to those that build on it."""
    rows: dict[str, list[Page]] = {}
    for page in pages().values():
        rows.setdefault(page.chapter, []).append(page)
    at = places(rows)
    ways = {number: set(before(number)) for number in pages()}
    edges, boxes, rules = [], [], []
    for page in pages().values():
        for needed in page.needs:
            on = " ".join(f"to-{number}" for number, way in ways.items() if {page.number, needed} <= way and page.number in way)
            edges.append(f'<path class="{on}" d="{line(at[needed], at[page.number])}"/>')
        x, y = at[page.number]
        said = f"{page.number}. {page.title}, {page.minutes} minutes"
        said += f"; builds on {', '.join(page.needs)}" if page.needs else "; builds on nothing"
        on = " ".join(f"to-{number}" for number, way in ways.items() if page.number in way)
        boxes.append(
            f'<a href="{root}{page.address}" aria-label="{html.escape(said)}" class="{on}" data-page="{page.number}">'
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{NODE[0]}" height="{NODE[1]}" rx="7"/>'
            f'<text x="{x + NODE[0] / 2:.0f}" y="{y + 16:.0f}"><tspan class="map-number">{page.number}</tspan></text>'
            f'<text x="{x + NODE[0] / 2:.0f}" y="{y + 30:.0f}">{html.escape(SHORT[page.number])}</text></a>'
        )
        lit = f'.course-map:has([data-page="{page.number}"]:is(:hover, :focus-visible))'
        rules.append(f"{lit} :is(a, path):not(.to-{page.number}) {{ opacity: 0.15; }}")
    height = 22 + len(rows) * ROW - (ROW - NODE[1]) + 4
    arrow = '<marker id="map-arrow" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="5" markerHeight="5" orient="auto">'
    arrow += '<path d="M0 0L6 3L0 6z"/></marker>'
    label = "Map of the course: each box is a page; an arrow leads from it to a page that builds on it."
    return (
        f'<svg class="course-map" viewBox="0 0 {WIDTH} {height}" role="group" aria-label="{label}">'
        f"<style>{''.join(rules)}</style><defs>{arrow}</defs>"
        f'<g class="map-lines">{"".join(edges)}</g>{"".join(boxes)}</svg>'
    )


class Map(Directive):
    """The map of the course, with links to its pages."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", drawn("../"), format="html")]


# --- claims and minutes ---


@cache
def claims() -> dict[str, tuple[course.Shown, Path]]:
    """Each claim as its page shows it, and the page."""
    cells = ((path, cell) for path in course.notebooks() for cell in course.code_cells(course.read(path)))
    return {one.id: (one, path) for path, cell in cells for one in course.claims_shown(cell)}


class Claim(Directive):
    """A claim's card, away from its page; its number leads there."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        id = self.arguments[0]
        if id not in claims():
            raise self.error(f"claim {id!r} is on no page")
        one, path = claims()[id]
        place = f"../notebooks/{path.stem}.html#claim-{id.replace('.', '-')}"
        sentence = re.sub(
            r"\$([^$]+)\$",
            r'<span class="math notranslate nohighlight">\\(\1\\)</span>',
            html.escape(one.sentence, quote=False),
        )
        card = (
            f'<div class="claim key" role="note" aria-label="Claim {id}"><a class="claim-id" href="{place}">Claim {id}</a> '
            f'<span class="claim-sentence">{sentence}</span> <span class="claim-measured">measured {html.escape(one.measured)}'
            f'</span> <span class="claim-bound">bound {html.escape(one.bound)}</span> <span class="claim-tick">✓</span></div>'
        )
        return [nodes.raw("", card, format="html")]


def time(numbers: Iterable[str]) -> int:
    """The minutes of some pages together; "all" is all."""
    asked = list(numbers)
    return sum(page.minutes for number, page in pages().items() if asked == ["all"] or number in asked)


def minutes(name: str, raw: str, text: str, number: int, inliner: Any, options: Any = None, content: Any = None) -> Any:
    """The role ``{minutes}``: how long some pages take, separated by spaces, in hours and minutes."""
    unknown = [one for one in text.split() if one != "all" and one not in pages()]
    if unknown:
        message = inliner.reporter.error(f"page {unknown[0]!r} is not there", line=number)
        return [inliner.problematic(raw, raw, message)], [message]
    return [nodes.Text(spoken(time(text.split())))], []


def contents(site: str, root: Path = course.ROOT) -> str:
    """A table of contents for the README: chapters, their pages with minutes, and all together."""
    captions = dict(re.findall(r"caption: Chapter (\d)\. (.+)", (root / "_toc.yml").read_text(encoding="utf-8")))
    rows = ["| chapter | pages, with minutes to read |", "|---|---|"]
    for number, caption in captions.items():
        members = [page for page in pages(root).values() if page.chapter == number]
        links = [f"[{page.number}. {page.title}]({site}{page.address}) ({page.minutes})" for page in members]
        rows.append(f"| {number}. {caption} | {', '.join(links)} |")
    whole = spoken(sum(page.minutes for page in pages(root).values()))
    return "\n".join([*rows, "", f"{whole.capitalize()} in all, without the exercises."])


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("map", Map)
    app.add_directive("claim", Claim)
    app.add_role("minutes", minutes)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
