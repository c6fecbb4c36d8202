"""Grade what a class handed in to one assignment.

    python tools/grade_submissions.py PACK SUBMISSIONS OUT [--roster CSV] [--due TIME ...] [--resume] [--seed N]

PACK is a teacher's pack. SUBMISSIONS is a folder, or the zip of a platform, with a file, a folder or a zip for each student.
Writes to OUT: ``grades.csv``, a page of feedback for each student, a page for each open question, a digest for the next
lecture, tables for Canvas and Moodle, and ``run.json``, which says how it was graded. Points that you enter into ``grades.csv``
stay when you grade again; what has changed is printed and stands in ``changes.csv``. Ctrl-C stops; ``--resume`` goes on.
"""

import argparse
import hashlib
import json
import os
import secrets
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import course
from classroom import late, report, roster
from classroom.batch import LEDGER, Batch
from classroom.files import Private
from classroom.grade import grade
from classroom.hand_ins import collected
from classroom.judge import Exam
from classroom.keepers import Refused, keepers
from classroom.ledger import recorded
from classroom.limits import Limits, shortage
from classroom.master import Master
from classroom.writing import save

import attnlib

TRIES = 5
"""Inputs that are drawn anew, should those drawn be unable to tell a wrong answer from a right one."""
STOPPED, LINES = 130, 40
_left = list[object]()
"""What a run that was stopped leaves to the end of the process."""


def drawn(master: Master, seed: int | None) -> Exam:
    """An exam that tells right from wrong. Raises ValueError where it does not, with this seed or with several new ones."""
    for _ in range(TRIES):
        exam = Exam(master, secrets.randbelow(2**31) if seed is None else seed)
        wrong = exam.faults()
        if not wrong:
            return exam
    raise ValueError("\n".join(wrong))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, text in (("pack", "a teacher's pack"), ("submissions", "a folder or a zip"), ("out", "a folder to write to")):
        made.add_argument(name, type=Path, help=text)
    made.add_argument("--roster", type=Path, help="a CSV of who is in the class, as Canvas or Moodle export it, or your own")
    made.add_argument("--canvas", default="", help="what the assignment is called in Canvas' gradebook: 'TITLE (NUMBER)'")
    when = made.add_argument_group("late work")
    when.add_argument("--due", help="when it is due: 2026-12-01T23:59+01:00")
    when.add_argument("--grace", default="0m", help="how much later still costs nothing: 10m, 2h, 1d")
    when.add_argument("--late", default="", help="what each day, hour or week begun costs of the points reached: 10%%/day")
    when.add_argument("--late-most", default="100%", help="what lateness costs at most, of the points reached: 50%%")
    when.add_argument(
        "--times", choices=["platform", "files"], default="platform", help="files: believe the times of files too"
    )
    how = made.add_argument_group("how it is graded")
    how.add_argument(
        "--resume", action="store_true", help="go on with a run that was stopped; what has changed is graded again"
    )
    how.add_argument("--seed", type=int, help="of the hidden inputs; that of the last run into OUT, or a new one, unless given")
    how.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    how.add_argument("--seconds", type=float, default=Limits.seconds, help="of processor time for a statement or a question")
    how.add_argument("--memory", type=int, default=Limits.memory, help="megabytes that a submission may use")
    how.add_argument(
        "--unprotected",
        action="store_true",
        help="run what was handed in even where no cage of the kernel's works: on an account that holds nothing of value",
    )
    return made


def main(arguments: list[str]) -> int:
    command = parser()
    options = command.parse_args(arguments)
    if not (options.pack / "pack.json").is_file() or not options.submissions.exists():
        command.error(f"{options.pack} is to be a teacher's pack, {options.submissions} a folder or a zip of submissions")
    if not options.due and (options.late or options.grace != "0m"):
        command.error("--late and --grace need --due")
    try:
        return graded(options)
    except Refused as error:
        print(
            f"Nothing was run: no cage works here.\n{error}\nSee the book's page Classroom, or --unprotected.", file=sys.stderr
        )
        return 1
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What was graded is kept: the same command with --resume goes on.", file=sys.stderr)
        return STOPPED


def graded(options: argparse.Namespace) -> int:
    """Do it."""
    pack = json.loads((options.pack / "pack.json").read_text(encoding="utf-8"))
    rule = late.rule_from(options.due, options.grace, options.late, options.late_most) if options.due else None
    people = roster.read(options.roster) if options.roster else None
    options.out.mkdir(parents=True, exist_ok=True, mode=0o700)
    before, _ = recorded(options.out / LEDGER)
    if before and before["assignment"] != pack["assignment"]:
        raise ValueError(f"{options.out} holds {before['assignment']}: give another folder to write to")
    report.readable(options.out)
    master = Master.read(options.pack / "master.py", pack["assignment"])
    last = _last(options.out / "run.json")
    exam = drawn(master, before.get("seed") if options.seed is None else options.seed)
    about = {"assignment": master.name, "seed": exam.seed, "master": hashlib.sha256(master.text.encode()).hexdigest()}
    with ExitStack() as stack:
        private = Private(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hand-ins-"))))
        zone, believe = rule.due.tzinfo if rule else None, options.times == "files"
        there, said = collected(options.submissions, master.name, private, people, zone, believe)
        batch = Batch(exam, there, options.out, about, options.resume)
        say([*(people.troubles if people else []), *said])
        if batch.lost:
            print(f"A run that was stopped had graded {batch.lost}: it begins anew. With --resume it would go on.")
        run = _run(batch, options, private, stack)
        results = batch.close()
        run = {**about, "title": master.title, "late": rule.sentence if rule else "", **run}
        if not batch.to_run:  # how it was graded is what the last run says
            run |= {what: known for what, known in last.items() if what in ("cage", "seconds")}
        say(report.write(results, exam, options.out, about, rule=rule, roster=people, column=options.canvas))
    save(options.out / "run.json", json.dumps(run, indent=1) + "\n")
    print(f"Where to look: {options.out / 'grades.csv'}, {options.out / 'digest.html'} and {options.out / 'feedback'}")
    return 0


def _run(batch: Batch, options: argparse.Namespace, private: Private, stack: ExitStack) -> dict[str, Any]:
    """Run what there is to run; say how."""
    title, begin, cage = batch.exam.master.title, time.monotonic(), ""
    places = (options.pack, options.submissions, options.out, private.folder, course.ROOT, Path(attnlib.__file__).parent)
    limits = Limits(seconds=options.seconds, memory=options.memory)
    again = f", {batch.taken_up} graded before" if options.resume else ""
    if batch.to_run:
        workers = max(1, min(options.workers, len(batch.to_run)))
        closed = [str(place.resolve()) for place in places]
        every = stack.enter_context(keepers(workers, limits, closed, unprotected=options.unprotected))
        cage = str(every[0].cage)
        say([f"Not used: {why}" for why in every[0].refused])
        if warning := shortage(limits, workers, every[0].empty["megabytes"]):
            print(warning, flush=True)
        print(
            f"{title}: {len(batch.there)} rows, {len(batch.to_run)} to grade{again}, seed {batch.exam.seed}, {cage}", flush=True
        )
        try:
            batch.run(grade, every)
        except KeyboardInterrupt:
            _left.append(stack.pop_all())  # what runs is not waited for; the private folder goes now
            _empty(private.folder)
            raise
    else:
        print(f"{title}: {len(batch.there)} rows, nothing to grade{again}, seed {batch.exam.seed}", flush=True)
    return {"cage": cage, "graded": len(batch.to_run), "seconds": round(time.monotonic() - begin)}


def _last(path: Path) -> dict[str, Any]:
    """What the last run says of itself."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink(missing_ok=True)
    folder.rmdir()


def say(lines: list[str]) -> None:
    """Print lines, not too many."""
    for line in lines[:LINES]:
        print(line)
    if len(lines) > LINES:
        print(f"and {len(lines) - LINES} more")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    if code == STOPPED:  # threads that wait for what was ended would keep the process
        os._exit(code)
    sys.exit(code)
