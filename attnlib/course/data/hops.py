"""Hops along a permutation: eight facts "a leads to f(a)", and the question where k of them lead."""

import dataclasses
import itertools
from collections import Counter

import torch
from jaxtyping import Int
from torch import Tensor

from attnlib._core.checks import check_count, check_generator

PLACES = 8
"""How many places there are, and facts."""


@dataclasses.dataclass(frozen=True)
class HopQuestions:
    """Permutations and where to start: what :func:`hop_questions` returns, so no ValueError.

    ``image [count, places]``, where each place leads, and ``start [count]``.

    >>> HopQuestions(torch.tensor([[1, 2, 0]]), torch.tensor([0])).answer(2)
    tensor([2])
    """

    image: Int[Tensor, "count places"]
    start: Int[Tensor, "count"]

    def answer(self, hops: int) -> Int[Tensor, "count"]:
        """Where so many hops lead, ``[count]``. Raises ValueError for a count below 0."""
        place = self.start
        for _ in range(check_count("hops", hops, 0)):
            place = self.image.gather(1, place[:, None])[:, 0]
        return place


def hop_questions(count: int, places: int = PLACES, *, generator: torch.Generator | None = None) -> HopQuestions:
    """Draw permutations, all equally likely, and a start for each.

    Args:
        count, places: how many questions, and places in each.
        generator: where random numbers come from; default torch's own.

    Returns:
        :class:`HopQuestions`.

    Raises:
        ValueError: counts that are not integers of at least 1.

    >>> asked = hop_questions(3, generator=torch.Generator().manual_seed(0))
    >>> bool((asked.image.sort(-1).values == torch.arange(8)).all())
    True
    """
    count, places = check_count("count", count), check_count("places", places)
    check_generator(generator)
    image = torch.rand(count, places, generator=generator, dtype=torch.float64).argsort(-1)
    return HopQuestions(image, torch.randint(places, (count,), generator=generator))


def wrong_hops_score(hops: int, walked: int, places: int = PLACES) -> float:
    r"""How often so many hops end where so many others would: what a walker scores on another question than its own.

    .. math:: P\big(f^k(q) = f^T(q)\big) = \frac1n\, \#\{l \le n : l \text{ divides } k - T\}

    The length of the cycle of a given place of a random permutation is uniform from 1 to n, and both ends agree where it
    divides the difference.

    Args:
        hops, walked: k and T, at least 0.
        places: n.

    Raises:
        ValueError: counts below these.

    >>> wrong_hops_score(2, 3), wrong_hops_score(2, 4), wrong_hops_score(2, 2)
    (0.125, 0.25, 1.0)
    """
    apart = check_count("hops", hops, 0) - check_count("walked", walked, 0)
    return sum(apart % length == 0 for length in range(1, check_count("places", places) + 1)) / places


def informed_guess(hops: int, *, ahead: int = 1, back: int = 0, places: int = 6) -> float:
    """The best score of who knows only what lies a few hops ahead of the start and a few back, by visiting all permutations.

    One reading of the facts by content finds where the start leads, ``ahead=1``, and with a head more what leads to it,
    ``back=1``. The rest is a guess at what is likeliest given these.

    Args:
        hops: how many are asked for.
        ahead, back: how many are known.
        places: of the permutation; all of them are visited, so at most 8.

    Raises:
        ValueError: counts below 0, more than 8 places.

    >>> informed_guess(1), informed_guess(2, places=4)  # one hop is known, and says something of two
    (1.0, 0.5)
    """
    hops, ahead, back = (check_count(name, n, 0) for name, n in (("hops", hops), ("ahead", ahead), ("back", back)))
    seen: dict[tuple[int, ...], Counter[int]] = {}
    for image in itertools.permutations(range(check_count("places", places, 1, 8))):
        before = [0] * places
        for place, there in enumerate(image):
            before[there] = place
        forth, behind = [0], [0]
        for _ in range(max(hops, ahead)):
            forth.append(image[forth[-1]])
        for _ in range(back):
            behind.append(before[behind[-1]])
        seen.setdefault((*forth[: ahead + 1], *behind), Counter())[forth[hops]] += 1
    total = sum(sum(answers.values()) for answers in seen.values())
    return sum(max(answers.values()) for answers in seen.values()) / total
