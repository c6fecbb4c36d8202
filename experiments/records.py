"""What the records of long measurements have in common: a head, what was measured before, a file that is whole or as it was."""

import argparse
import datetime
import json
import math
import platform
import sys
from collections.abc import Container
from importlib.metadata import version
from pathlib import Path
from typing import Any

PLACES = ("--cache", "--keep", "--output", "--runs", "--weights")
"""Options of scripts that name a file or a folder."""


def versions(*packages: str) -> dict[str, str]:
    """What the numbers may depend on: the version of Python and of these packages."""
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def command(text: str, small: str) -> argparse.ArgumentParser:
    """What every script of a record can be asked on the command line: to be quick, and where to write."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--quick", action="store_true", help=f"{small}; writes no file unless --output names one")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write the JSON")
    return parser


def earlier(target: Path | None, settings: object, by: dict[str, str] | None = None) -> dict[str, Any]:
    """What a file already holds, if it was measured with the same settings, and by the same versions where some are given."""
    if target is None or not target.exists():
        return {}
    found = json.loads(target.read_text(encoding="utf-8"))
    return found if found.get("settings") == settings and by in (None, found.get("versions")) else {}


def head(name: str, title: str, arguments: list[str] | None, quick: bool, by: dict[str, str]) -> dict[str, Any]:
    """The beginning of a record: what it is called, how it is made again, when it was made, and by which versions.

    Files and folders are places on one machine, and left out of the command.
    """
    given, asked = iter(sys.argv[1:] if arguments is None else arguments), []
    for word in given:
        if word in PLACES:
            next(given, None)
        elif word.partition("=")[0] not in PLACES:
            asked.append(word)
    return {
        "name": name,
        "title": title,
        "command": " ".join([f"python experiments/{name}.py", *asked]),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "quick": quick,
        "versions": by,
    }


def write(result: dict[str, Any], target: Path | None, indent: int | None = None) -> None:
    """Write a record, if there is a place for it; who stops it meanwhile finds the file as it was."""
    if target:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial")
        partial.write_text(json.dumps(result, indent=indent) + "\n", encoding="utf-8")
        partial.replace(target)


def rounded(value: Any, settings: Container[str] = (), digits: int = 4) -> Any:
    """So many digits of each number: more than training repeats on another processor; settings, by name, are short already."""
    if isinstance(value, dict):
        return {name: each if name in settings else rounded(each, settings, digits) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each, settings, digits) for each in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) and math.isfinite(value) else value
