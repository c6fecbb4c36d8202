"""Grades a folder of submissions: each in a cage, several at once, and whatever one of them does, all others are graded."""

import json
import os
import queue
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from classroom.cage import Cage, Limits, cages
from classroom.hand_ins import Submission
from classroom.judge import Exam, Mark, heard

RUNS = 4
"""How often a submission is run: each time without the step that came to a bad end before."""
GRADED, INCOMPLETE, UNREADABLE, TOO_LARGE, FAILED = "graded", "incomplete", "unreadable", "too large", "failed"
ENDS = {
    "died": "ended Python",
    "time": "took too long",
    "total": "took too long",
    "memory": "took too much memory",
    "processes": "started too many processes",
    "output": "returned too much",
}
_TOOLS = str(Path(__file__).resolve().parent.parent)
_KEEPER = """\
import sys
sys.path.insert(0, sys.argv[1])
from classroom.keeper import main
sys.path.remove(sys.argv[1])
import matplotlib.pyplot
main(sys.stdin.buffer, sys.stdout.buffer)"""


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


class Keeper:
    """A keeper, started when it is first needed, and again should it be lost. Submissions see nothing of ``closed`` folders."""

    def __init__(self, number: int, limits: Limits, closed: Sequence[str]):
        self.limits = limits
        self.choices = cages(tuple(closed), number)
        self.program: subprocess.Popen[bytes] | None = None

    def _start(self) -> subprocess.Popen[bytes]:
        plain = {"LANG": "C.UTF-8", "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        places = {"PATH": f"{sys.prefix}/bin:/usr/bin:/bin", "MPLCONFIGDIR": f"{tempfile.gettempdir()}/classroom-{os.getuid()}"}
        command = [sys.executable, "-I", "-c", _KEEPER, _TOOLS]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(command, env=plain | places, start_new_session=True, **pipes)

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """What the keeper answers to a job. Raises OSError or ValueError where it is lost."""
        self.program = self.program or self._start()
        assert self.program.stdin
        assert self.program.stdout
        try:
            self.program.stdin.write(json.dumps({**job, "limits": asdict(self.limits)}).encode() + b"\n")
            self.program.stdin.flush()
            return json.loads(self.program.stdout.readline())
        except (OSError, ValueError):
            self.close()
            raise

    def run(self, path: Path, questions: list[dict[str, Any]], skip: list[list[str]]) -> dict[str, Any]:
        """Run a submission once."""
        job = {"notebook": str(path), "questions": questions, "skip": skip, "cage": asdict(self.cage)}
        return self.ask(job)

    @property
    def cage(self) -> Cage:
        """The strongest cage that works here, found by trying."""
        while len(self.choices) > 1 and not self._works(self.choices[0]):
            self.choices.pop(0)
        self.choices = self.choices[:1]
        return self.choices[0]

    def _works(self, cage: Cage) -> bool:
        source = "import wave, torch\ndef probe(x):\n    open('here', 'w').close()\n    return x"
        notebook = {"cells": [{"cell_type": "code", "source": source}]}
        question = {"number": "1", "name": "probe", "calls": [[{"plain": 1}]]}
        with tempfile.NamedTemporaryFile("w", suffix=".ipynb") as file:
            json.dump(notebook, file)
            file.flush()
            job = {"notebook": file.name, "questions": [question], "skip": [], "cage": asdict(cage)}
            answer = self.ask(job)
        return answer["end"] == "done" and ["result", "1", 0, {"plain": 1}] in heard(answer["said"])

    def close(self) -> None:
        """End it."""
        if self.program:
            with suppress(OSError):
                self.program.kill()
            self.program.wait()
            for stream in (self.program.stdin, self.program.stdout):
                with suppress(OSError):
                    stream and stream.close()
            self.program = None


@dataclass
class _Record:
    """What is known of a submission after some runs."""

    results: dict[str, dict[int, Any]] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    skip: list[list[str]] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    unreadable: str | None = None

    def take(self, said: str, numbers: Sequence[str]) -> None:
        """Take in what was said in one run."""
        failed = dict[str, str]()
        for message in heard(said):
            if message[0] == "result" and len(message) == 4 and message[1] in numbers and type(message[2]) is int:
                self.results.setdefault(message[1], {}).setdefault(message[2], message[3])
            elif message[0] == "failed" and len(message) == 4 and all(type(word) is str for word in message):
                failed[message[2]] = message[3][:300]
                if message[1] == "file":
                    self.unreadable = message[3][:300]
            elif message[0] == "written" and len(message) == 2 and isinstance(message[1], list):
                self.written = self.written or [text for text in message[1] if isinstance(text, str)]
        self.notes |= {f"cell {name}": text for name, text in failed.items() if name.isdecimal()}

    def leave_out(self, step: list[str], why: str, numbers: Sequence[str]) -> bool:
        """Leave a step out of the next run; False where there is nothing to leave out."""
        if step in self.skip or step[0] not in ("cell", "question"):
            return False
        if step[0] == "question" and step[1] in numbers:
            self.stopped[step[1]] = f"It {why}."
        self.notes[" ".join(step)] = why
        done = [["question", number] for number in self.results if ["question", number] not in self.skip]
        self.skip += [step, *(known for known in done if known != step)]
        return True


def graded(submission: Submission, exam: Exam, job: list[dict[str, Any]], keeper: Keeper) -> Grade:
    """Grade one submission."""
    record, numbers = _Record(), [question["number"] for question in job]
    for _ in range(RUNS):
        answer = keeper.run(submission.path, job, record.skip)
        if answer["end"] == "unopened":
            status = TOO_LARGE if answer["said"].endswith("MB") else UNREADABLE
            return Grade(submission, status, exam.marks({}, {}), [answer["said"]])
        record.take(answer["said"], numbers)
        if record.unreadable is not None:
            return Grade(submission, UNREADABLE, exam.marks({}, {}), [record.unreadable])
        if answer["end"] == "done":
            break
        if not record.leave_out(answer["step"], ENDS[answer["end"]], numbers):
            record.notes["stopped"] = ENDS[answer["end"]]
            break
    else:
        record.notes["stopped"] = f"after {RUNS} runs"
    status = INCOMPLETE if record.notes else GRADED
    notes = [f"{where}: {what}" for where, what in record.notes.items()]
    return Grade(submission, status, exam.marks(record.results, record.stopped), notes, record.written)


@contextmanager
def keepers(workers: int, limits: Limits, closed: Sequence[str]) -> Iterator[list[Keeper]]:
    """Keepers, who have agreed on a cage. They are ended in the end."""
    every = [Keeper(number, limits, closed) for number in range(workers)]
    try:
        cage = every[0].cage
        for keeper in every[1:]:
            keeper.choices = [choice for choice in keeper.choices if str(choice) == str(cage)]
        yield every
    finally:
        for keeper in every:
            keeper.close()


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
