"""Judges what came out of a submission: numbers against the reference, in a process where no submission ever ran."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnlib.course.exercises import Verdict
from classroom.master import Master
from classroom.question import Arguments, ByHand, Question
from classroom.runner import packed, unpacked

Messages = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Mark:
    """What a question is worth: points, None where a teacher gives them, a sentence, and the cases that were right."""

    number: str
    points: int | None
    of: int
    message: str = ""
    right: tuple[str, ...] = ()
    mistake: str | None = None


@dataclass
class Exam:
    """A master with inputs drawn from a seed."""

    master: Master
    seed: int
    inputs: dict[str, dict[str, list[Arguments]]] = field(init=False)

    def __post_init__(self) -> None:
        self.inputs = {question.number: question.drawn(self.seed) for question in self.master.automatic}

    def calls(self, question: Question) -> list[Arguments]:
        """All calls of a question, case after case."""
        return [arguments for case in self.inputs[question.number].values() for arguments in case]

    def job(self) -> list[dict[str, Any]]:
        """What a submission is asked: names of functions, and inputs."""
        return [
            {
                "number": question.number,
                "name": question.answer.__name__,
                "calls": [[packed(argument) for argument in arguments] for arguments in self.calls(question)],
            }
            for question in self.master.automatic
        ]

    def marks(self, results: Mapping[str, Mapping[int, Any]], stopped: Mapping[str, str]) -> list[Mark]:
        """The marks for what a submission's functions returned, by question and call."""
        return [
            Mark(question.number, None, question.points, "Your teacher reads this one.")
            if isinstance(question, ByHand)
            else self.mark(question, results.get(question.number, {}), stopped.get(question.number, ""))
            for question in self.master.questions
        ]

    def mark(self, question: Question, answers: Mapping[int, Any], stopped: str = "") -> Mark:
        """The mark for one question."""
        calls = self.calls(question)
        first = answers.get(0, {})
        if isinstance(first, dict) and "missing" in first:
            name = question.answer.__name__
            return Mark(question.number, 0, question.points, f"not yet. There is no function named {name} in the notebook.")
        if stopped and not answers:
            return Mark(question.number, 0, question.points, f"not yet. {stopped}")
        found = [answers.get(place) for place in range(len(calls))]
        right, start = list[str](), 0
        for name, inputs in self.inputs[question.number].items():
            if question.verdict(inputs, _Replay(found[start : start + len(inputs)])).right:
                right.append(name)
            start += len(inputs)
        points = sum(question.cases[name].points for name in right)
        all_of_it = self._explained(question, found)
        message = f"not yet. {stopped}" if stopped else all_of_it.message
        if points == question.points and not stopped:
            message = "right."
        return Mark(question.number, points, question.points, message, tuple(right), all_of_it.mistake)

    def _explained(self, question: Question, found: list[Any]) -> Verdict:
        return question.verdict(self.calls(question), _Replay(found), tuple(question.wrong))

    def mark_of(self, question: Question, function: Any) -> Mark:
        """The mark for a function of a teacher's own, run here: a reference, a wrong answer."""
        answers = dict[int, Any]()
        for place, arguments in enumerate(self.calls(question)):
            try:
                answers[place] = packed(function(*(unpacked(packed(argument)) for argument in arguments)))
            except Exception as error:
                answers[place] = {"raised": f"{type(error).__name__}: {error}"}
        return self.mark(question, answers)

    def faults(self) -> list[str]:
        """What is wrong with the questions on these inputs: a reference without all points, a wrong answer with too many."""
        found = list[str]()
        for question in self.master.automatic:
            try:
                faults = self._faults_of(question)
            except ValueError as error:  # an exercise that cannot tell right from wrong
                faults = [str(error)]
            found += [f"{self.master.name}, question {question.number}: {fault}" for fault in faults]
        return found

    def _faults_of(self, question: Question) -> list[str]:
        found = list[str]()
        mark = self.mark_of(question, question.answer)
        if mark.points != question.points:
            found.append(f"the reference gets {mark.points} of {question.points}: {mark.message}")
        for name, wrong in question.wrong.items():
            mark = self.mark_of(question, wrong.answer)
            if mark.right != wrong.right_in or mark.mistake != name or mark.points == question.points:
                found.append(f"{name!r} is right in {mark.right} and named {mark.mistake!r}: {mark.message}")
        if self.mark_of(question, lambda *_: None).points:
            found.append("nothing gets points")
        return found


class _Replay:
    """A function that returns, call by call, what a submission returned, or raises what it raised."""

    def __init__(self, answers: Sequence[Any]):
        self.answers = iter(answers)

    def __call__(self, *_: object) -> object:
        answer = next(self.answers)
        if not isinstance(answer, dict):
            raise _kind("NoAnswer")("it did not come to an end")
        if "raised" in answer:
            name, _, text = str(answer["raised"]).partition(": ")
            raise _kind(name)(text)
        if "other" in answer:
            return _kind(str(answer["other"]))()
        try:
            return unpacked(answer)
        except (KeyError, TypeError, ValueError, RuntimeError, OverflowError):
            raise _kind("NoAnswer")("what it returned cannot be read") from None


def _kind(name: str) -> type[Exception]:
    """A type with the name of the submission's."""
    return type("".join(filter(str.isprintable, name))[:60] or "Error", (Exception,), {})


def heard(said: str) -> list[list[Any]]:
    """The messages in what a submission said; what is none is passed over."""
    found = list[list[Any]]()
    for line in said.split("\n"):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, list) and message and isinstance(message[0], str):
            found.append(message)
    return found
