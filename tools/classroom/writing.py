"""Writes files: whole or not at all, in UTF-8 whatever comes, as tables without formulas and as pages without scripts."""

import csv
import hashlib
import io
import os
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape
from pathlib import Path

from classroom.names import clean

_FORMULA = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
_STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1c1c22; --soft: #5c5c66; --line: #d8d8de; --card: #f6f6f8;
  --right: #15693b; --partly: #7a5200; --wrong: #a3262a; }
@media (prefers-color-scheme: dark) { :root { --page: #16161a; --ink: #e8e8ec; --soft: #a2a2ae; --line: #36363e;
  --card: #202026; --right: #6fce96; --partly: #e3b04f; --wrong: #ff8f8a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: 1rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; line-height: 1.25; } h2 { font-size: 1.1rem; margin: 0; }
section { border: 1px solid var(--line); border-radius: .5rem; background: var(--card); padding: .75rem 1rem; margin: 1rem 0;
  overflow: hidden; contain: content; }
p { margin: .4rem 0; } .soft { color: var(--soft); } .right { color: var(--right); } .partly { color: var(--partly); }
.wrong { color: var(--wrong); } .sum { font-size: 1.2rem; }
pre { white-space: pre-wrap; margin: .5rem 0 0; font: inherit; unicode-bidi: isolate; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .2rem .6rem .2rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; white-space: nowrap; }
bdi { unicode-bidi: isolate; }
"""


def save(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(clean(text.replace("\r\n", "\n"), len(text) + 1), encoding="utf-8")
    os.replace(beside, path)


def number(value: Fraction | int | None) -> str:
    """Points as they are written: at most two decimals; nothing for None.

    >>> number(Fraction(35, 2)), number(4), number(None)
    ('17.5', '4', '')
    """
    return "" if value is None else f"{float(value):.2f}".rstrip("0").rstrip(".")


def points(text: str) -> Fraction | None:
    """Points as a teacher writes them, with a point or a comma; None where that is no number.

    >>> points("2,5"), points(" -1 "), points("good"), points("")
    (Fraction(5, 2), Fraction(-1, 1), None, None)
    """
    text = text.strip()
    return Fraction(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None


def cell(value: object) -> str:
    """A value for a table, on one line. What a spreadsheet would take for a formula is quoted, behind a semicolon too."""
    text = " ".join(clean("" if value is None else str(value), 4000).split())
    if _NUMBER.fullmatch(text) or text == "-":
        return text
    text = f"'{text}" if text.startswith(tuple(_FORMULA)) else text
    return re.sub(rf"([;,]\s*)(?=[{re.escape(_FORMULA)}])", r"\1'", text)


def bare(text: str) -> str:
    """What :func:`cell` was given, as far as it can be known."""
    return text[1:] if text.startswith("'") and text[1:].startswith(tuple(_FORMULA)) else text


def as_table(rows: Iterable[Sequence[object]]) -> str:
    """A table as text."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()


def save_table(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write a table."""
    save(path, as_table(rows))


def safe(text: object) -> str:
    """A text without effect in HTML, which cannot turn the direction of what stands beside it."""
    return escape(clean(str(text), 20_000))


def page(title: str, body: str) -> str:
    """A page that needs nothing beside it and runs nothing. ``body`` is HTML."""
    rules = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" '
        f'content="{rules}">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def file_names(keys: Sequence[str], students: Sequence[str]) -> list[str]:
    """A file name for each student, without an ending, each once, the same from run to run where the key is the same.

    >>> file_names(["dup?", "dup_", "Dup_"], ["dup?", "dup_", "Dup_"])
    ['dup_-c27a09', 'dup_', 'Dup_-5588d2']
    """
    used, found = set[str](), list[str]()
    for key, student in zip(keys, students, strict=True):
        plain = re.sub(r"[^\w.-]", "_", clean(student)).lstrip(".")[:50] or "_"
        mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        name = plain if plain == student.replace(" ", "_") and plain.lower() not in used else f"{plain}-{mark[:6]}"
        while name.lower() in used:
            name += "_"
        used.add(name.lower())
        found.append(name)
    return found
