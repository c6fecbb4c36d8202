"""Time the grading of a class: python tools/time_grading.py [ASSIGNMENT] [--students 100] [--workers 2]

Of a class three in five have solved everything, one in five has handed in the notebook as it came, and of the rest each has an
error in one answer. Printed is the time by the clock from the call of the grader to its last report, and the processor time of
all its processes. Whoever hands in a loop that never ends costs a limit on top, 20 seconds of one worker.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import build_assignments
from classroom import build
from classroom.master import Master

CELL = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "id": "last"}


def hand_ins(master: Master, students: int, folder: Path) -> None:
    """Write the notebooks of a class."""
    solved, empty = build.student(master, solved=True), build.student(master)
    names = [question.answer.__name__ for question in master.automatic]
    for number in range(students):
        kind = number % 5
        text = empty if kind == 3 else solved
        if kind == 4:
            name = names[number // 5 % len(names)]
            spoiled = json.loads(text)
            spoiled["cells"].append(CELL | {"source": f"def {name}(*_):\n    raise RuntimeError('not yet')"})
            text = json.dumps(spoiled)
        (folder / f"student {number:03}.ipynb").write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assignment", nargs="?", default="1", help="its number; default 1")
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    path = next(path for path in build_assignments.masters() if path.parent.name.split("-")[0] == options.assignment)
    master = Master.read(path)
    with tempfile.TemporaryDirectory() as there:
        inbox = Path(there) / "submissions"
        inbox.mkdir()
        hand_ins(master, options.students, inbox)
        _, pack = build.write(master, Path(there))
        tool = Path(__file__).with_name("grade_submissions.py")
        command = [sys.executable, tool, pack, inbox, Path(there) / "out", "--workers", str(options.workers)]
        begin, before = time.monotonic(), os.times()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wall, after = time.monotonic() - begin, os.times()
    print(done.stdout[-600:] + done.stderr[-600:])
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{options.students} hand-ins, {options.workers} workers: {wall:.1f} s; of all processors {spent:.1f} s")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
