"""Grade a folder of submissions to one assignment.

    python tools/grade_submissions.py PACK SUBMISSIONS OUT [--seed N] [--workers N]

PACK is a teacher's pack, SUBMISSIONS a folder with NAME.ipynb or NAME/ANY.ipynb for each student. Writes to OUT:
``grades.csv``, a page of feedback for each student, what everyone wrote to the open questions, and ``run.json``, which says
how it was graded.
"""

import argparse
import json
import os
import secrets
import sys
import time
from pathlib import Path

import course
from classroom import report
from classroom.cage import Limits
from classroom.grade import grade, keepers, submissions
from classroom.judge import Exam
from classroom.master import Master

TRIES = 5
"""Inputs that are drawn anew, should those drawn be unable to tell a wrong answer from a right one."""


def drawn(master: Master, seed: int | None) -> Exam:
    """An exam that tells right from wrong. Raises ValueError where it does not, with this seed or with several new ones."""
    for _ in range(TRIES):
        exam = Exam(master, secrets.randbelow(2**31) if seed is None else seed)
        wrong = exam.faults()
        if not wrong:
            return exam
    raise ValueError("\n".join(wrong))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("pack", "submissions", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seed", type=int, help="of the hidden inputs; a new one unless given")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="of processor time for a cell or a question")
    options = parser.parse_args(arguments)
    if not (options.pack / "pack.json").is_file() or not options.submissions.is_dir():
        parser.error(f"{options.pack} is to be a teacher's pack, {options.submissions} a folder of submissions")
    about = json.loads((options.pack / "pack.json").read_text(encoding="utf-8"))
    try:
        exam = drawn(Master.read(options.pack / "master.py", about["assignment"]), options.seed)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    there = submissions(options.submissions, about["assignment"])
    options.out.mkdir(parents=True, exist_ok=True, mode=0o700)
    closed = [str(place.resolve()) for place in (options.pack, options.submissions, options.out, course.ROOT / "assignments")]
    limits = Limits(seconds=options.seconds)
    begin = time.monotonic()
    with keepers(max(1, min(options.workers, len(there))), limits, closed) as every:
        cage = every[0].cage
        print(f"{about['title']}: {len(there)} submissions, seed {exam.seed}, {cage}", flush=True)
        grades = list(grade(exam, there, every))
    report.write(grades, exam, options.out)
    run = {"assignment": about["assignment"], "seed": exam.seed, "cage": str(cage), "seconds": round(time.monotonic() - begin)}
    (options.out / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    print(f"Where to look: {options.out / 'grades.csv'} and {options.out / 'feedback'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
