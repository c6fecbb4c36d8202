"""Judges what came out of a submission: numbers against the reference, in a process where no submission ever ran."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnlib.course.exercises import Verdict
from classroom.master import Master
from classroom.question import ACCEPTED, Arguments, ByHand, Question
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
        right = self._right(question, found)
        points = sum(question.cases[name].points for name in right)
        if points == question.points:
            return Mark(question.number, points, question.points, "right.", right)
        told = self._told(question, found)
        message = f"not yet. {stopped}" if stopped else told.message
        return Mark(question.number, points, question.points, message, right, told.mistake)

    def _right(self, question: Question, found: Sequence[Any]) -> tuple[str, ...]:
        """The cases in which all of an answer is right."""
        right, start = list[str](), 0
        for name, inputs in self.inputs[question.number].items():
            if all(map(question.agrees, inputs, map(_tensor, found[start : start + len(inputs)]))):
                right.append(name)
            start += len(inputs)
        return tuple(right)

    def _told(self, question: Question, found: list[Any]) -> Verdict:
        """What to tell the author of an answer that is not right in all cases."""
        kinds = {tensor.dtype for tensor in map(_tensor, found) if tensor is not None}
        coarse = [kind for kind in kinds if kind.is_floating_point and kind not in ACCEPTED]
        if coarse:
            name = str(coarse[0]).removeprefix("torch.")
            return Verdict(
                False, f"not yet. It returns {name}, too coarse to tell right from wrong: return float64 or float32."
            )
        told = question.verdict(self.calls(question), _Replay(found))
        if told.right:  # by the tolerance of the exercises on pages, which follows the dtype
            return Verdict(
                False, "not yet. The numbers are nearly right: look for a step in a coarse dtype, or an approximation."
            )
        return told

    def answered(self, question: Question, function: Any) -> list[Any]:
        """What a function of a teacher's own returns, run here, as a submission would have said it."""
        answers = list[Any]()
        for arguments in self.calls(question):
            try:
                answers.append(packed(function(*(unpacked(packed(argument)) for argument in arguments))))
            except Exception as error:
                answers.append({"raised": f"{type(error).__name__}: {error}"})
        return answers

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
        """Tried in every dtype: none may turn a wrong answer into a right one, and those that are accepted lose nothing."""
        found, every = list[str](), tuple(question.cases)
        reference = self.answered(question, question.answer)
        exact = [_tensor(answer) for answer in reference]
        floating = all(tensor is not None and tensor.is_floating_point() for tensor in exact)
        for kind in FLOATS if floating else []:
            right = self._right(question, _cast(reference, kind))
            if right != (every if kind in ACCEPTED else ()):
                found.append(f"the reference in {kind} is right in {right}")
        if self._right(question, reference) != every:
            found.append(f"the reference is right in {self._right(question, reference)} only")
        for name, wrong in question.wrong.items():
            answers = self.answered(question, wrong.answer)
            mark = self.mark(question, dict(enumerate(answers)))
            if mark.right != wrong.right_in or mark.mistake != name or mark.points == question.points:
                found.append(f"{name!r} is right in {mark.right} and named {mark.mistake!r}: {mark.message}")
            for kind in FLOATS[1:]:
                right = self._right(question, _cast(answers, kind))
                if not set(right) <= set(wrong.right_in):
                    found.append(f"{name!r} in {kind} is right in {right}, too")
        for name, answers in _thoughtless(exact).items():
            if right := self._right(question, answers):
                found.append(f"{name} is right in {right}")
        return found


FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def _cast(answers: Sequence[Any], kind: torch.dtype) -> list[Any]:
    """What a submission would have said with its numbers in another dtype."""
    tensors = [_tensor(answer) for answer in answers]
    return [answer if t is None else packed(t.to(kind)) for answer, t in zip(answers, tensors, strict=True)]


def _thoughtless(exact: Sequence[Tensor | None]) -> dict[str, list[Any]]:
    """Answers that took no thought and are worth nothing: constants of the right shape; by three in a hundred too large."""
    shapes = [tensor for tensor in exact if tensor is not None]
    found: dict[str, list[Any]] = {"nothing": [packed(None) for _ in shapes]}
    for kind in FLOATS:
        for name, number in (("zero", 0.0), ("one", 1.0), ("infinity", math.inf), ("-infinity", -math.inf), ("NaN", math.nan)):
            found[f"{name} in {kind}"] = [packed(torch.full_like(t, number, dtype=kind)) for t in shapes]
        if all(tensor.is_floating_point() for tensor in shapes):
            found[f"1.03 times the reference in {kind}"] = [packed((1.03 * t).to(kind)) for t in shapes]
    return found


def _tensor(answer: object) -> Tensor | None:
    """The tensor that a submission returned; None where it did not return one that can be read."""
    try:
        found = _Replay([answer])()
    except Exception:
        return None
    return found if isinstance(found, Tensor) else None


class _Replay:
    """A function that returns, call by call, what a submission returned, or raises what it raised."""

    def __init__(self, answers: Sequence[Any]):
        self.answers = iter(answers)

    def __call__(self, *_: object) -> object:
        answer: object = next(self.answers)
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
