"""Write what is stated once and repeated: each page's generated line, set-up cell, tags, captions, numbers; address, version.

    python tools/sync_pages.py [--check]

The address is edited by hand in ``_config.yml`` only, the version in ``pyproject.toml`` only. When the address changes, the
one in the notebooks' set-up cells says what it was, and is replaced in every text file. With --check nothing is written: it
fails and names what is stale.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import book_front
import course
import nbformat
import reading

SETUP = """\
import importlib.util

if importlib.util.find_spec("attnlib") is None:  # in Colab: add the course's package
    %pip install -q "attnlib[book] @ git+{url}@{branch}"
from attnlib.course import plots
plots.use_style()"""
_ADDRESS_IN_SETUP = re.compile(r"git\+https://github\.com/([^@\s]+)@")
_URLS = """\
[project.urls] # written by make pages
Homepage = "{site}"
Source = "{url}"
Issues = "{url}/issues"
Changelog = "{url}/blob/{branch}/CHANGELOG.md"
"""
_TABLE_OF_URLS = re.compile(r"^\[project\.urls\].*\n(?:\w+ = .*\n)*", re.MULTILINE)
_LINK = re.compile(r"^(\[[^\]]+\]): (?:https://github\.com/[^/\s]+/[^/\s]+/(?:blob|raw)/[^/\s]+/)?([\w./-]+)$", re.MULTILINE)
_CONTENTS = re.compile(r"(<!-- contents:[^\n]*-->\n).*?(<!-- /contents -->)", re.DOTALL)
_VERSION = re.compile(r'^version ?[:=] "?([\w.]+)"?$', re.MULTILINE)
_CODE = re.compile(r"^repository-code: .*$", re.MULTILINE)
_TEXT = {".md", ".cff", ".toml", ".yml", ".yaml", ".py", ".css", ".js", ".bib", ""}


def line(nb: Any, name: str, where: course.Repository) -> str:
    place = f"{where.branch}/notebooks/{name}"
    colab = f"https://colab.research.google.com/github/{where.slug}/blob/{place}"
    return f"[Open in Colab]({colab}) \u00b7 [Download]({where.url}/raw/{place}) \u00b7 {reading.minutes(nb)} minutes to read"


def synced(path: Path, where: course.Repository, numbers: dict[str, str]) -> str:
    """The text of a notebook as it should be: second cell generated, first code cell the set-up, marks for readers."""
    nb = course.read(path)
    setup = SETUP.format(url=where.url, branch=where.branch)
    cells = [cell for cell in nb.cells if not course.has_tag(cell, "generated")]
    generated = nbformat.v4.new_markdown_cell("", id="generated-line", metadata={"tags": ["generated"]})
    cells.insert(1, generated)
    found = [cell for cell in cells if course.has_tag(cell, "setup")]
    if found:
        found[0].source = setup
    else:
        first = next((i for i, cell in enumerate(cells) if cell.cell_type == "code"), len(cells))
        cells.insert(first, nbformat.v4.new_code_cell(setup, id="set-up", metadata={"tags": ["setup"]}))
    nb.cells = cells
    reading.complete(nb, numbers)
    generated.source = line(nb, path.name, where)  # it counts the lines that the marks leave open
    return course.text(nb)


def readme(content: str, where: course.Repository, root: Path) -> str:
    """The README with its table of contents and full addresses in its links: it is also read where the repository is not."""

    def full(found: re.Match) -> str:
        return f"{found[1]}: {where.url}/{'raw' if found[2].endswith('.png') else 'blob'}/{where.branch}/{found[2]}"

    table = book_front.contents(where.site, root) if _CONTENTS.search(content) else ""
    return _CONTENTS.sub(lambda found: f"{found[1]}{table}\n{found[2]}", _LINK.sub(full, content))


def package(content: str, where: course.Repository) -> str:
    """``pyproject.toml`` with the project's addresses."""
    return _TABLE_OF_URLS.sub(_URLS.format(site=where.site, url=where.url, branch=where.branch), content)


def citation(content: str, where: course.Repository, version: str) -> str:
    """``CITATION.cff`` with the address of the code and the package's version."""
    return _CODE.sub(f"repository-code: {where.url}", _VERSION.sub(f"version: {version}", content))


def repeated(root: Path, where: course.Repository, texts: dict[Path, str]) -> dict[Path, str]:
    """The three files at the root that repeat the address or the version, as they should be."""
    paths = [root / name for name in ("README.md", "pyproject.toml", "CITATION.cff")]
    if not all(path.exists() for path in paths):
        return {}
    front, toml, cff = (texts.get(path) or path.read_text(encoding="utf-8") for path in paths)
    version = _VERSION.search(toml)[1]
    return dict(zip(paths, [readme(front, where, root), package(toml, where), citation(cff, where, version)], strict=True))


def former(root: Path) -> str | None:
    """The address, as OWNER/NAME, at the last run."""
    for path in course.notebooks(root):
        found = _ADDRESS_IN_SETUP.search(path.read_text(encoding="utf-8"))
        if found:
            return found[1]
    return None


def moved(content: str, old: str, new: str) -> str:
    """Text in which the repository OWNER/NAME and its site OWNER.github.io/NAME have moved."""
    return content.replace(old, new).replace(old.replace("/", ".github.io/"), new.replace("/", ".github.io/"))


def stale(root: Path = course.ROOT) -> dict[Path, str]:
    """Files that are not as they should be, with what they should contain."""
    where, old = course.repository(root), former(root)
    wanted = {}
    if old not in (None, where.slug):
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=root, text=True, capture_output=True, check=True
        )
        for path in (root / name for name in listed.stdout.splitlines()):
            if path.suffix in _TEXT and path.name != "_config.yml" and path.is_file():
                wanted[path] = moved(path.read_text(encoding="utf-8"), old, where.slug)
    wanted.update(repeated(root, where, wanted))
    pages = course.notebooks(root)
    numbers = reading.numbers((path.stem, course.read(path)) for path in pages)
    wanted.update({path: synced(path, where, numbers) for path in pages})
    return {path: content for path, content in wanted.items() if content != path.read_text(encoding="utf-8")}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail when something is stale")
    check = parser.parse_args(arguments).check
    found = stale()
    for path, content in found.items():
        print(f"{path.relative_to(course.ROOT)} {'is stale; run: make pages' if check else 'written'}")
        if not check:
            path.write_text(content, encoding="utf-8")
    return check and bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
