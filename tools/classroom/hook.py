"""A hook inside Python that cannot be taken off: there is no network, and where there are no walls, less of everything else.

It stops accidents and simple tricks. It does not stop code that calls the C library.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

_NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")
_PROGRAMS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system")
_READS = ("open", "os.listdir", "os.scandir", "os.chdir")
_CHANGES = ("rename", "remove", "link", "symlink", "truncate", "mkdir", "rmdir", "chmod", "chown", "utime")
_WRITES = tuple(f"os.{what}" for what in _CHANGES)
_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def close(folders: Sequence[str], home: str | None, needed: Sequence[str]) -> None:
    """Close the network; where there is a ``home``, for want of walls, more.

    Other programs are then not started, other processes get no signal, no file outside the home is written, and none in the
    closed ``folders`` is read, but for those ``needed`` that lie in one: a virtual environment in the repository, for example.

    What the hook calls is bound here, so that nothing is gained by putting another function in its place.
    """
    followed: Callable[[str], str] = os.path.realpath
    plain: Callable[[str | bytes | os.PathLike[str]], str] = os.fsdecode
    is_a, path, number, forbidden = isinstance, (str, bytes, os.PathLike), int, PermissionError
    group_of, own_group = os.getpgid, os.getpgrp
    network, programs, reads, writes, to_write = _NETWORK, _PROGRAMS, _READS, _WRITES, _TO_WRITE
    own, nothing = followed(home or os.sep) + os.sep, os.devnull + os.sep
    closed = {followed(folder) + os.sep for folder in folders} - {own}
    shown = {followed(folder) + os.sep for folder in needed} | {own}
    deepest_first = sorted(closed | shown, key=len, reverse=True)

    def place(thing: Any, to_be_written: bool) -> None:
        where = followed(plain(thing)) + os.sep
        for folder in deepest_first:
            if where.startswith(folder):
                if folder in closed:
                    raise forbidden("this folder is closed here")
                break
        if to_be_written and not where.startswith((own, nothing)):
            raise forbidden("nothing is written here outside the home folder")

    def process(other: Any, is_group: bool) -> None:
        group = -other if other < 0 else group_of(other) if not is_group or other == 0 else other
        if group != own_group():
            raise forbidden("other processes are left alone here")

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event in network:
            raise forbidden("there is no network here")
        if home is None:
            return
        if event in programs:
            raise forbidden("no other program is started here")
        if event in ("os.kill", "os.killpg"):
            process(given[0], event == "os.killpg")
        elif event in reads:
            flags = given[2] if event == "open" else 0
            if is_a(given[0], path):
                place(given[0], is_a(flags, number) and flags & to_write != 0)
        elif event in writes:
            for thing in given[:2]:
                if is_a(thing, path):
                    place(thing, True)

    sys.addaudithook(hook)
