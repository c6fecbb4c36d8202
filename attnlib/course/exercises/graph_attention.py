"""Exercises of page 6a, attention on graphs."""

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _lists() -> list[tuple[Tensor, int]]:
    """Graphs with a node that nothing reaches, one that points at nobody, a loop, and edges in no order."""
    return [
        (torch.tensor([[3, 0, 1, 4, 4, 1], [0, 2, 2, 0, 4, 3]]), 5),
        (torch.tensor([[2, 5, 0, 0, 3, 5], [3, 0, 2, 5, 1, 1]]), 6),
    ]


def _mask(edges: Tensor, n: int) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.float64)
    mask[edges[1], edges[0]] = 1.0
    return mask


MASK: Exercise[[Tensor, int]] = Exercise(
    reference=_mask,
    inputs=_lists,
    mistakes={
        "transposed": Mistake(
            "Rows are those who ask, columns those who answer: an edge from j to i stands at row i, column j.",
            lambda edges, n: _mask(edges, n).mT.contiguous(),
        ),
        "both ways": Mistake(
            "Edges are directed: an edge from j to i lets i hear j, not j hear i.",
            lambda edges, n: torch.maximum(_mask(edges, n), _mask(edges, n).mT),
        ),
        "with loops": Mistake(
            "A node hears itself only where an edge says so.",
            lambda edges, n: torch.maximum(_mask(edges, n), torch.eye(n, dtype=torch.float64)),
        ),
    },
)


def _segments() -> list[tuple[Tensor, Tensor, int]]:
    (weak, strong) = draws((7,), (6,), seed=60)
    return [
        (weak, torch.tensor([2, 0, 2, 3, 0, 2, 3]), 5),
        (300 * strong + 900, torch.tensor([1, 1, 0, 3, 3, 3]), 4),
    ]


def _shares(scores: Tensor, target: Tensor, n: int, top: Tensor) -> Tensor:
    p = (scores - top).exp()
    return p / p.new_zeros(n).index_add(0, target, p)[target]


def _top(scores: Tensor, target: Tensor, n: int) -> Tensor:
    return scores.new_full((n,), -torch.inf).scatter_reduce(0, target, scores, "amax")[target]


SEGMENTS: Exercise[[Tensor, Tensor, int]] = Exercise(
    reference=lambda s, t, n: _shares(s, t, n, _top(s, t, n)),
    inputs=_segments,
    mistakes={
        "over all edges": Mistake(
            "That is one softmax over all edges. Each target has a sum of its own.", lambda s, t, n: s.softmax(0)
        ),
        "no shift": Mistake(
            "exp of a score near a thousand is no number. Take the largest score of each target off first.",
            lambda s, t, n: _shares(s, t, n, torch.zeros_like(s)),
        ),
        "one shift for all": Mistake(
            "Taking the largest of all scores off lets the exponentials of other targets vanish: 0/0. Each target has its own.",
            lambda s, t, n: _shares(s, t, n, s.max()),
        ),
        "largest from zero": Mistake(
            "The largest score of a target may be negative: start the maximum from minus infinity.",
            lambda s, t, n: _shares(s - 2000, t, n, _top(s - 2000, t, n).clamp(min=0)),
        ),
        "not normalised": Mistake(
            "These weights do not sum to one at each target: divide by the sum.", lambda s, t, n: (s - _top(s, t, n)).exp()
        ),
        "mean": Mistake(
            "You divided by the number of edges of a target, not by the sum of their exponentials.",
            lambda s, t, n: (s - _top(s, t, n)).exp() / torch.bincount(t, minlength=n)[t],
        ),
    },
)


def _rounds_of() -> list[tuple[Tensor, Tensor]]:
    first, second = draws((5, 4), (6, 3), seed=61)
    (one, _), (other, _) = _lists()
    return [(1.5 * first, one), (1.5 * second, other)]


def _gathered(x: Tensor, edges: Tensor, scale: float, axis: int = 1) -> Tensor:
    mask = _mask(edges, len(x)) > 0
    scores = (x @ x.mT * scale).masked_fill(~mask, -torch.inf)
    return scores.softmax(axis).nan_to_num(0.0) @ x


ROUND: Exercise[[Tensor, Tensor]] = Exercise(
    reference=lambda x, e: x + _gathered(x, e, x.shape[1] ** -0.5),
    inputs=_rounds_of,
    mistakes={
        "no residual": Mistake(
            "Each node adds what it gathers to its data; you return what it gathers.",
            lambda x, e: _gathered(x, e, x.shape[1] ** -0.5),
        ),
        "not scaled": Mistake("The scores are not divided by sqrt(d).", lambda x, e: x + _gathered(x, e, 1.0)),
        "divided by d": Mistake(
            "The scores are divided by sqrt(d), not by d.", lambda x, e: x + _gathered(x, e, 1 / x.shape[1])
        ),
        "sqrt of the number of nodes": Mistake(
            "d is the width of the data, the second axis; you took the number of nodes.",
            lambda x, e: x + _gathered(x, e, len(x) ** -0.5),
        ),
        "against the arrows": Mistake(
            "Messages go from source to target: the first row of edges answers, the second asks.",
            lambda x, e: x + _gathered(x, e.flip(0), x.shape[1] ** -0.5),
        ),
        "wrong axis": Mistake(
            "The weights of the edges that reach one node sum to one; yours sum to one over those that leave one.",
            lambda x, e: x + _gathered(x, e, x.shape[1] ** -0.5, axis=0),
        ),
        "not a number": Mistake(
            "The softmax of a row without edges is not a number. Such a node keeps its data.",
            lambda x, e: x + _gathered(x, e, x.shape[1] ** -0.5) + 0 / (_mask(e, len(x)).sum(1, keepdim=True) > 0),
        ),
        "mean": Mistake(
            "That is the mean over the neighbours; weigh them by the softmax of their scores.",
            lambda x, e: x + _gathered(x, e, 0.0),
        ),
        "isolated sees all": Mistake(
            "A node that nothing reaches keeps its data; yours gathers from everyone. Minus a large number is not a mask.",
            lambda x, e: x + (x @ x.mT * x.shape[1] ** -0.5).masked_fill(_mask(e, len(x)) == 0, -1e9).softmax(1) @ x,
        ),
    },
)


def _arrivals(edges: Tensor, n: int) -> Tensor:
    step = _mask(edges, n) + torch.eye(n, dtype=torch.float64)
    known, found = torch.eye(n, dtype=torch.float64), torch.full((n, n), torch.inf, dtype=torch.float64)
    for rounds in range(n):
        found = torch.where((known > 0) & found.isinf(), float(rounds), found)
        known = (step @ known > 0).double()
    return found


ROUNDS: Exercise[[Tensor, int]] = Exercise(
    reference=_arrivals,
    inputs=_lists,
    mistakes={
        "transposed": Mistake(
            "Row i and column j hold the rounds until i depends on j: a message goes from j to i.",
            lambda edges, n: _arrivals(edges, n).mT.contiguous(),
        ),
        "off by one": Mistake(
            "After no round a node knows itself: the diagonal is 0, a neighbour 1.",
            lambda edges, n: _arrivals(edges, n) + 1,
        ),
        "both ways": Mistake(
            "Messages go along the arrows only.",
            lambda edges, n: _arrivals(torch.cat([edges, edges.flip(0)], 1), n),
        ),
        "never is zero": Mistake(
            "Where a message never arrives the answer is infinity, not 0.",
            lambda edges, n: _arrivals(edges, n).nan_to_num(posinf=0.0),
        ),
        "only neighbours": Mistake(
            "That is one round. A message goes on from there: repeat.",
            lambda edges, n: torch.where(_arrivals(edges, n) <= 1, _arrivals(edges, n), torch.inf),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": MASK, "2": SEGMENTS, "3": ROUND, "4": ROUNDS}
