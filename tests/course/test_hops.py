"""Hops along permutations: the arithmetic of wrong pairs and of guesses, against all permutations and against cycle types."""

import itertools
import math

import pytest
import torch

from attnlib.course.data.hops import HopQuestions, hop_questions, informed_guess, wrong_hops_score


def walked(image, place, hops):
    for _ in range(hops):
        place = image[place]
    return place


@pytest.mark.parametrize("places", [4, 6])
def test_wrong_pairs_score_what_all_permutations_say(places):
    every = list(itertools.permutations(range(places)))
    for hops, other in itertools.product(range(5), repeat=2):
        found = sum(walked(image, 0, hops) == walked(image, 0, other) for image in every) / len(every)
        assert wrong_hops_score(hops, other, places) == pytest.approx(found, abs=1e-12)


def cycle_types(n, largest=None):
    """All partitions of n, as lists of cycle lengths."""
    if not n:
        yield []
    for length in range(min(n, largest or n), 0, -1):
        for rest in cycle_types(n - length, length):
            yield [length, *rest]


@pytest.mark.parametrize("apart", [1, 2, 3, 4])
def test_wrong_pairs_score_what_the_cycle_types_of_eight_say(apart):
    """A type with c_l cycles of length l has 8! / prod l^c_l c_l! permutations; a place is on a cycle in proportion to l."""
    score = 0.0
    for lengths in cycle_types(8):
        count = {length: lengths.count(length) for length in set(lengths)}
        chance = 1 / math.prod(length**c * math.factorial(c) for length, c in count.items())
        score += chance * sum(length for length in lengths if apart % length == 0) / 8
    assert wrong_hops_score(2, 2 + apart) == pytest.approx(score, abs=1e-12)


def test_questions_are_answered_by_walking():
    asked = hop_questions(200, generator=torch.Generator().manual_seed(0))
    for hops in range(4):
        expected = [walked(image, start, hops) for image, start in zip(asked.image.tolist(), asked.start.tolist(), strict=True)]
        assert asked.answer(hops).tolist() == expected


def test_what_is_drawn_agrees_with_the_arithmetic():
    asked = hop_questions(40_000, generator=torch.Generator().manual_seed(1))
    for apart in (1, 2, 3):
        found = (asked.answer(1) == asked.answer(1 + apart)).double().mean().item()
        expected = wrong_hops_score(1, 1 + apart)
        assert found == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 40_000) ** 0.5)


@pytest.mark.parametrize("places", [5, 6])
def test_guesses_by_hand(places):
    """Who knows f(q) for two hops: right on fixed points, else a guess among all others; with the inverse also on pairs."""
    assert informed_guess(2, ahead=1, places=places) == pytest.approx(1 / places + (places - 1) / places / (places - 1))
    both = 2 / places + (places - 2) / places / (places - 2)
    assert informed_guess(2, ahead=1, back=1, places=places) == pytest.approx(both)
    assert informed_guess(2, ahead=2, places=places) == 1.0
    constant = wrong_hops_score(2, 0, places)
    assert informed_guess(2, ahead=0, places=places) == pytest.approx(max(constant, 1 / places))


@pytest.mark.slow
def test_the_guesses_of_page_7c_are_these():
    assert [informed_guess(2, ahead=1, back=back, places=8) for back in (0, 1)] == [0.25, 0.375]
    assert [informed_guess(3, ahead=a, back=b, places=8) for a, b in ((1, 1), (2, 0), (2, 2))] == [0.375, 0.375, 0.625]


def test_counts_are_checked():
    for call in (lambda: hop_questions(0), lambda: wrong_hops_score(-1, 0), lambda: informed_guess(1, places=9)):
        with pytest.raises(ValueError, match="expected an integer of at least"):
            call()
    with pytest.raises(ValueError, match=r"^hops is "):
        HopQuestions(torch.tensor([[0]]), torch.tensor([0])).answer(-1)
