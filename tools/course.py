"""What the other tools and the tests need to know about the course: where it is, how its notebooks are read and written."""

import ast
import json
import pickle
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

# What is set to None cannot be imported. Grammars of addresses in all alphabets, which jsonschema takes along where they are
# there, cost a second of every process that reads a notebook, and no notebook's schema asks for them.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
import nbformat  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
ROOMS = (
    "_core",
    "solve",
    "softmax",
    "attention",
    "hopfield",
    "mean_field",
    "free_energy",
    "message_passing",
    "kinetic",
    "transformer",
    "course",
)
"""The packages of attnlib; each imports only those before it. This is the one list of them."""
LIBRARY = ROOMS[1:-1]
"""Those that make names public and stand alone: the solvers and the chapters."""
CLAIM_LINE = re.compile(r"(key )?claim (\S+) \| (.+?) \| measured (.+?) \| bound (.+?) \| \u2713")
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
_MATH_OR_CODE = re.compile(r"```.*?```|\$\$.*?\$\$(?:\s*\([\w-]+\))?|\$[^$\n]+\$|`[^`\n]+`", re.DOTALL)
_TAG_OR_TARGET = re.compile(r"<[^>]+>|\]\([^)]*\)")


@dataclass(frozen=True)
class Shown:
    """A claim as the output of a cell shows it."""

    id: str
    sentence: str
    measured: str
    bound: str
    key: bool


@dataclass(frozen=True)
class Repository:
    """The repository's address, as ``_config.yml`` has it: the only place where it is written by hand."""

    url: str
    branch: str

    @property
    def slug(self) -> str:
        return self.url.removeprefix("https://github.com/")

    @property
    def site(self) -> str:
        """Where the book is published."""
        return f"https://{self.slug.replace('/', '.github.io/')}/"


def repository(root: Path = ROOT) -> Repository:
    stated = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]
    return Repository(stated["url"].rstrip("/"), stated["branch"])


def notebooks(root: Path = ROOT) -> list[Path]:
    return sorted((root / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    """Read a notebook. Cells without an id get one from their place, not a random one as nbformat would give."""
    return pickle.loads(_checked(path.read_text(encoding="utf-8")))


@cache
def _checked(written: str) -> bytes:
    """A notebook held against nbformat's schema, once: that takes longest of all. Each reader gets a notebook of its own."""
    raw = json.loads(written)
    raw["nbformat_minor"] = max(raw.get("nbformat_minor", 0), 5)
    for index, cell in enumerate(raw["cells"]):
        cell.setdefault("id", f"cell-{index}")
    return pickle.dumps(nbformat.reads(json.dumps(raw), as_version=4))


def text(nb: Any) -> str:
    """The bytes a notebook is committed as: keys sorted, one space of indentation, lines split."""
    return nbformat.writes(nb, version=nbformat.NO_CONVERT) + "\n"


def code_cells(nb: Any) -> list[Any]:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def has_tag(cell: Any, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


def words(nb: Any) -> int:
    """How many words of prose a page has: no formulas, no code, no generated line."""
    prose = "\n".join(c.source for c in nb.cells if c.cell_type == "markdown" and not has_tag(c, "generated"))
    return len(re.findall(r"[^\W\d_][\w'\u2019-]*", _TAG_OR_TARGET.sub(" ", _MATH_OR_CODE.sub(" ", prose))))


def title(nb: Any) -> str:
    """The page's first heading."""
    return nb.cells[0].source.splitlines()[0].removeprefix("# ")


@cache
def syntax(source: str) -> ast.Module:
    """The code of a cell, parsed, to be read only; lines for IPython do nothing."""
    return ast.parse("\n".join(re.sub(r"^(\s*)[%!].*", r"\1pass", line) for line in source.splitlines()))


def claims_asked(cell: Any) -> list[str | None]:
    """The ids of the calls of ``claim`` in a cell; None for an id that is not written out."""
    return [*_asked(cell.source)]


@cache
def _asked(source: str) -> tuple[str | None, ...]:
    calls = [node for node in ast.walk(syntax(source)) if isinstance(node, ast.Call)]
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    names = [(call, call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) for call in calls]
    firsts = [(call.args or [k.value for k in call.keywords if k.arg == "id"])[0] for call, name in names if name == "claim"]
    return tuple(first.value if isinstance(first, ast.Constant) else None for first in firsts)


def claims_shown(cell: Any) -> list[Shown]:
    """The claims in a cell's outputs."""
    texts = [o.get("text", "") if o.output_type == "stream" else o.get("data", {}).get("text/plain", "") for o in cell.outputs]
    return [Shown(*parts, key=bool(key)) for key, *parts in CLAIM_LINE.findall("\n".join(texts))]
