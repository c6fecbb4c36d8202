"""Keeps torch loaded, so that a submission starts in a few milliseconds: by a fork.

A keeper is a program of its own, with an environment that holds no credentials. It reads no job and sees no result: each comes
as a connection, which is handed on unread to a fork of it, the warden. It ends with the grader, and its wardens end with it.
"""

import os
import select
import signal
import socket
import sys
from contextlib import suppress

from classroom import warden
from classroom.system import adopt


def main(door: socket.socket) -> None:
    """Hand on connections until the grader closes the door."""
    adopt()
    wardens = set[int]()
    while True:
        ready, _, _ = select.select([door], [], [], 0.2)
        if ready:
            _, given, _, _ = socket.recv_fds(door, 1, 1)
            if not given:
                break
            number = os.fork()
            if number == 0:
                door.close()
                _serve(given[0])
            os.close(given[0])
            wardens.add(number)
        with suppress(ChildProcessError):
            while wardens and (ended := os.waitpid(-1, os.WNOHANG)[0]):
                wardens.discard(ended)
    for number in wardens:
        with suppress(OSError):
            os.kill(number, signal.SIGKILL)


def _serve(file: int) -> None:
    """In the fork: be a warden. Never returns."""
    code = 1
    try:
        warden.serve(socket.socket(fileno=file))
        code = 0
    except BaseException as error:
        print(f"warden: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)
