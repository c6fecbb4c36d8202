"""The files of an inbox, from a folder or a zip, opened without trust: no link is followed, no path leads outside.

Of a zip only notebooks, zips and times are unpacked, under numbers for names, so that no name in it reaches the disk. A zip in
a zip of a student's is not opened.
"""

import os
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from classroom.names import NOTEBOOK

LITTER = {".DS_Store", "__MACOSX", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints"}
"""What systems leave lying about. It is nobody's hand-in."""
MB = 2**20


@dataclass(frozen=True)
class File:
    """A file of an inbox.

    Args:
        parts: the names of its folders and its own, from the inbox on.
        path: where its content is; None where there is none to be read.
        changed: when it was changed, in seconds since 1970.
        trouble: why it cannot be read.
        by_student: whether its name and its time are of a student's making: it was in a zip in the inbox.
        folder: whether it is a folder, which is empty or could not be read.
    """

    parts: tuple[str, ...]
    path: Path | None = None
    changed: float = 0.0
    trouble: str = ""
    by_student: bool = False
    folder: bool = False


@dataclass
class Private:
    """A private folder for what is unpacked, and how much of it there may be: in one zip, and in all."""

    folder: Path
    files: int = 20_000
    one: int = 300 * MB
    whole: int = 8192 * MB
    made: int = field(default=0, init=False)

    def place(self) -> Path:
        """A new place in it."""
        self.made += 1
        return self.folder / f"{self.made:06}"


def is_litter(name: str) -> bool:
    """Whether a system has left that."""
    return name in LITTER or name.startswith("._")


def within(folder: Path, parts: tuple[str, ...] = (), depth: int = 12) -> Iterator[File]:
    """All files in a folder, and its empty folders, in a fixed order. Whatever is neither file nor folder is in trouble."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield File(parts, trouble=f"the folder cannot be read: {error.strerror}", folder=True)
        return
    entries = [entry for entry in entries if not (parts and is_litter(entry.name))]
    if not entries and parts:
        yield File(parts, trouble="the folder is empty", folder=True)
    for entry in entries:
        name = (*parts, entry.name)
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield File(name, trouble=f"it cannot be read: {error.strerror}")
            continue
        if stat.S_ISLNK(about.st_mode):
            yield File(name, trouble="it is a link, and links are not followed")
        elif stat.S_ISDIR(about.st_mode) and depth:
            yield from within(folder / entry.name, name, depth - 1)
        elif stat.S_ISREG(about.st_mode):
            yield File(name, folder / entry.name, about.st_mtime)
        else:
            yield File(name, trouble="it is neither a file nor a folder, or lies too deep")


def unpacked(path: Path, private: Private, parts: tuple[str, ...] = (), by_student: bool = True) -> Iterator[File]:
    """All files in a zip. One that cannot be opened is a file in trouble."""
    try:
        with zipfile.ZipFile(path) as packed:
            infos = packed.infolist()
            if len(infos) > private.files:
                yield File(parts, trouble=f"it holds {len(infos)} files; {private.files} are read at most")
                return
            left = private.one if by_student else private.whole
            for info in infos:
                found, taken = _one(packed, info, private, parts, min(left, private.whole), by_student)
                left, private.whole = left - taken, private.whole - taken
                if found:
                    yield found
            yield from _empty(infos, parts)
    except Exception as error:  # a zip of a stranger's making: whatever the library says of it
        yield File(parts, trouble=f"the zip cannot be opened: {type(error).__name__}"[:200])


def _empty(infos: list[zipfile.ZipInfo], parts: tuple[str, ...]) -> Iterator[File]:
    """The empty folders in a zip, and the zip itself if there is nothing in it."""
    full = {parent for info in infos if not info.is_dir() for parent in PurePosixPath(_name(info)).parents}
    if not full and parts:
        yield File(parts, trouble="the zip is empty")
    for info in infos:
        name = PurePosixPath(_name(info))
        if info.is_dir() and name not in full and name.parts and not any(map(is_litter, name.parts)):
            yield File((*parts, *name.parts), trouble="the folder is empty", folder=True)


def _one(
    packed: zipfile.ZipFile, info: zipfile.ZipInfo, private: Private, parts: tuple[str, ...], left: int, by_student: bool
) -> tuple[File | None, int]:
    """A file in a zip, and how many bytes it took."""
    name = PurePosixPath(_name(info).replace("\\", "/"))
    inside = tuple(part for part in name.parts if part not in ("/", "."))
    if info.is_dir() or not inside or is_litter(inside[-1]) or any(map(is_litter, inside)):
        return None, 0
    found = File((*parts, *inside), changed=_changed(info), by_student=by_student)
    mode = info.external_attr >> 16
    if ".." in inside or name.is_absolute() or ":" in inside[0][1:2]:
        return replace(found, trouble="its path leads out of the zip"), 0
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return replace(found, trouble="it is a link, and links are not followed"), 0
    if not NOTEBOOK.search(inside[-1]) and inside[-1] != "timestamp.txt" and (by_student or not is_zip(inside[-1])):
        trouble = "a zip in a zip is not opened" if is_zip(inside[-1]) else "it is not a notebook"
        return replace(found, trouble=trouble), 0
    place, taken = private.place(), 0
    try:
        with packed.open(info) as source, place.open("xb") as target:
            while block := source.read(MB):
                taken += len(block)
                if taken > left:
                    raise OverflowError
                target.write(block)
    except OverflowError:
        place.unlink()
        return replace(found, trouble="it is too large to be unpacked"), 0
    except Exception as error:  # as above
        place.unlink(missing_ok=True)
        return replace(found, trouble=f"it cannot be unpacked: {type(error).__name__}"), 0
    return replace(found, path=place), taken


def is_zip(name: str) -> bool:
    """Whether a name is that of a zip."""
    return name.lower().endswith(".zip")


def _name(info: zipfile.ZipInfo) -> str:
    """The name in a zip. Some programs write UTF-8 and do not say so."""
    if not info.flag_bits & 0x800:
        try:
            return info.filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return info.filename


def _changed(info: zipfile.ZipInfo) -> float:
    try:
        return datetime(*info.date_time).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def inbox(place: Path, private: Private) -> Iterator[File]:
    """The files of an inbox, a folder or a zip; zips in it are opened too. Raises ValueError where it is neither."""
    if place.is_dir():
        first = within(place)
    elif place.is_file() and zipfile.is_zipfile(place):
        first = unpacked(place, private, by_student=False)
    else:
        raise ValueError(f"{place} is to be a folder or a zip of submissions")
    for file in first:
        if file.path and is_zip(file.parts[-1]):
            yield from unpacked(file.path, private, file.parts)
        else:
            yield file
