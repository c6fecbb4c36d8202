"""Sentences that set a figure: what stands in the sources of the pages, and the figure that each of them leads to.

In Markdown: ``<span data-sets="Walker" data-to='{"steps": 3}'>three steps</span>``. Where no script makes a button of it, in
JupyterLab, in Colab, on paper, it is plain text. Pressed, it puts the figure as it stands on the page, but for these traits.
"""

import html
import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import course
import pytest
import yaml
from helpers import figures

from attnlib.course.live import LiveFigure

State = dict[str, Any]
MARK = re.compile(r"""<span data-sets="(\w+)" data-to='([^']*)'>(.*?)</span>""", re.DOTALL)
DIRECTIVE = re.compile(r"^```\{live\} (\w+)\n(.*?)```$", re.MULTILINE | re.DOTALL)
ROWS = {row.kind.__name__: row for row in figures.TABLE}


@dataclass(frozen=True)
class Sentence:
    """Words that set a figure, and the paragraph that they stand in."""

    page: str
    figure: str
    to: str
    words: str
    paragraph: str
    place: int
    """Of the cell, or of the paragraph of a Markdown page."""

    @property
    def changes(self) -> State:
        return dict(json.loads(self.to))

    @property
    def said(self) -> str:
        """The paragraph as it is read."""
        return " ".join(re.sub(r"<[^>]+>", "", self.paragraph).split())

    def __str__(self) -> str:
        return f"{self.page}: {self.words}"


@dataclass(frozen=True)
class Page:
    """A page with live figures: its parts of Markdown, and where its figures stand, with the state of each."""

    name: str
    prose: tuple[tuple[int, str], ...]
    figures: dict[str, tuple[int, State]]

    @property
    def sentences(self) -> list[Sentence]:
        return [
            Sentence(self.name, figure, to, words, paragraph, place)
            for place, text in self.prose
            for paragraph in re.split(r"\n\s*\n", text)
            for figure, to, words in MARK.findall(paragraph)
        ]


def _notebook(path: Any) -> Page:
    cells, prose, found = course.read(path).cells, [], {}
    for place, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            prose.append((place, cell.source))
            continue
        for output in cell.outputs:
            shown = "".join(output.get("data", {}).get("text/html", ""))
            for name, state in re.findall(r'<div data-live="(\w+)" data-state="([^"]*)"', shown):
                assert name not in found, f"{path.stem} has two figures of the kind {name}"
                found[name] = place, json.loads(html.unescape(state))
    return Page(f"notebooks/{path.stem}", tuple(prose), found)


def _markdown(path: Any) -> Page:
    parts, found = re.split(r"\n\s*\n", path.read_text(encoding="utf-8")), {}
    for place, part in enumerate(parts):
        for name, traits in DIRECTIVE.findall(part):
            found[name] = place, figures.made(ROWS[name], **(yaml.safe_load(traits) or {})).state()
    return Page(f"book/{path.stem}", tuple(enumerate(parts)), found)


@cache
def pages() -> list[Page]:
    """All pages of the book that have a live figure."""
    sources = sorted((course.ROOT / "book").glob("*.md"))
    every = [*map(_notebook, course.notebooks()), *map(_markdown, sources)]
    return [page for page in every if page.figures or page.sentences]


def sentences() -> list[Any]:
    """All sentences, as parameters of a test."""
    return [pytest.param(one, id=str(one)) for page in pages() for one in page.sentences]


def led_to(sentence: Sentence) -> LiveFigure:
    """The figure after a press: as it stands on the page, but for the traits that the sentence names."""
    page = next(page for page in pages() if page.name == sentence.page)
    assert sentence.figure in page.figures, f"{sentence}: no {sentence.figure} on the page, only {', '.join(page.figures)}"
    state, figure = page.figures[sentence.figure][1], figures.made(ROWS[sentence.figure])
    unknown = set(sentence.changes) - set(state)
    assert not unknown, f"{sentence}: {sentence.figure} has no {', '.join(unknown)}, only {', '.join(state)}"
    with figure.hold_trait_notifications():  # all at once: some traits bound others
        for name, value in (state | sentence.changes).items():
            setattr(figure, name, value)
    return figure
