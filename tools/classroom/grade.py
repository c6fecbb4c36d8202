"""Grades submissions: each in a cage, several at once, and whatever one of them does, all others are graded."""

import queue
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

from tqdm.auto import tqdm

from classroom.build import YOURS
from classroom.hand_ins import Submission
from classroom.judge import Exam, Mark, heard
from classroom.keepers import Keeper
from classroom.runner import ALL, REST, TOO_LONG

RUNS = 8
"""How many statements may have to be ended before only definitions are run."""
GRADED, INCOMPLETE, UNREADABLE, TOO_LARGE, FAILED = "graded", "incomplete", "unreadable", "too large", "failed"
ENDS = {
    "died": "ended Python",
    "time": TOO_LONG,
    "total": TOO_LONG,
    "wall": TOO_LONG,
    "memory": "took too much memory",
    "processes": "started too many processes",
    "output": "returned too much",
    "disk": "filled its home",
}


@dataclass
class Grade:
    """What became of a submission."""

    submission: Submission
    status: str
    marks: list[Mark]
    notes: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Points so far, without those that a teacher gives."""
        return sum(mark.points or 0 for mark in self.marks)


@dataclass
class _Record:
    """What is known of a submission after some runs."""

    results: dict[str, dict[int, Any]] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    skip: list[list[str]] = field(default_factory=list)
    written: list[tuple[str, str]] = field(default_factory=list)
    unreadable: str | None = None

    def take(self, said: str, numbers: Sequence[str]) -> None:
        """Take in what was said in one run."""
        failed = dict[str, str]()
        for message in heard(said):
            if message[0] == "result" and len(message) == 4 and message[1] in numbers and type(message[2]) is int:
                self.results.setdefault(message[1], {}).setdefault(message[2], message[3])
            elif message[0] == "failed" and len(message) == 4 and all(type(word) is str for word in message):
                self._failed(message[1], message[2], message[3], failed, numbers)
            elif message[0] == "written" and len(message) == 2 and isinstance(message[1], list):
                self.written = self.written or [tuple(one) for one in message[1] if _is_text(one)]
        self.notes |= {f"cell {name}": text for name, text in failed.items() if name.isdecimal()}

    def _failed(self, kind: str, name: str, text: str, failed: dict[str, str], numbers: Sequence[str]) -> None:
        text = text[:300]
        if kind == "file":
            self.unreadable = text
        elif kind == "question" and name in numbers:
            self.stopped[name], self.notes[f"question {name}"] = f"It {text}.", text
        else:
            failed.setdefault(name, text)

    def leave_out(self, step: list[str], end: str, numbers: Sequence[str]) -> bool:
        """Leave a step out of the next run; False where there is nothing to leave out.

        After some statements that had to be ended only definitions are run, and if that does not help, no cell at all.
        """
        kind, name = step
        if step in self.skip or kind not in ("cell", "question") or (kind == "question" and name not in numbers):
            return False
        if kind == "question":
            self.stopped[name] = f"It {ENDS[end]}."
        self.notes.setdefault(f"{kind} {name.partition('.')[0]}", ENDS[end])
        done = [["question", number] for number in self.results if ["question", number] not in self.skip]
        self.skip += [step, *(known for known in done if known != step)]
        ended = sum(left[0] == "cell" for left in self.skip)
        if kind == "cell" and (end == "total" or ended > RUNS):
            self.skip += [REST] if REST not in self.skip else [ALL] if ended > 2 * RUNS else []
        return True


def _is_text(one: object) -> bool:
    return isinstance(one, list) and len(one) == 2 and all(type(word) is str for word in one)


def graded(submission: Submission, exam: Exam, job: list[dict[str, Any]], keeper: Keeper) -> Grade:
    """Grade one submission: run it until all has been tried, each time without the step that had to be ended before."""
    record, numbers = _Record(), [question["number"] for question in job]
    until = time.monotonic() + keeper.limits.wall
    while True:
        answer = keeper.run(submission.path, job, record.skip, max(until - time.monotonic(), 1.0))
        if answer["end"] == "unopened":
            status = TOO_LARGE if answer["said"].endswith("MB") else UNREADABLE
            return Grade(submission, status, exam.marks({}, {}), [answer["said"]])
        record.take(answer["said"], numbers)
        if record.unreadable is not None:
            return Grade(submission, UNREADABLE, exam.marks({}, {}), [record.unreadable])
        if answer["end"] == "done":
            break
        over = time.monotonic() >= until
        if over or not record.leave_out(answer["step"], answer["end"], numbers):
            record.notes["stopped"] = ENDS["wall" if over else answer["end"]]
            break
    status = INCOMPLETE if record.notes else GRADED
    notes = [f"{where}: {what}" for where, what in record.notes.items()]
    marks = exam.marks(record.results, record.stopped)
    return Grade(submission, status, marks, notes, [_headed(*one) for one in record.written])


def _headed(text: str, number: str) -> str:
    """A text cell as a student wrote it; where its metadata say what it answers, with the heading that says so."""
    heading = YOURS.format(number).partition(" *")[0]
    return text if not number or text.startswith(heading) else f"{heading} {text}"


def grade(exam: Exam, there: Sequence[Submission], every: Sequence[Keeper]) -> Iterator[Grade]:
    """Grade submissions, one for each keeper at a time, with a bar. They come as they are ready."""
    free: queue.Queue[Keeper] = queue.Queue()
    for keeper in every:
        free.put(keeper)
    job = exam.job()

    def one(submission: Submission) -> Grade:
        keeper = free.get()
        try:
            return graded(submission, exam, job, keeper)
        except Exception as error:  # of the grader: this one is a teacher's to look at, all others go on
            text = f"the grader failed, look at this one by hand: {type(error).__name__}: {error}"
            return Grade(submission, FAILED, exam.marks({}, {}), [text[:300]])
        finally:
            free.put(keeper)

    with ThreadPoolExecutor(len(every)) as pool:
        running = [pool.submit(one, submission) for submission in there]
        for ready in tqdm(as_completed(running), total=len(running), desc="graded", unit="submission"):
            yield ready.result()
