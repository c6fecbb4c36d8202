"""Build the student's notebook and the teacher's pack of each assignment.

    python tools/build_assignments.py [--to FOLDER] [NAME ...]

Reads ``assignments/NAME/master.py``; writes ``_build/assignments/student/NAME.ipynb`` and ``_build/assignments/teacher/NAME``.
"""

import argparse
import sys
from pathlib import Path

import course
from classroom import build
from classroom.judge import Exam
from classroom.master import Master


def masters(root: Path = course.ROOT) -> list[Path]:
    return sorted((root / "assignments").glob("*/master.py"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=course.ROOT / "_build" / "assignments")
    parser.add_argument("name", nargs="*", help="all unless some are named")
    options = parser.parse_args(arguments)
    wrong = []
    for path in masters():
        if options.name and path.parent.name not in options.name:
            continue
        master = Master.read(path)
        try:
            notebook, pack = build.write(master, options.to)
        except ValueError as error:
            wrong.append(str(error))
            continue
        wrong += Exam(master, seed=0).faults()
        print(f"{master.title}\n  for students: {notebook}\n  for teachers: {pack}")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
