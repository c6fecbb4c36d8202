"""A cage of our own, where bubblewrap is not installed: namespaces, and a root folder in memory.

It does what ``bwrap --unshare-all`` does, on kernels that allow it.
"""

import contextlib
import ctypes
import os
import signal
from pathlib import Path

from classroom.limits import MEGABYTE, Limits
from classroom.places import Place
from classroom.system import DEATH_SIGNAL, DUMPABLE, NEW, NOSUID_NODEV, call, prctl

DEVICES = ("null", "zero", "full", "random", "urandom")
ROOTS = ("/tmp", "/mnt", "/srv", "/media", "/var/tmp")
"""Where the root folder of a submission may be put together: over a folder in which nothing lies that it needs."""
_BIND, _RECURSIVE, _PRIVATE, _DETACH = 0x1000, 0x4000, 0x40000, 2
_AT_FDCWD, _AT_RECURSIVE, _READ_ONLY, _MOUNT_SETATTR = -100, 0x8000, 0x1 | 0x2, 442


def enter(places: list[Place], limits: Limits, home: str) -> None:
    """Go into namespaces of its own, in a process that this call makes. ``home`` is a path inside. Raises OSError."""
    user, group = os.getuid(), os.getgid()
    call("unshare", sum(flag for name, flag in NEW.items() if name != "user" or user != 0))
    if user != 0:
        prctl(DUMPABLE, 1)  # else these files are root's: a warden lets nobody look into it, nor into what it forks
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        prctl(DUMPABLE, 0)
    prctl(DEATH_SIGNAL, signal.SIGKILL)  # a change of rights has taken it back
    for _ in range(2):  # the second is the first process of its namespace; when that ends, the kernel ends all others in it
        wait_for(os.fork())
        prctl(DEATH_SIGNAL, signal.SIGKILL)
    call("mount", "none", "/", 0, _RECURSIVE | _PRIVATE, 0)
    root = root_for(places)
    call("mount", "tmpfs", root, "tmpfs", NOSUID_NODEV, "size=4m,mode=755")
    _build(root, places, limits, home)
    os.chroot(root)
    os.chdir("/")


def root_for(places: list[Place]) -> str:
    """The first of :data:`ROOTS` that covers none of the places. Raises OSError where each does."""
    for root in filter(os.path.isdir, ROOTS):
        if not any((place.path + "/").startswith(root + "/") for place in places):
            return root
    raise OSError(f"Python lies in each of {', '.join(filter(os.path.isdir, ROOTS))}")


def wait_for(child: int) -> None:
    """In the parent: wait, unmoved by an interrupt that is meant for the child, and end as the child has ended."""
    if child:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _build(root: str, places: list[Place], limits: Limits, home: str) -> None:
    """What a submission sees, below a folder."""
    for place in places:
        target = root + place.path
        if place.kind == "link":
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(place.target, target)
        elif place.kind == "hidden":
            call("mount", "tmpfs", target, "tmpfs", NOSUID_NODEV, "size=64k,mode=755")
        else:
            _shown(place.path, target)
    for device in DEVICES:
        _shown(f"/dev/{device}", f"{root}/dev/{device}")
    for folder in ("/proc", home, "/dev/shm", "/tmp"):
        os.makedirs(root + folder, exist_ok=True)
    call("syscall", _MOUNT_SETATTR, _AT_FDCWD, root, _AT_RECURSIVE, (ctypes.c_uint64 * 4)(_READ_ONLY), 32)
    for folder in (home, "/dev/shm"):
        size = 4 * limits.file * MEGABYTE
        call("mount", "tmpfs", root + folder, "tmpfs", NOSUID_NODEV, f"size={size},mode=1777")
    with contextlib.suppress(OSError):  # not in every container; Python lives without it
        call("mount", "proc", root + "/proc", "proc", NOSUID_NODEV, 0)


def _shown(place: str, target: str) -> None:
    """A place shown a second time, with what is mounted below it."""
    if os.path.isdir(place):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        Path(target).touch()
    call("mount", place, target, 0, _BIND | _RECURSIVE, 0)
