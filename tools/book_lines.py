"""Where lines end on the pages of the site: in no number with its unit and no short code; what a cell prints fits a phone.

A Sphinx extension; ``_config.yml`` names it. Sentences that a cell prints wrap. A table that it prints cannot: where it is
wider than a phone's line, its type shrinks there until it fits, as far as it can still be read. A wider one scrolls.
"""

import re
from typing import Any

from docutils import nodes

NARROW = 37  # characters of the usual size in a line of a phone, inside a fold
WIDEST = 68  # of the smallest type that can be read there
ROWS = 56  # of rows without columns: longer ones are sentences
SHORT = 30  # of a shape or a call, which stays in one piece
_UNIT = re.compile(r" (?=%)|(?<=\d) (?=(?:±|×|°|ms|s|kB|MB|GB)(?!\w))|(?<=[±×]) (?=\d)")
_EQUAL = re.compile(r"(?<=\b\w) ([=≈<>≤≥]) (?=[\d−])")
_PRODUCT = re.compile(r"\bβ (?=g\b)")
_TABLE = re.compile(r"\S {2,}\S|^ +\[", re.MULTILINE)
_AS_IS = nodes.literal | nodes.literal_block | nodes.math | nodes.math_block | nodes.raw | nodes.comment


def kept(text: str) -> str:
    """The text with spaces that end no line before a unit, around the sign of an error, and in what a letter is equal to."""
    return _PRODUCT.sub("β\u00a0", _EQUAL.sub("\u00a0\\1\u00a0", _UNIT.sub("\u00a0", text)))


def keep(app: Any, doctree: nodes.document) -> None:
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, _AS_IS):
            continue
        whole = kept(text.astext())
        if whole != text.astext():
            text.parent.replace(text, nodes.Text(whole))
    for code in doctree.findall(nodes.literal):
        code["classes"] += ["short"] * (len(code.astext()) <= SHORT)


def printed(text: str) -> str | None:
    """The class of what a cell printed: sentences, or a table of so many columns in steps of four; none if it fits as it is.

    Lines that are not much too long stay lines, too.
    """
    lines = text.splitlines()
    widest = max(map(len, lines), default=0)
    if widest <= NARROW:
        return None
    if len(lines) == 1 or (widest > ROWS and not _TABLE.search(text)):
        return "sentences"
    return f"columns-{-(-widest // 4) * 4}" if widest <= WIDEST else None


def fit(app: Any, doctree: nodes.document) -> None:
    outputs = (node for node in doctree.findall(nodes.container) if "cell_output" in node["classes"])
    for block in (block for output in outputs for block in output.findall(nodes.literal_block)):
        kind = printed(block.astext().rstrip())
        block["classes"] += [kind] if kind else []


def setup(app: Any) -> dict[str, Any]:
    app.connect("doctree-read", keep)
    app.connect("doctree-read", fit)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
