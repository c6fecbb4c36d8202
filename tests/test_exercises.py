"""The checkers are checked: each accepts its reference, rejects every named wrong answer, and says which one it was."""

import pytest
import torch

from attnlib.exercises import check, exercises
from attnlib.exercises._check import PAGES, verdict

KNOWN = [(page, number) for page in PAGES for number in exercises(page)]
NAMED = [(page, number, name) for page, number in KNOWN for name in exercises(page)[number].mistakes]


@pytest.mark.parametrize(("page", "number"), KNOWN)
def test_reference_is_accepted(page, number):
    exercise = exercises(page)[number]
    assert verdict(exercise, exercise.reference) == "right."


@pytest.mark.parametrize(("page", "number", "name"), NAMED)
def test_wrong_answer_is_rejected_by_name(page, number, name):
    exercise = exercises(page)[number]
    mistake = exercise.mistakes[name]
    assert verdict(exercise, mistake.answer) == f"not yet. {mistake.message}"


@pytest.mark.parametrize(("page", "number"), KNOWN)
def test_every_exercise_names_at_least_two_mistakes_with_distinct_messages(page, number):
    messages = [m.message for m in exercises(page)[number].mistakes.values()]
    assert len(set(messages)) == len(messages) >= 2


@pytest.mark.parametrize(("page", "number"), KNOWN)
def test_a_stub_an_error_and_a_wrong_shape_get_an_answer(page, number):
    exercise = exercises(page)[number]

    def broken(*arguments):
        raise RuntimeError("my bug")

    assert "replace the dots" in verdict(exercise, lambda *a: None)
    assert "replace the dots" in verdict(exercise, lambda *a: ...)
    assert "RuntimeError: my bug" in verdict(exercise, broken)
    assert "was expected" in verdict(exercise, lambda *a: torch.zeros(2, 3, 5, 7))
    assert "a tensor was expected" in verdict(exercise, lambda *a: 1.0)
    assert "largest deviation" in verdict(exercise, lambda *a: exercise.reference(*a) + 0.1)
    assert "not yet" in verdict(exercise, lambda *a: exercise.reference(*a).isnan())


def test_an_answer_cannot_spoil_the_inputs():
    exercise = exercises("3b")["1"]

    def greedy(state, memory, beta):
        answer = exercise.reference(state, memory, beta)
        state.zero_()
        return answer

    assert verdict(exercise, greedy) == "right."


def test_check_prints_one_line(capsys):
    check("3b.1", exercises("3b")["1"].reference)
    assert capsys.readouterr().out == "exercise 3b.1: right.\n"


@pytest.mark.parametrize("id", ["3b.99", "99.1", "3b"])
def test_unknown_exercise(id):
    with pytest.raises(ValueError, match="expected one of"):
        check(id, lambda: None)
