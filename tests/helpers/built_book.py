"""The book, built once for all tests of a run, whichever worker asks first."""

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import course
import pytest
import yaml
from book_search import uncoloured
from bs4 import BeautifulSoup
from filelock import FileLock

ROOT = course.ROOT
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
SOURCES = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
PAGES = [f"{source}.html" for source in SOURCES]
NOTEBOOKS = [source for source in SOURCES if (ROOT / f"{source}.ipynb").exists()]

JUPYTER_BOOK = """
import sys
sys.modules["rfc3987_syntax"] = None
from jupyter_book.cli.main import main
main()
"""
"""Without the grammars that :mod:`course` keeps out of every other process."""


@dataclass(frozen=True)
class Book:
    """A built book: how the build ended, what it said, and where the pages are."""

    returncode: int
    log: str
    html: Path

    @cached_property
    def pages(self) -> list[Path]:
        found = sorted(path for path in self.html.rglob("*.html") if "_static" not in path.relative_to(self.html).parts)
        assert len(found) >= len(PAGES), self.log[-6000:]
        return found


@cache
def parsed(path: Path) -> BeautifulSoup:
    """A page, read once for all that is asked about it: without the colours of its code, which take two thirds of the time."""
    return BeautifulSoup(uncoloured(path.read_text(encoding="utf-8")), "html.parser")


@cache
def places(path: Path) -> set[str]:
    """Where a link can lead to within a page."""
    return {tag["id"] for tag in parsed(path).find_all(id=True)}


def build(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """Build into a folder that all workers of this run share; the first one builds, the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "built_book"
    place.mkdir(exist_ok=True)
    log, ended = place / "log.txt", place / "returncode.txt"
    with FileLock(place / "lock"):
        if not ended.exists():
            command = [sys.executable, "-c", JUPYTER_BOOK, "build", str(ROOT)]
            options = ["-W", "-n", "--keep-going", "--path-output", str(place)]
            done = subprocess.run(command + options, capture_output=True, text=True, timeout=7200, cwd=place, check=False)
            log.write_text(done.stdout + done.stderr, encoding="utf-8")
            ended.write_text(str(done.returncode), encoding="utf-8")
    return Book(int(ended.read_text(encoding="utf-8")), log.read_text(encoding="utf-8"), place / "_build" / "html")
