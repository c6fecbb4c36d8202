"""An examination as HTML: tables for a notebook, and one page that needs nothing from outside."""

import base64
from collections.abc import Sequence
from html import escape

from attnlib.transformer.examination import Examination, Rows
from attnlib.transformer.guide import readings
from attnlib.transformer.pictures import Instrument, alternative, map_of, measured, noises_of, states_of

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #ffffff; --line: #c4c4cc; --soft: #f1f1f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ec; --paper: #17171a; --line: #55555e; --soft: #25252a; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; max-width: 66rem;
  padding: 1rem; }
h1, h2 { line-height: 1.2; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1rem; }
figure { margin: 0; }
figure img { width: 100%; height: auto; background: #ffffff; border: 1px solid var(--line); box-sizing: border-box; }
figcaption, caption { font-size: .9rem; text-align: left; padding: .3rem 0; }
dt { font-weight: 600; margin-top: .8rem; }
dd { margin: 0 0 0 1rem; max-width: 44rem; }
dd p { margin: .2rem 0; }
.wide { overflow-x: auto; border: 1px solid var(--line); padding: 0 .5rem; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
thead th { background: var(--soft); }
"""

PLACES = ("step", "block", "head")
FURTHER: tuple[tuple[Rows, str, int], ...] = (
    ("norms", "Norms: what the epsilon of each is worth at each step", 3),
    ("noises", "Films under noise: a row for each size of it", 1),
)
"""Tables that are shown with all their columns; so many of these say what a row is about."""


def tables(found: Examination) -> str:
    """Heads, states, norms and noises as tables of HTML, those that there are."""
    columns = [name for name in (found.table()[0] if found.heads else {}) if name in PLACES or _told(found, name)]
    heads = [[row[name] for name in columns] for row in found.table()]
    states = [[row.step, row.change, row.cosine, row.length] for row in found.states]
    parts = [_table("Heads: a row for each head at each step", columns, heads, firm=3)] if heads else []
    parts.append(_table("States: before the first step and after each", ["step", "change", "cosine", "length"], states, firm=1))
    parts += [_whole(found, rows, caption, firm) for rows, caption, firm in FURTHER if getattr(found, rows)]
    return "\n".join(parts)


def page(found: Examination, title: str = "Examination") -> str:
    """A whole page: what was read, a picture of each instrument, the tables."""
    shown = measured(found)
    pictures = [_figure(map_of(found, one), alternative(found.grid(one.name), one), _caption(one)) for one in shown]
    changes = ", ".join(f"{row.change:.3g}" for row in found.states if row.change is not None)
    alt = f"Changes of the state, step by step: {changes}. Cosine between tokens at the end: {found.states[-1].cosine:.3g}."
    pictures.append(_figure(states_of(found), alt, "How far each step moves the tokens, and how much they point the same way."))
    if found.noises:
        ends = "; ".join(f"at {row.sigma:.3g} {row.apart:.3g} apart, {row.met:.0%} met" for row in found.noises)
        said = "Films of the tied block from two starts under one noise, by its size: how far apart they end, and how many met."
        pictures.append(_figure(noises_of(found), f"Films under one noise, by its size: {ends}.", said))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<p>{_summary(found)}</p>
<h2>Pictures</h2>
<div class="pictures">
{"".join(pictures)}
</div>
<h2>How to read it</h2>
{guide(found)}
<h2>Numbers</h2>
{tables(found)}
</main>
</body>
</html>
"""


def guide(found: Examination) -> str:
    """What each reading says, what random weights give, and what to try, as a list of HTML."""
    kinds = (("says", "It says"), ("random", "Random weights"), ("then", "Then"))
    entries = []
    for one in readings(found):
        said = "".join(f"<p><b>{head}.</b> {escape(getattr(one, kind))}</p>" for kind, head in kinds)
        entries.append(f"<dt>{escape(one.title)}</dt>\n<dd>{said}</dd>\n")
    return f"<dl>\n{''.join(entries)}</dl>"


def _summary(found: Examination) -> str:
    steps = len(found.states) - 1
    said = [f"{len(found.heads)} readings of heads in {steps} steps."]
    if found.loss is not None:
        said.append(f"Loss {found.loss:.4g}.")
    if found.lyapunov is not None:
        verdict = "copies that start close meet" if found.lyapunov < 0 else "copies that start close part"
        said.append(f"The block is tied; its largest Lyapunov exponent is {found.lyapunov:.3g} nats a step: {verdict}.")
    if found.norms:
        share = max(row.share for row in found.norms)
        said.append(f"The epsilon of its norms is at most {share:.2g} of the square that they divide by.")
    return " ".join(said)


def _caption(one: Instrument) -> str:
    return f"{one.title}. {one.says}"


def _figure(svg: str, alt: str, caption: str) -> str:
    source = base64.b64encode(svg.encode()).decode()
    picture = f'<img src="data:image/svg+xml;base64,{source}" alt="{escape(alt, quote=True)}">'
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>\n"


def _whole(found: Examination, rows: Rows, caption: str, firm: int) -> str:
    """A table of an examination with all its columns."""
    read = found.table(rows)
    return _table(caption, list(read[0]), [list(row.values()) for row in read], firm=firm)


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[float | int | str | None]], *, firm: int) -> str:
    """A table whose first columns, as many as ``firm``, say what a row is about."""
    names = "".join(f'<th scope="col">{escape(name.replace("_", " "))}</th>' for name in columns)
    lines = []
    for row in rows:
        cells = [f'<th scope="row">{_text(one)}</th>' for one in row[:firm]] + [_cell(one) for one in row[firm:]]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(caption, quote=True)}" style="overflow-x: auto">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{names}</tr></thead>\n"
        f"<tbody>{chr(10).join(lines)}</tbody></table></div>"
    )


def _text(thing: float | int | str | None) -> str:
    """What a row is about: a word, or a count."""
    return escape(thing.replace("_", " ")) if isinstance(thing, str) else f"{thing:g}"


def _cell(number: float | int | str | None) -> str:
    return "<td>–</td>" if number is None else f"<td>{number:.3g}</td>"


def _told(found: Examination, name: str) -> bool:
    return not bool(found.grid(name).isnan().all())
