"""What of this machine's files a submission sees: Python and the system's libraries, read-only, and nothing that is closed."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache")


@dataclass(frozen=True)
class Place:
    """A path in the view: shown as it is, hidden (an empty folder), or a link with its target."""

    kind: Literal["shown", "hidden", "link"]
    path: str
    target: str = ""


def view(closed: Iterable[str]) -> list[Place]:
    """Places in the order in which they are to be made: what lies deeper comes later, and covers what lies above it.

    Closed folders are hidden, what Python needs is shown also where it lies in one of them (a virtual environment in the
    repository, for example). A path that leads through links is there under both names.
    """
    links: dict[str, str] = {}
    needed = [real for place in (*SYSTEM, *pythons()) if (real := _followed(place, links))]
    hidden = [os.path.realpath(folder) for folder in closed]
    kinds: dict[str, Literal["shown", "hidden"]] = dict.fromkeys(needed, "shown")
    kinds |= {folder: "hidden" for folder in hidden if folder not in kinds and _within(folder, needed)}
    lost = [place for place in pythons() if os.path.realpath(place) in hidden]
    if lost:
        raise OSError(f"Python itself lies in a closed folder, {lost[0]}")
    made = [Place(kind, path) for path, kind in kinds.items() if not (kind == "shown" and _covered(path, kinds))]
    made += [Place("link", path, target) for path, target in links.items() if not _covered(path, kinds)]
    return sorted(made, key=lambda place: (place.path.count("/"), place.path))


def pythons() -> list[str]:
    """Folders that Python needs: its own, those of a virtual environment, and where modules are imported from."""
    import torch

    found = [sys.base_prefix, sys.prefix, os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))]
    libraries = [os.path.dirname(os.path.dirname(os.path.abspath(module.__file__ or ""))) for module in (os, torch)]
    return list(dict.fromkeys([*found, *(folder for folder in libraries if not _within(folder, found))]))


def _followed(path: str, links: dict[str, str], depth: int = 40) -> str | None:
    """Where a path leads in the end; notes the links on the way. None where there is nothing."""
    parts = path.strip("/").split("/")
    for length in range(1, len(parts) + 1):
        upper = "/" + "/".join(parts[:length])
        if os.path.islink(upper) and depth:
            target = os.readlink(upper)
            links[upper] = target
            there = os.path.normpath(os.path.join(os.path.dirname(upper), target))
            return _followed("/".join([there, *parts[length:]]), links, depth - 1)
    return path if os.path.exists(path) else None


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in map(os.path.realpath, folders))


def _covered(path: str, kinds: dict[str, Literal["shown", "hidden"]]) -> bool:
    """Whether the nearest place above shows it already."""
    above = os.path.dirname(path)
    while above != "/":
        if above in kinds:
            return kinds[above] == "shown"
        above = os.path.dirname(above)
    return False
