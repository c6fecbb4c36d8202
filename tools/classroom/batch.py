"""A run over a class: what was graded before is taken up, each result is written down as it comes, and it can be stopped."""

import queue
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from classroom.grade import Grade
from classroom.hand_ins import Submission
from classroom.judge import Exam
from classroom.keepers import Keeper
from classroom.ledger import Ledger, Result, digest, known, not_run, recorded, result

LEDGER = "ledger.jsonl"
Grading = Callable[[Exam, Sequence[Submission], Sequence[Keeper]], Iterator[Grade]]


class Batch:
    """The submissions to one assignment, and what is known of them.

    Args:
        exam: the exam.
        there: what was handed in.
        folder: where the ledger is.
        about: which assignment, which inputs.
        resume: whether what the ledger holds is taken up. What has changed since is graded again.

    Raises:
        ValueError: where the ledger to take up is that of another assignment.
    """

    def __init__(self, exam: Exam, there: Sequence[Submission], folder: Path, about: Mapping[str, Any], resume: bool):
        self.exam, self.there = exam, there
        path = folder / LEDGER
        before, lines = recorded(path)
        if resume and any(before.get(what) != about[what] for what in ("assignment", "master", "seed")):
            raise ValueError(f"{path} is not a run of this assignment with these inputs: grade without --resume")
        self.results = {one.key: one for one in (not_run(submission, exam) for submission in there if submission.status)}
        if resume:
            self.results |= known(lines, there)
        elif lines:
            _keep(path)
        self.to_run = [one for one in there if (one.key or one.student) not in self.results]
        self.taken_up = len(there) - len(self.to_run) - sum(bool(one.status) for one in there)
        self.lost = 0 if resume or before.get("done", True) else len(lines)
        self.contents = {one.key or one.student: digest(one.path) for one in self.to_run}
        self.ledger = Ledger(path, about, [self.results[key] for key in self.results])

    def run(self, grading: Grading, every: Sequence[Keeper]) -> None:
        """Grade what there is to grade. Ctrl-C is not kept waiting by what runs: the keepers are ended, the rest is left."""
        ready: queue.SimpleQueue[Grade | BaseException | None] = queue.SimpleQueue()

        def work() -> None:
            try:
                for found in grading(self.exam, self.to_run, every):
                    ready.put(found)
                ready.put(None)
            except BaseException as error:  # it is raised again where the run is
                ready.put(error)

        threading.Thread(target=work, daemon=True).start()
        with interrupted_by(lambda: ready.put(KeyboardInterrupt())):  # in its turn, so that what is ready is kept
            while (found := ready.get()) is not None:
                if isinstance(found, KeyboardInterrupt):
                    end(every)
                if isinstance(found, BaseException):
                    raise found
                self.take(found)

    def take(self, grade: Grade) -> None:
        """Keep a grade."""
        key = grade.submission.key or grade.submission.student
        self.results[key] = result(grade, self.exam, self.contents.get(key, ""))
        self.ledger.write(self.results[key])

    def close(self) -> list[Result]:
        """The results in the order of what was handed in, when all is done."""
        self.ledger.close()
        return [self.results[one.key or one.student] for one in self.there]


@contextmanager
def interrupted_by(stop: Callable[[], object]) -> Iterator[None]:
    """Let Ctrl-C, and a request to end, call that. In another thread than the main one nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {sign: signal.signal(sign, lambda *_: stop()) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def end(every: Sequence[Keeper], seconds: float = 1.0) -> None:
    """End keepers, now, and let nobody start one again. Who does not end in time is left to end with this process."""

    def stopped(*_: object) -> Any:
        raise OSError("stopped")

    def close(keeper: Keeper) -> None:
        keeper.close()

    threads = [threading.Thread(target=close, args=(keeper,), daemon=True) for keeper in every]
    for keeper, thread in zip(every, threads, strict=True):
        setattr(keeper, "ask", stopped)  # noqa: B010 - of this one object
        if keeper.program:
            keeper.program.kill()
        thread.start()
    for thread in threads:
        thread.join(seconds / max(1, len(threads)))


def _keep(path: Path) -> None:
    """Keep the ledger of an earlier run."""
    earlier = path.parent / "earlier"
    earlier.mkdir(exist_ok=True, mode=0o700)
    shutil.copyfile(path, earlier / f"ledger-{len(list(earlier.glob('ledger-*'))) + 1}.jsonl")
