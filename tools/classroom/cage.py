"""A place for code that nobody has read: no network, no other files, few processes, little memory, a home that vanishes.

Two kinds of cage. With **namespaces** (Linux, where the kernel allows them) the code sees no network, no other process and, of
the files of this machine, Python and its libraries alone, which it cannot write. In the **plain** cage, everywhere else, limits
and the process group are the system's, but network and files are closed by a hook inside Python, which code that is out to get
around it can get around. :class:`Cage` says which; the grader writes it down.
"""

import contextlib
import ctypes
import os
import platform
import resource
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 2**20
_NEW = {"mount": 0x20000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "process": 0x20000000, "network": 0x40000000}
_MS_BIND, _MS_REC, _MS_PRIVATE, _MS_NOSUID_NODEV = 0x1000, 0x4000, 0x40000, 0x2 | 0x4
_AT_FDCWD, _AT_RECURSIVE, _READ_ONLY, _MOUNT_SETATTR = -100, 0x8000, 0x1 | 0x2, 442
_PR_DEATH_SIGNAL, _PR_NO_NEW_PRIVILEGES, _PR_DUMPABLE, _PR_SUBREAPER = 1, 38, 4, 36
LINUX = platform.system() == "Linux"


@dataclass(frozen=True)
class Limits:
    """What a submission may use. A step is one cell, or one question. Seconds are processor time, and time asleep.

    Args:
        seconds: for a step.
        total: seconds for everything.
        memory: megabytes of address space of a process beyond what torch has mapped, and of memory in use by all of them.
        processes: at the same time.
        file: megabytes that a file may grow to, and four times as much in the temporary home.
        notebook: megabytes of the submission itself.
        output: megabytes of results.
    """

    seconds: float = 20
    total: float = 120
    memory: int = 3000
    processes: int = 32
    file: int = 16
    notebook: int = 256
    output: int = 16


@dataclass(frozen=True)
class Cage:
    """Which cage. ``user`` is the number of a user without any rights to become, where the grader is root.

    Args:
        namespaces: whether the kernel closes network, files and processes; else a hook in Python does what it can.
        user: see above; None stays who it is.
        closed: folders that the hook does not open: pack, submissions, results.
    """

    namespaces: bool
    user: int | None = None
    closed: tuple[str, ...] = ()

    def __str__(self) -> str:
        kernel = (
            "network, files and processes closed by the kernel" if self.namespaces else "closed by Python only, see the book"
        )
        return kernel + ("" if self.user is None else ", a user of its own")


def cages(closed: tuple[str, ...], worker: int) -> list[Cage]:
    """The cages worth trying here, the strongest first."""
    users = [61000 + worker, None] if os.getuid() == 0 else [None]
    return [Cage(namespaces, user, closed) for namespaces in ([True, False] if LINUX else [False]) for user in users]


def enter(cage: Cage, limits: Limits, home: str) -> None:
    """Go into the cage, in a process of its own that this call makes; it returns inside. Raises OSError where it cannot."""
    os.setsid()
    if cage.namespaces:
        _separate()
        _inside_of_it(home, limits)
    if cage.user is not None:
        os.setgroups([])
        os.setgid(cage.user)
        os.setuid(cage.user)
    if LINUX:
        _drop_privileges()
    _limit(limits)
    _close_in_python(cage, home)
    os.chdir(home)


def call(name: str, *arguments: object) -> int:
    """A function of the C library. Raises OSError."""
    given = [os.fsencode(a) if isinstance(a, str) else ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = getattr(ctypes.CDLL(None, use_errno=True), name)(*given)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def _separate() -> None:
    """Namespaces of its own. The first process in them is the one that is left when this returns but one: it waits."""
    user, group = os.getuid(), os.getgid()
    call("unshare", sum(flag for name, flag in _NEW.items() if name != "user" or user != 0))
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    for _ in range(2):  # the second is the first process of its namespace; when that ends, the kernel ends all others in it
        wait_for(os.fork())
        call("prctl", _PR_DEATH_SIGNAL, signal.SIGKILL)


def wait_for(child: int) -> None:
    """In the parent: wait, and end as the child has ended."""
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _inside_of_it(home: str, limits: Limits) -> None:
    """A root folder in memory that holds Python and the system's libraries, read-only, and the home."""
    call("mount", "none", "/", 0, _MS_REC | _MS_PRIVATE, 0)
    places = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", sys.base_prefix, sys.prefix]
    places += [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")]
    call("mount", "tmpfs", home, "tmpfs", _MS_NOSUID_NODEV, "size=4m,mode=755")
    for place in dict.fromkeys(places):
        if os.path.islink(place):  # /lib leads to /usr/lib
            os.symlink(os.readlink(place), home + place)
        elif os.path.exists(place) and not os.path.exists(home + place):
            _copy_of(place, home + place)
    for place in ("/proc", home, "/dev/shm"):
        os.makedirs(home + place, exist_ok=True)
    call("syscall", _MOUNT_SETATTR, _AT_FDCWD, home, _AT_RECURSIVE, (ctypes.c_uint64 * 4)(_READ_ONLY), 32)
    for place in (home, "/dev/shm"):
        call("mount", "tmpfs", home + place, "tmpfs", _MS_NOSUID_NODEV, f"size={4 * limits.file}m,mode=1777")
    with contextlib.suppress(OSError):  # not in every container; Python lives without it
        call("mount", "proc", home + "/proc", "proc", _MS_NOSUID_NODEV, 0)
    os.chroot(home)


def _copy_of(place: str, target: str) -> None:
    """A place shown a second time, with what is mounted below it."""
    if os.path.isdir(place):
        os.makedirs(target)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        Path(target).touch()
    call("mount", place, target, 0, _MS_BIND | _MS_REC, 0)


def _drop_privileges() -> None:
    """No capability, none to come, and nobody but root looks into this process."""
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    call("capset", header, none)
    call("prctl", _PR_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def _limit(limits: Limits) -> None:
    seconds = int(limits.total) + 1
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: limits.file * MEGABYTE,
        resource.RLIMIT_NOFILE: 128,
        resource.RLIMIT_AS: _mapped() + limits.memory * MEGABYTE,
        resource.RLIMIT_NPROC: limits.processes,
    }
    for kind, value in wanted.items():
        if kind == resource.RLIMIT_NPROC and not LINUX:
            continue  # counts all processes of the user there; the keeper counts
        resource.setrlimit(kind, (value, value))


def _mapped() -> int:
    """Bytes of address space that this process has. A torch with the libraries of a GPU maps gigabytes before it computes."""
    size = Path("/proc/self/statm")
    return int(size.read_text().split()[0]) * resource.getpagesize() if size.exists() else 0


_CLOSED = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")
_PROGRAMS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system")


def _close_in_python(cage: Cage, home: str) -> None:
    """A hook that cannot be taken off: no network, and in the plain cage no other program and no closed folder."""
    opens = ("open", "os.listdir", "os.scandir")
    closed = tuple(os.path.realpath(folder) + os.sep for folder in cage.closed)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in _CLOSED:
            raise PermissionError("there is no network here")
        if cage.namespaces:
            return
        if event in _PROGRAMS:
            raise PermissionError("no other program is started here")
        if event in opens and arguments and isinstance(arguments[0], str | bytes | os.PathLike):
            place = os.path.realpath(os.fsdecode(arguments[0])) + os.sep
            if place.startswith(closed) and not place.startswith(home + os.sep):
                raise PermissionError("this folder is closed here")

    sys.addaudithook(hook)


def adopt() -> None:
    """Become the parent of all that descends from this process, and of no interest to others of the same user."""
    if LINUX:
        call("prctl", _PR_SUBREAPER, 1, 0, 0, 0)
        call("prctl", _PR_DUMPABLE, 0, 0, 0, 0)
