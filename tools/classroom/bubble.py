"""A cage that bubblewrap makes, where it is installed: it builds the walls, and a submission steps inside.

bubblewrap starts programs, and a submission is none: it is the fork of a process that has loaded torch, which takes longer than
most submissions run. So bubblewrap is started with a program that only waits. The submission enters the namespaces which it
has made, and with it the root folder, network and view of processes. When bubblewrap is ended, the kernel ends all in there.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import PurePosixPath

from classroom.limits import MEGABYTE, Limits
from classroom.namespaces import wait_for
from classroom.places import Place
from classroom.system import DEATH_SIGNAL, NEW, call, prctl

_OWNER = 0xB701
"""Asks a namespace for the user namespace that it belongs to."""
_WAITS = "echo ready; read nothing"


def found() -> str | None:
    """Where bubblewrap is."""
    return shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin:/usr/sbin")


class Bubble:
    """Walls, made when this is. Raises OSError where bubblewrap cannot make them.

    Args:
        places: what is seen inside.
        limits: how large home and shared memory may become.
        home: a path inside.
    """

    def __init__(self, places: list[Place], limits: Limits, home: str) -> None:
        asks, tells = os.pipe()
        command = [found() or "bwrap", *_walls(places, limits, home), "--info-fd", str(tells), "--", "/bin/sh", "-c", _WAITS]
        pipe, plain = subprocess.PIPE, {"PATH": "/usr/bin:/bin"}
        try:
            self._program = subprocess.Popen(command, pass_fds=(tells,), env=plain, stdin=pipe, stdout=pipe, stderr=pipe)
        finally:
            os.close(tells)
        with os.fdopen(asks) as about:
            said = about.read()
        assert self._program.stdout
        assert self._program.stderr
        if self._program.stdout.readline() != b"ready\n":
            why = self._program.stderr.read().decode("utf-8", "replace").strip()
            self.close()
            raise OSError(why or "bubblewrap ended")
        self._inside = int(json.loads(said)["child-pid"])

    def enter(self) -> None:
        """Go inside, in a process that this call makes; it returns there. Raises OSError."""
        spaces = [os.open(f"/proc/{self._inside}/ns/{name}", os.O_RDONLY) for name in ("ipc", "uts", "net", "pid", "mnt")]
        owner = fcntl.ioctl(spaces[2], _OWNER)
        if os.fstat(owner).st_ino != os.stat("/proc/self/ns/user").st_ino:
            call("setns", owner, NEW["user"])
        for space in spaces:
            call("setns", space, 0)
        for file in (owner, *spaces):
            os.close(file)
        prctl(DEATH_SIGNAL, signal.SIGKILL)  # a change of rights has taken it back
        wait_for(os.fork())
        prctl(DEATH_SIGNAL, signal.SIGKILL)
        os.chdir("/")

    def close(self) -> None:
        """End it, and all that is inside."""
        with suppress(OSError):
            self._program.kill()
        self._program.wait()
        for stream in (self._program.stdin, self._program.stdout, self._program.stderr):
            with suppress(OSError):
                stream and stream.close()


def _walls(places: list[Place], limits: Limits, home: str) -> list[str]:
    """Arguments of bubblewrap. As root it needs no user namespace: a submission becomes another user."""
    made = ["--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-pid", "--die-with-parent", "--new-session"]
    made += [] if os.getuid() == 0 else ["--unshare-user"]
    shown = [place.path + "/" for place in places if place.kind == "shown"]
    above = sorted({str(upper) for place in places for upper in PurePosixPath(place.path).parents} - {"/"})
    for folder in above:
        if not (folder + "/").startswith(tuple(shown)):
            made += ["--perms", "0755", "--dir", folder]
    for place in places:
        if place.kind == "link":
            made += ["--symlink", place.target, place.path]
        elif place.kind == "hidden":
            made += ["--size", "65536", "--tmpfs", place.path]
        else:
            made += ["--ro-bind", place.path, place.path]
    size = str(4 * limits.file * MEGABYTE)
    made += ["--proc", "/proc", "--dev", "/dev", "--dir", "/tmp"]
    for folder in (home, "/dev/shm"):
        made += ["--perms", "1777", "--size", size, "--tmpfs", folder]
    for folder in (*(place.path for place in places if place.kind == "hidden"), "/dev", "/"):
        made += ["--remount-ro", folder]
    return made
