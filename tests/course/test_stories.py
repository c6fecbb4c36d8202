"""The stories: a solver that reads their words, and knows nothing of how they were made, finds the answers and the support."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course.data.stories import VOCABULARY, WORDS, animal_stories, journey_stories

ANIMALS = {"badger", "beaver", "falcon", "hare", "heron", "mole"}


def drawn(seed):
    return torch.Generator().manual_seed(seed)


def sentences(facts):
    return [[VOCABULARY[number] for number in fact if number] for fact in facts.tolist()]


def colour_of(person, facts):
    """Every colour that follows for a person, each with the facts it follows from, by reading the sentences."""
    found = []
    for i, first in enumerate(facts):
        if first[0] != person:
            continue
        if len(first) == 3:  # Ben is grey
            found.append((first[2], [i]))
            continue
        animal = first[3]  # Ada is a heron
        for j, second in enumerate(facts):
            if second[:2] == [animal + "s", "are"]:
                found.append((second[2], [i, j]))
            if second[0] != person and second[1:] == ["is", "a", animal]:
                found += [(third[2], [i, j, k]) for k, third in enumerate(facts) if third[0] == second[0] and len(third) == 3]
    return min(found, key=lambda reason: len(reason[1])), found


@given(st.sampled_from([None, 1, 2, 3]), st.integers(0, 6), st.integers(0, 10**6))
def test_animal_stories_are_solved_by_reading(depth, others, seed):
    stories = animal_stories(5, depth=depth, others=others, generator=drawn(seed))
    assert stories.facts.shape == (5, 10 + others, WORDS)
    for i in range(5):
        facts, question = sentences(stories.facts[i]), sentences(stories.question[i : i + 1])[0]
        assert question[:3] == ["what", "colour", "is"]
        assert len({tuple(fact) for fact in facts}) == 10 + others
        (colour, support), _ = colour_of(question[3], facts)
        assert colour == VOCABULARY[stories.answer[i]]
        assert len(support) == stories.depth[i] == (depth or len(support))
        assert stories.support[i].tolist() == support + [-1] * (3 - len(support))
        colours = [fact[-1] for fact in facts if fact[-1] not in ANIMALS]
        assert len(set(colours)) == 4 + others
        for lone in {fact[0] for fact in facts if fact[1] == "is"}:  # nobody has two colours
            assert len({reason[0] for reason in colour_of(lone, facts)[1]}) == 1


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 10**6))
def test_journey_stories_are_solved_by_reading(people, moves, seed):
    stories = journey_stories(5, people=people, moves=moves, generator=drawn(seed))
    assert stories.facts.shape == (5, people * moves, WORDS)
    for i in range(5):
        facts, question = sentences(stories.facts[i]), sentences(stories.question[i : i + 1])[0]
        assert (question[0], question[1], question[3]) == ("where", "is", "now")
        mine = [j for j, fact in enumerate(facts) if fact[0] == question[2]]
        assert len(mine) == len({facts[j][3] for j in mine}) == moves
        assert stories.support[i].tolist() == [mine[-1], -1, -1]
        assert facts[mine[-1]][3] == VOCABULARY[stories.answer[i]]
        assert all(fact[1:3] == ["entered", "the"] for fact in facts)


def test_depths_and_places_are_evenly_spread():
    stories = animal_stories(6000, generator=drawn(0))
    share = torch.bincount(stories.depth, minlength=4)[1:] / 6000
    torch.testing.assert_close(share, torch.full((3,), 1 / 3), atol=0.03, rtol=0)
    for hop in range(3):
        places = stories.support[stories.support[:, hop] >= 0, hop]
        torch.testing.assert_close(torch.bincount(places) / len(places), torch.full((10,), 0.1), atol=0.03, rtol=0)
    answers = torch.bincount(stories.answer)
    answers = answers[answers > 0] / 6000
    torch.testing.assert_close(answers, torch.full((10,), 0.1), atol=0.03, rtol=0)


@pytest.mark.parametrize("make", [animal_stories, journey_stories])
def test_the_generator_decides(make):
    first, again, other = (make(20, generator=drawn(seed)) for seed in (3, 3, 4))
    for name in ("facts", "question", "answer", "support", "depth"):
        assert torch.equal(getattr(first, name), getattr(again, name))
    assert not torch.equal(first.facts, other.facts)
    assert len(first) == 20
    assert len(make(2)) == 2


def test_a_story_is_told():
    told = animal_stories(3, depth=2, generator=drawn(0)).tell(1).splitlines()
    assert len(told) == 11
    assert told[0].startswith("0. ")
    assert told[-1].startswith("What colour is ")
    first, second = told[-1].split("(from ")[1].rstrip(")").split(", ")
    name = told[-1].split()[3].rstrip("?")
    assert f" {name} is a " in told[int(first)]
    assert " are " in told[int(second)]


def test_words_are_distinct():
    assert len(set(VOCABULARY)) == len(VOCABULARY)
    assert VOCABULARY[0] == ""


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: animal_stories(0), "count is 0; expected an integer of at least 1"),
        (lambda: animal_stories(2.0), "count is 2.0; expected an integer"),
        (lambda: animal_stories(2, depth=4), "depth is 4; expected one of None, 1, 2, 3"),
        (lambda: animal_stories(2, others=-1), "others is -1; expected an integer of at least 0"),
        (lambda: animal_stories(2, others=7), "others is 7; expected at most 6"),
        (lambda: journey_stories(0), "count is 0; expected an integer of at least 1"),
        (lambda: journey_stories(2, people=13), "people is 13; expected at most 12"),
        (lambda: journey_stories(2, people=0), "people is 0; expected an integer of at least 1"),
        (lambda: journey_stories(2, moves=7), "moves is 7; expected at most 6"),
        (lambda: journey_stories(2).tell(2), "story is 2; expected 0 <= story < 2"),
        (lambda: journey_stories(2).tell(-1), "story is -1; expected"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
