"""Little stories made up by rule, so that the facts an answer rests on are known (chapter 2).

Two kinds. In a story about *animals* the answer lies one, two or three facts deep; the order of the facts means nothing. In a
story about *journeys* every person goes to several places, and only the order of the facts tells where they are now.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attnlib._core.checks import check_choice, check_count

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jana", "Kim", "Leo")
ANIMALS = ("badger", "beaver", "falcon", "hare", "heron", "mole")
COLOURS = ("black", "blue", "brown", "golden", "green", "grey", "pink", "red", "white", "yellow")
PLACES = ("attic", "cellar", "garden", "kitchen", "library", "workshop")
KINDS = tuple(f"{animal}s" for animal in ANIMALS)

VOCABULARY = (
    *("", "is", "are", "a", "what", "colour", "where", "now", "entered", "the"),
    *(NAMES + ANIMALS + KINDS + COLOURS + PLACES),
)
"""Every word of every story; a word's number is its place here. Number 0 fills up short sentences."""

WORDS = 4
"""Words in a sentence, filled up with number 0."""

_NUMBER = {word: number for number, word in enumerate(VOCABULARY)}


@dataclass(frozen=True)
class Stories:
    """Stories as numbers of words, with what is known about them.

    Shapes: ``facts [stories, m, 4]``, ``question [stories, 4]``, ``answer [stories]``. ``support [stories, 3]`` holds the
    places of the facts that the answer rests on, in the order in which one needs them, filled up with -1; ``depth [stories]``
    is their number.

    >>> stories = journey_stories(2, people=1, moves=2)
    >>> len(stories), stories.facts.shape, stories.depth
    (2, torch.Size([2, 2, 4]), tensor([1, 1]))
    """

    facts: Int[Tensor, "stories m words"]
    question: Int[Tensor, "stories words"]
    answer: Int[Tensor, "stories"]
    support: Int[Tensor, "stories 3"]
    depth: Int[Tensor, "stories"]

    def __len__(self) -> int:
        return len(self.answer)

    def tell(self, story: int = 0) -> str:
        """Write out one story: its facts in order, the question, the answer and the numbers of the supporting facts.

        Raises:
            ValueError: a number that is not one of a story.
        """
        if not 0 <= story < len(self):
            raise ValueError(f"story is {story}; expected 0 <= story < {len(self)}")
        lines = [f"{place}. {_sentence(fact)}." for place, fact in enumerate(self.facts[story])]
        support = [str(place) for place in self.support[story].tolist() if place >= 0]
        said = f"{_sentence(self.question[story])}? {VOCABULARY[self.answer[story]]} (from {', '.join(support)})"
        return "\n".join([*lines, said[0].upper() + said[1:]])


def animal_stories(
    count: int, *, depth: int | None = None, others: int = 0, generator: torch.Generator | None = None
) -> Stories:
    """Ten facts about six individuals, and the question what colour one of them is.

    Each story holds two cases of reasoning by example and two by rule, shuffled together:

    * "Ada is a heron. Ben is a heron. Ben is grey." Ben's colour lies one fact deep, Ada's three: like another heron.
    * "Cleo is a mole. moles are white." Cleo's colour lies two facts deep.

    Every question reads "what colour is ...": the number of facts it takes cannot be told from it. The four colours of a
    story differ, so a guess among them is right once in four times.

    Args:
        count: number of stories.
        depth: 1, 2 or 3 facts for every answer; by default each story draws its own.
        others: 0 to 6 more individuals with colours of their own, one fact each, who have nothing to do with any question.
        generator: source of randomness.

    Returns:
        :class:`Stories` with ``facts [count, 10 + others, 4]``.

    Raises:
        ValueError: a count that is not an integer of at least 1, another depth, others out of range.

    Source: after the induction and deduction tasks of Weston et al. 2015, with supporting facts in order.

    >>> print(animal_stories(1, depth=1, generator=torch.Generator().manual_seed(0)).tell())
    0. Leo is a falcon.
    1. Kim is black.
    2. Eva is a beaver.
    3. falcons are blue.
    4. Kim is a beaver.
    5. Dan is a badger.
    6. Cleo is a badger.
    7. hares are green.
    8. Ivo is a hare.
    9. Dan is yellow.
    What colour is Kim? black (from 1)
    """
    check_count("count", count)
    check_choice("depth", depth, (None, 1, 2, 3))
    check_count("others", others, least=0)
    _check_most("others", others, 6)
    names, animals = _draw(count, NAMES, 6 + others, generator), _draw(count, ANIMALS, 4, generator)
    kinds, colours = animals - _NUMBER[ANIMALS[0]] + _NUMBER[KINDS[0]], _draw(count, COLOURS, 4 + others, generator)
    facts = []
    for case in (0, 1):  # by example, of people 0 and 1, and of 2 and 3
        asked, other = names[:, 2 * case], names[:, 2 * case + 1]
        facts += [_say(asked, "is", "a", animals[:, case]), _say(other, "is", "a", animals[:, case])]
        facts += [_say(other, "is", colours[:, case], "")]
    for case in (2, 3):  # by rule, of people 4 and 5
        facts += [_say(names[:, case + 2], "is", "a", animals[:, case]), _say(kinds[:, case], "are", colours[:, case], "")]
    facts += [_say(names[:, 6 + other], "is", colours[:, 4 + other], "") for other in range(others)]
    deep = torch.randint(3, (count,), generator=generator) if depth is None else torch.full((count,), depth - 1)
    which = torch.randint(2, (count,), generator=generator)
    person = torch.tensor([[1, 3], [4, 5], [0, 2]])[deep, which]
    colour = torch.tensor([[0, 1], [2, 3], [0, 1]])[deep, which]
    support = torch.tensor([[2, 5], [6, 8], [0, 3]])[deep, which][:, None] + torch.arange(3)
    support = torch.where(torch.arange(3) <= deep[:, None], support, -1)
    question = _say("what", "colour", "is", _pick(names, person))
    order = torch.rand(count, len(facts), generator=generator).argsort(-1)
    return _arranged(torch.stack(facts, 1), order, question, _pick(colours, colour), support)


def journey_stories(count: int, *, people: int = 3, moves: int = 3, generator: torch.Generator | None = None) -> Stories:
    """Facts such as "Ada entered the garden", in the order of time, and the question where one of the people is now.

    Everyone enters ``moves`` different places and the last one is the answer. Whoever knows the facts but not their order can
    do no better than to guess among those places: right once in ``moves`` times.

    Args:
        count: number of stories.
        people: how many walk about, 1 to 12.
        moves: how many places each of them enters, 1 to 6.
        generator: source of randomness.

    Returns:
        :class:`Stories` with ``facts [count, people * moves, 4]``; every answer rests on one fact.

    Raises:
        ValueError: numbers that are not integers in their ranges.

    Source: after the first task of Weston et al. 2015.

    >>> print(journey_stories(1, people=2, moves=2, generator=torch.Generator().manual_seed(0)).tell())
    0. Dan entered the cellar.
    1. Cleo entered the attic.
    2. Cleo entered the cellar.
    3. Dan entered the attic.
    Where is Dan now? attic (from 3)
    """
    check_count("count", count)
    for name, number, most in (("people", people, len(NAMES)), ("moves", moves, len(PLACES))):
        check_count(name, number)
        _check_most(name, number, most)
    names = _draw(count, NAMES, people, generator)
    places = torch.stack([_draw(count, PLACES, moves, generator) for _ in range(people)], 1)
    facts = _say(names[:, :, None].expand_as(places).flatten(1), "entered", "the", places.flatten(1))
    order = torch.rand(count, people * moves, generator=generator).argsort(-1)
    asked = torch.randint(people, (count,), generator=generator)
    mine = order // moves == asked[:, None]  # which of the facts, in the order of time, are about the person asked for
    now = torch.where(mine, torch.arange(people * moves), -1).amax(1)
    last = _pick(order, now)
    support = torch.stack([last, torch.full_like(last, -1), torch.full_like(last, -1)], -1)
    question = _say("where", "is", _pick(names, asked), "now")
    return _arranged(facts, order, question, _pick(places.flatten(1), last), support)


def _check_most(name: str, number: int, most: int) -> None:
    if number > most:
        raise ValueError(f"{name} is {number}; expected at most {most}")


def _draw(count: int, words: tuple[str, ...], number: int, generator: torch.Generator | None) -> Tensor:
    """Different words for each story, ``[count, number]``."""
    return torch.rand(count, len(words), generator=generator).argsort(-1)[:, :number] + _NUMBER[words[0]]


def _say(*words: str | Tensor) -> Tensor:
    """A sentence of four words, of which some are the same in each story and some are not: ``[..., 4]``."""
    numbers = [torch.tensor(_NUMBER[word]) if isinstance(word, str) else word for word in words]
    return torch.stack(torch.broadcast_tensors(*numbers), -1)


def _pick(numbers: Tensor, place: Tensor) -> Tensor:
    """One number from each row."""
    return numbers.gather(1, place[:, None])[:, 0]


def _arranged(facts: Tensor, order: Tensor, question: Tensor, answer: Tensor, support: Tensor) -> Stories:
    """Put the facts in an order; the supporting facts, given by their old places, move along."""
    facts = facts.gather(1, order[:, :, None].expand_as(facts))
    moved = order.argsort(-1).gather(1, support.clamp(min=0))
    support = torch.where(support < 0, -1, moved)
    return Stories(facts, question, answer, support, (support >= 0).sum(-1))


def _sentence(numbers: Tensor) -> str:
    return " ".join(VOCABULARY[number] for number in numbers.tolist() if number)
