"""Kernels that need not import torch: forks of one process for each worker, which has done that once for all pages.

A page's kernel is a fresh interpreter's in all but this: what takes long to import is loaded, and nothing of it is used.
In the last tier, and where a process cannot be forked with a mind at rest, kernels begin from nothing.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

PARENT = """
import json, os, runpy, signal, sys, time

os.environ["JPY_PARENT_PID"] = str(os.getpid())  # a kernel ends where this process is no more
import attnlib, ipykernel.kernelapp, matplotlib.backends.backend_agg, matplotlib.figure, torch
import attnlib.course.live, networkx, sklearn.datasets, torch._dynamo  # what some pages would take up to four seconds for
from matplotlib_inline.config import InlineBackend

InlineBackend.print_figure_kwargs.default_args[0]["pil_kwargs"] = {"compress_level": 1}  # pictures that nobody keeps

def ended():  # what kernels took counts with what this process took
    while os.waitpid(-1, os.WNOHANG)[0]:
        pass

def heard(*_):
    try:
        ended()
    except ChildProcessError:
        pass

signal.signal(signal.SIGCHLD, heard)
answers = os.fdopen(int(sys.argv[1]), "w")
for line in sys.stdin:
    asked = json.loads(line)
    kernel = os.fork()
    if kernel:
        os.setpgid(kernel, kernel)
        print(kernel, file=answers, flush=True)
        continue
    try:
        os.setpgid(0, 0)
        answers.close()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(asked["env"])
        os.chdir(asked["cwd"])
        sys.path[0], sys.argv = asked["cwd"], asked["argv"]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except Exception:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)

signal.signal(signal.SIGCHLD, signal.SIG_DFL)
try:
    for _ in range(50):
        ended()
        time.sleep(0.1)
except ChildProcessError:
    pass  # none is left
"""


class Forked:
    """A kernel's process, as far as who started it asks: no child of ours, and so nothing is known of how it ended."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Asked for when it has ended."""
        return 0

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


@cache
def _parent(*python: str) -> tuple[subprocess.Popen[str], Any]:
    """The process, which is asked for kernels on its input, and where their numbers are told. It ends with its input."""
    told, tell = os.pipe()
    env = os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    process = subprocess.Popen(
        [*python, "-c", PARENT, str(tell)], stdin=subprocess.PIPE, pass_fds=[tell], env=env, cwd=ROOT, text=True
    )
    os.close(tell)
    PARENTS.append(process)
    return process, os.fdopen(told)


PARENTS: list[subprocess.Popen[str]] = []


def end() -> None:
    """Wait for it: what a process takes counts with whoever waited for it."""
    while PARENTS:
        PARENTS.pop().communicate()


def launched(cmd: list[str], *, env: dict[str, str], cwd: str, **others: Any) -> Forked:
    """What ``jupyter_client`` calls to start a kernel."""
    place = cmd.index("-m")
    process, told = _parent(*cmd[:place])
    print(json.dumps({"argv": cmd[place + 1 :], "env": env, "cwd": str(cwd)}), file=process.stdin, flush=True)
    return Forked(int(told.readline()))


@contextmanager
def forked() -> Iterator[None]:
    """Kernels that are started in here are forks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jupyter_client.provisioning.local_provisioner.launch_kernel", launched)
        yield
