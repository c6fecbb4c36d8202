"""The cages in which submissions run: what a submission in each can do, and what it leaves behind."""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import venv
from contextlib import suppress
from pathlib import Path

import course
import pytest
from classroom import bubble, build, grade, limits, namespaces, places, runner, watch
from classroom.cage import Cage
from classroom.grade import Submission
from classroom.judge import Exam, heard
from classroom.keepers import Keeper, Refused
from classroom.limits import Limits
from classroom.master import Master
from helpers.submissions import HANDED, hand_in

pytestmark = pytest.mark.slow

FIRST = Master.read(course.ROOT / "assignments" / "1-softmax" / "master.py")

PROBE = """\
import os, socket, subprocess
def probe(what):
    if what == "environment": return ",".join(sorted(os.environ))
    if what == "network": return open("/proc/net/dev").read()
    if what == "connect": return str(socket.create_connection(("127.0.0.1", 9), 1))
    if what == "home": return os.path.expanduser("~") + " " + os.getcwd()
    if what == "write": return str(open("here", "w").write("x"))
    if what == "program": return subprocess.run(["echo", "x"], capture_output=True, text=True).stdout
    if what == "processes": return " ".join(name for name in os.listdir("/proc") if name.isdigit())
    if what == "files": return " ".join(os.listdir("/proc/self/fd"))
    if what.startswith("read "): return open(what[5:]).read()
    if what.startswith("spoil "): return str(open(what[6:], "a"))
"""


def cell(source):
    return {"cells": [{"cell_type": "code", "source": source}]}


def keeper_in(kind, closed, allowed=None):
    """A keeper with a cage of a kind; skip where there is none."""
    found = Keeper(0, allowed or Limits(seconds=2), closed, unprotected=True)
    found.choices = [choice for choice in found.choices if choice.kind == kind]
    try:
        assert found.cage
    except Refused as refused:
        found.close()
        if "a submission in it reaches" in str(refused):
            raise
        pytest.skip(f"no such cage here: {refused}")
    return found


FIRST_CAGE = "bubblewrap" if bubble.found() else "namespaces"
CAGES = [
    kind if kind == FIRST_CAGE else pytest.param(kind, marks=pytest.mark.whole)
    for kind in ("bubblewrap", "namespaces", "python")
]
"""Where bubblewrap is, make test tries the cage that it makes, elsewhere our own; all three are for make test-all."""


@pytest.fixture(scope="module", params=CAGES)
def keeper(request, tmp_path_factory):
    """A keeper of each kind, and a closed folder with a secret."""
    secret = tmp_path_factory.mktemp("probe") / "closed" / "secret"
    secret.parent.mkdir()
    secret.write_text("the reference", encoding="utf-8")
    found = keeper_in(request.param, [str(secret.parent)])
    yield found, secret
    found.close()


@pytest.fixture
def probe(keeper, tmp_path):
    """Ask a submission in a cage what it can do: what it returns, or what it raises."""
    notebook = tmp_path / "probe.ipynb"
    notebook.write_text(json.dumps(cell(PROBE)), encoding="utf-8")

    def ask(*asked):
        questions = [{"number": "1", "name": "probe", "calls": [[{"plain": what}] for what in asked]}]
        answers = [
            message[3] for message in heard(keeper[0].run(notebook, questions, [], 60)["said"]) if message[0] == "result"
        ]
        return [answer.get("plain") or answer.get("raised") for answer in answers]

    return ask, keeper[0].cage, keeper[1]


def test_our_own_namespaces_work_where_the_kernel_allows_them():
    """For a plain user, too, whose warden lets nobody look into it."""
    asked = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "true"], capture_output=True)
    if asked.returncode:
        pytest.skip(f"the kernel does not: {asked.stderr.decode().strip()}")
    found = Keeper(0, Limits(seconds=2), [])
    found.choices = [choice for choice in found.choices if choice.kind == "namespaces"]
    assert found.cage.kind == "namespaces"  # else it is refused, and says why
    found.close()


def test_cage_has_a_home_of_its_own_and_no_credentials(probe):
    ask, _, _ = probe
    environment, home, wrote = ask("environment", "home", "write")
    assert set(environment.split(",")) - {"LC_CTYPE"} == {
        *("HOME", "LANG", "MPLBACKEND", "MPLCONFIGDIR", "OMP_NUM_THREADS", "PATH", "PYTHONDONTWRITEBYTECODE", "TMPDIR")
    }
    there, here = home.split()
    assert there == here
    assert not Path(there).exists()
    assert wrote == "1"
    assert ask("read here")[0].startswith("FileNotFoundError")  # the next one finds nothing


def test_cage_has_no_network_and_shows_no_closed_file(probe):
    ask, cage, secret = probe
    connect, read = ask("connect", f"read {secret}")
    assert connect.startswith("PermissionError")
    assert read.startswith("FileNotFoundError" if cage.walls else "PermissionError")


def test_the_kernel_closes_what_python_alone_cannot(probe):
    ask, cage, _ = probe
    if not cage.walls:
        assert ask("program")[0].startswith("PermissionError")
        return
    network, processes, program, etc, spoil = ask(
        "network", "processes", "program", "read /etc/passwd", f"spoil {runner.torch.__file__}"
    )
    assert re.findall(r"(\w+):", network) == ["lo"]
    assert len(processes.split()) <= 5
    assert program == "x\n"
    assert etc.startswith("FileNotFoundError")
    assert spoil.startswith(("OSError", "PermissionError"))


def test_a_submission_has_nothing_open_of_its_wardens(probe):
    ask, _, _ = probe
    assert len(ask("files")[0].split()) <= 6  # three streams, the pipe, the notebook, the folder that is being read


@pytest.fixture
def own_python(monkeypatch):
    """A virtual environment that whoever runs this may write to and all may read, with the packages of the one in use.

    Keepers start there.
    """
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o755)
        folder = Path(above) / "python"
        venv.create(folder, symlinks=True)
        (packages,) = folder.glob("lib/python*/site-packages")
        (packages / "packages.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
        monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
        yield folder


def test_python_in_a_closed_folder_is_open_and_a_closed_folder_in_python_is_closed(keeper, own_python, tmp_path):
    """Were the course installed below /usr, or the pack kept in a virtual environment, it would be in plain view.

    The other way round: the environment lies in the repository, and what is imported late must be found.
    """
    inside = own_python / "closed"
    inside.mkdir()
    (inside / "master.py").write_text("the reference", encoding="utf-8")
    (own_python / "open").write_text("open", encoding="utf-8")
    beside = own_python.parent / "beside"
    beside.write_text("the reference", encoding="utf-8")
    other = keeper_in(keeper[0].cage.kind, [str(own_python.parent), str(inside)])
    notebook = tmp_path / "probe.ipynb"
    notebook.write_text(json.dumps(cell(PROBE)), encoding="utf-8")
    reads = [[{"plain": f"read {place}"}] for place in (own_python / "open", inside / "master.py", beside)]
    said = other.run(notebook, [{"number": "1", "name": "probe", "calls": reads}], [], 60)["said"]
    other.close()
    shown, *closed = (message[3] for message in heard(said) if message[0] == "result")
    assert shown == {"plain": "open"}
    assert all(re.match("FileNotFoundError|PermissionError", answer["raised"]) for answer in closed)
    assert len(closed) == 2


def test_what_python_needs_is_shown_where_it_lies_in_a_closed_folder(tmp_path, monkeypatch):
    environment = tmp_path / "course" / ".venv"
    (environment / "lib").mkdir(parents=True)
    link = tmp_path / "linked"
    link.symlink_to(environment)
    monkeypatch.setattr(places, "pythons", lambda: [str(tmp_path), str(link)])
    made = {place.path: place.kind for place in places.view([str(tmp_path / "course")]) if place.path.startswith(str(tmp_path))}
    assert made == {str(tmp_path): "shown", str(tmp_path / "course"): "hidden", str(environment): "shown"}
    monkeypatch.setattr(places, "pythons", lambda: [str(link)])
    made = {place.path: place.kind for place in places.view([]) if place.path.startswith(str(tmp_path))}
    assert made == {str(link): "link", str(environment): "shown"}


MARK = """\
mark = "".join(map(chr, [83, 69, 67] + [82] * 20 + [84]))
def probe(x):
    return mark"""
SCAN = r"""
import ctypes, re
def probe(x):
    found, wanted = 0, re.compile(rb"S\x45C[R]{20}\x54")  # which does not say what it looks for
    for line in open("/proc/self/maps"):
        span, rights = line.split()[:2]
        low, high = (int(end, 16) for end in span.split("-"))
        if rights.startswith("rw") and high - low < 2**28:
            found += len(wanted.findall(ctypes.string_at(low, high - low)))
    return found
"""


def test_a_submission_finds_nothing_of_another_in_its_memory(keeper, tmp_path):
    """Both are forks of one keeper. Whoever holds the mark finds it; who runs after it was another's answer does not."""
    notebooks = {"mark": cell(MARK), "scan": cell(SCAN), "both": cell(f"{MARK}\n{SCAN}")}
    for name, notebook in notebooks.items():
        (tmp_path / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    question = [{"number": "1", "name": "probe", "calls": [[{"plain": 1}]]}]

    def said(name):
        heard_of = heard(keeper[0].run(tmp_path / f"{name}.ipynb", question, [], 120)["said"])
        (answer,) = [message[3] for message in heard_of if message[0] == "result"]
        return answer["plain"]

    assert said("both") > 0
    assert said("mark").startswith("SECRR")
    assert said("scan") == 0


@pytest.fixture(scope="module")
def inbox(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    build.write(FIRST, folder)
    hand_in(build.student(FIRST, solved=True), build.student(FIRST), folder / "submissions", folder / "teacher" / FIRST.name)
    return folder


LIMITS = Limits(seconds=3, total=30, wall=60)
ENDING = 5
"""Seconds that it may take to end what a submission has started."""


@pytest.fixture(scope="module")
def room(keeper, inbox):
    """A keeper as the grader has it, in each kind of cage: pack and submissions are closed."""
    found = keeper_in(keeper[0].cage.kind, [str(inbox / "teacher"), str(inbox / "submissions")], LIMITS)
    yield found
    found.close()


def graded(keeper, inbox, name):
    """What becomes of one submission."""
    return next(grade.grade(Exam(FIRST, 7), [Submission(name, inbox / "submissions" / f"{name}.ipynb")], [keeper]))


@pytest.mark.sweep(1 / 100)
@pytest.mark.parametrize("name", HANDED)
def test_outcome_is_the_same_in_each_cage(room, inbox, name):
    """Status, points and note, within the limit of the wall; and nothing of it goes on."""
    begin = time.monotonic()
    one = graded(room, inbox, name)
    assert time.monotonic() - begin < LIMITS.wall + ENDING
    status, points, note = HANDED[name].outcome(room.cage.walls)
    assert (one.status, tuple(mark.points for mark in one.marks[:4])) == (status, points), one
    assert note in "; ".join(one.notes)
    for _ in range(20):  # the keeper looks five times a second
        left = descendants(room.program.pid)
        if not left:
            break
        time.sleep(0.1)
    assert not left


@pytest.mark.sweep(1 / 5)
@pytest.mark.parametrize(
    "name", ["the pack", "realpath", "past the view", "looks for the pack", "a neighbour's notebook"], ids=str
)
def test_what_a_cheat_takes_is_worth_all_points_where_nothing_is_closed(inbox, name):
    """So that no points in a cage say that it is closed, and not that the cheat is none."""
    keeper = Keeper(0, LIMITS, [], unprotected=True)
    keeper.choices = [Cage("python")]
    one = graded(keeper, inbox, f"cheat: {name}")
    keeper.close()
    assert (one.status, one.total) == ("graded", 16), one


def test_what_else_the_user_runs_takes_nothing_from_a_submission(room, inbox):
    """The kernel counts all processes and threads of a user against the limit of any."""
    others = [subprocess.Popen(["sleep", "60"]) for _ in range(LIMITS.processes + 8)]
    try:
        one = graded(room, inbox, "forks in a function")
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert (one.status, one.total) == ("graded", 16), one


def test_processes_and_threads_of_a_user_are_counted():
    if os.getuid() != 0:
        pytest.skip("needs root, who can be a user of whom nothing else runs")
    child = os.fork()
    if child == 0:
        counted = []
        os.setuid(64321)
        counted.append(limits.running())
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        counted.append(limits.running())
        sleeper = subprocess.Popen(["sleep", "30"])
        counted.append(limits.running())
        sleeper.kill()
        os._exit(0 if counted == [1, 2, 3] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_root_of_a_cage_covers_nothing_that_is_needed(monkeypatch, tmp_path):
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    for folder in (first, second):
        os.mkdir(folder)
    monkeypatch.setattr(namespaces, "ROOTS", (str(tmp_path / "none"), first, second))
    assert namespaces.root_for([places.Place("shown", f"{first}bc")]) == first
    assert namespaces.root_for([places.Place("shown", f"{first}/python")]) == second
    with pytest.raises(OSError, match="lies in each of"):
        namespaces.root_for([places.Place("shown", first), places.Place("shown", second)])


def descendants(pid):
    """The processes that descend from one, by pid."""
    children = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]


@pytest.mark.sweep(1 / 3)
@pytest.mark.parametrize("name", ["cannot be interrupted", "loop at the top", "leaves a daemon"])
def test_nothing_outlives_the_grader(inbox, tmp_path, name):
    """Killed while a submission runs, which has maybe left a process of its own behind."""
    (tmp_path / "inbox").mkdir()
    notebook = json.loads((inbox / "submissions" / f"{name}.ipynb").read_text(encoding="utf-8"))
    notebook["cells"] += cell("while True: pass")["cells"]  # what leaves a daemon goes on, too
    (tmp_path / "inbox" / "one.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    tool = course.ROOT / "tools" / "grade_submissions.py"
    places = (inbox / "teacher" / FIRST.name, tmp_path / "inbox", tmp_path / "out")
    command = [sys.executable, tool, *places, "--seconds", "60"]
    grader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if "1 to grade" not in grader.stdout.readline():
        pytest.skip(grader.communicate()[1])  # no cage of the kernel's
    for _ in range(600):
        below = descendants(grader.pid)
        if len(below) > 3:  # keeper, warden, and those in the cage
            break
        time.sleep(0.1)
    time.sleep(1)
    below = descendants(grader.pid)
    assert len(below) > 3
    assert grader.poll() is None
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    for _ in range(300):
        left = [pid for pid in below if _alive(pid)]
        if not left:
            return
        time.sleep(0.1)
    pytest.fail(f"outlive the grader: {left}")


def _alive(pid):
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    return False


def test_who_has_ended_is_no_longer_counted_as_running():
    """What a submission started and nobody waited for stays in the kernel's list."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    found = watch.family(os.getpid())
    os.waitpid(child, 0)
    assert child in found.members
    assert found.alive < len(found.members)


def test_memory_in_files_without_a_name_is_counted(keeper, inbox):
    """It belongs to no process: twenty with sixty files each could hold 19 GB that no limit of a process sees."""
    found = keeper_in(keeper[0].cage.kind, [], Limits(memory=400, seconds=5))
    answer = found.run(inbox / "submissions" / "memory without a name.ipynb", [], [], 120)
    found.close()
    assert answer["end"] in ("done", "memory")  # a step that is interrupted leaves nothing behind
    assert 200 < answer["megabytes"] <= (400 if answer["group"] else 800)  # who only looks now and then sees it late


@pytest.mark.whole
def test_the_wall_ends_what_no_other_limit_does(inbox):
    """Time in which a machine does other things is not counted, so that a limit in seconds alone ends nothing for certain."""
    found = Keeper(0, Limits(seconds=1000, total=1000, wall=4), [], unprotected=True)
    begin = time.monotonic()
    there = Submission("loop at the top", inbox / "submissions" / "loop at the top.ipynb")
    (one,) = grade.grade(Exam(FIRST, 7), [there], [found])
    assert time.monotonic() - begin < 60 + 4
    assert (one.status, one.notes[-1]) == ("incomplete", "stopped: took too long")
    found.close()


LEFT = """\
import os, time
def begins(seconds, code):
    pid = os.fork()
    if pid == 0:
        time.sleep(seconds)
        os._exit(code)
    return pid
child = begins(60, 1)"""
ORPHANED = """\
def lost():
    hears, says = os.pipe()
    parent = os.fork()
    if parent == 0:
        if os.fork() == 0:
            os.write(says, str(os.getpid()).encode())
            time.sleep(60)
        os._exit(0)
    os.waitpid(parent, 0)
    return int(os.read(hears, 20))
orphan = lost()"""
ENDED = """\
def ends(x):
    for _ in range(20):
        try:
            state = open(f"/proc/{orphan}/stat").read().rpartition(")")[2].split()[0]
        except OSError:
            return "gone"
        if state == "Z":
            return "gone"
        time.sleep(0.1)
    return state"""
STARTED = "gone = os.waitpid(begins(0.3, 7), 0)[1] >> 8"


def test_a_process_that_a_cell_leaves_ends_with_the_cell_and_one_that_a_cell_starts_does_not(keeper, tmp_path):
    """The second is started in the first moment of its cell, when the warden has perhaps not yet heard that it has begun."""
    found, _ = keeper
    seen = "def seen(x):\n    return gone"
    left = "def alive(x):\n    try: return os.waitpid(child, 0)[1] & 127\n    except ChildProcessError: return -1"
    notebook = tmp_path / "leaves.ipynb"
    cells = [cell(source)["cells"][0] for source in (LEFT, ORPHANED, STARTED, seen, left, ENDED)]
    notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    asked = [
        {"number": str(i), "name": name, "calls": [[runner.packed(1)]]} for i, name in enumerate(("seen", "alive", "ends"))
    ]
    said = list(heard(found.run(notebook, asked, [], 60)["said"]))
    answers = {message[1]: message[3] for message in said if message[0] == "result"}
    assert answers == {"0": {"plain": 7}, "1": {"plain": signal.SIGKILL}, "2": {"plain": "gone"}}
