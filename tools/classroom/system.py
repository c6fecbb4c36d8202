"""Calls of the C library that Python does not offer, and what Linux alone has."""

import ctypes
import os
import platform

LINUX = platform.system() == "Linux"
NEW = {"mount": 0x20000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "process": 0x20000000, "network": 0x40000000}
"""Flags of namespaces."""
NOSUID_NODEV = 0x2 | 0x4
DEATH_SIGNAL, DUMPABLE, SUBREAPER, NO_NEW_PRIVILEGES = 1, 4, 36, 38


def call(name: str, *arguments: object) -> int:
    """A function of the C library. Raises OSError."""
    given = [os.fsencode(a) if isinstance(a, str) else ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = getattr(ctypes.CDLL(None, use_errno=True), name)(*given)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def prctl(option: int, value: int) -> None:
    """Set something of this process. Raises OSError."""
    call("prctl", option, value, 0, 0, 0)


def adopt() -> None:
    """Become the parent of all that descends from this process, and of no interest to others of the same user."""
    if LINUX:
        prctl(SUBREAPER, 1)
        prctl(DUMPABLE, 0)


def drop_privileges() -> None:
    """No capability, none to come, and nobody but root looks into this process."""
    if LINUX:
        header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        call("capset", header, none)
        prctl(NO_NEW_PRIVILEGES, 1)
