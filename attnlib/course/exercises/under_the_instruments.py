"""Exercises of page 7d, under the instruments.

It is longer than 250 lines because each of the five names its wrong answers, eight or more, as small functions.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _maps() -> list[tuple[Tensor, Tensor]]:
    """Maps of a head: nearly alike, nearly opposite, and unrelated."""
    query, other, third, fourth = draws((3, 7), (3, 7), (4, 5), (4, 5), seed=90)
    return [(query, query + 0.4 * other), (third, 0.5 * fourth - third), (0.2 * query, other)]


def _share(query: Tensor, key: Tensor) -> Tensor:
    form = query.mT @ key
    return ((form + form.mT) / 2).square().sum() / form.square().sum()


def _within(query: Tensor, key: Tensor) -> Tensor:
    form = query @ key.mT
    return ((form + form.mT) / 2).square().sum() / form.square().sum()


SHARE: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_share,
    inputs=_maps,
    mistakes={
        "other product": Mistake("You made W_Q W_K^T, [d, d]. The form between tokens is W_Q^T W_K, [dim, dim].", _within),
        "root": Mistake("Norms are squared, so that the two parts add up to one.", lambda q, k: _share(q, k).sqrt()),
        "antisymmetric": Mistake("That is the antisymmetric share.", lambda q, k: 1 - _share(q, k)),
        "score": Mistake(
            "That is the score from minus one to one: twice the share, less one.", lambda q, k: 2 * _share(q, k) - 1
        ),
        "no half": Mistake("The symmetric part is half of the sum of form and transpose.", lambda q, k: 4 * _share(q, k)),
        "ratio": Mistake(
            "That is the symmetric part over the antisymmetric one: divide by the whole.",
            lambda q, k: _share(q, k) / (1 - _share(q, k)),
        ),
        "cosine of the maps": Mistake(
            "You compared the maps entry by entry. Turn both by one rotation and the form stays: take it.",
            lambda q, k: (1 + (q * k).sum() / (q.norm() * k.norm())) / 2,
        ),
        "trace": Mistake(
            "You took the trace of the form for its symmetric part.",
            lambda q, k: (q.mT @ k).trace().square() / (q.mT @ k).square().sum(),
        ),
    },
)


def _seen() -> list[tuple[Tensor, Tensor]]:
    """Scores of some queries, and which keys each sees: padding, a causal mask whose first row sees one."""
    first, second = draws((4, 6), (5, 5), seed=91)
    padded = torch.ones(4, 6, dtype=torch.bool)
    padded[:2, 4:], padded[2, 2:] = False, False
    return [(2.5 * first + 1.5, padded), (0.8 * second - 0.7, torch.ones(5, 5).tril().bool())]


def _spread(
    scores: Tensor,
    seen: Tensor,
    *,
    power: float = 0.5,
    less: int = 0,
    many: Callable[[Tensor], Tensor] = lambda count: (2 * count.log()).sqrt(),
    apart: bool = True,
) -> Tensor:
    count = seen.sum(-1).to(scores.dtype)
    some = count > 1
    mean = (scores * seen).sum(-1) / count
    variance = ((scores - mean[:, None]).square() * seen).sum(-1) / (count - less).clamp(min=1)
    spread, scale = variance[some] ** power, many(count[some])
    return (spread / scale).mean() if apart else spread.mean() / scale.mean()


def _among_all(scores: Tensor, seen: Tensor) -> Tensor:
    count = torch.full_like(scores[:, 0], scores.shape[-1])
    return (scores.std(-1, correction=0) / (2 * count.log()).sqrt())[seen.sum(-1) > 1].mean()


def _zeros_kept(scores: Tensor, seen: Tensor) -> Tensor:
    shown = torch.where(seen, scores, 0.0)
    return (shown.std(-1, correction=0) / (2 * seen.sum(-1).to(scores.dtype).log()).sqrt())[seen.sum(-1) > 1].mean()


def _alone_counts(scores: Tensor, seen: Tensor) -> Tensor:
    some = (seen.sum(-1) > 1).to(scores.dtype)
    return _spread(scores, seen) * some.mean()


FREEZE: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_spread,
    inputs=_seen,
    mistakes={
        "hidden keys": Mistake("You counted keys that a query does not see: they have no score to it.", _among_all),
        "zeros": Mistake("You set hidden scores to zero and counted them: leave them out.", _zeros_kept),
        "unbiased": Mistake(
            "Divide by the number of keys, not by one less: it is the spread of these keys, not an estimate.",
            lambda s, m: _spread(s, m, less=1),
        ),
        "variance": Mistake("That is the variance: take its root first.", lambda s, m: _spread(s, m, power=1.0)),
        "no two": Mistake("The scale is sqrt(2 ln K).", lambda s, m: _spread(s, m, many=lambda K: K.log().sqrt())),
        "no root": Mistake("The scale is the root of 2 ln K.", lambda s, m: _spread(s, m, many=lambda K: 2 * K.log())),
        "bits": Mistake("The logarithm is the natural one.", lambda s, m: _spread(s, m, many=lambda K: (2 * K.log2()).sqrt())),
        "one K": Mistake(
            "Each query has a K of its own: divide first, then take the mean.", lambda s, m: _spread(s, m, apart=False)
        ),
        "alone": Mistake("A query that sees one key has no spread and no scale: leave it out of the mean.", _alone_counts),
    },
)


def _values() -> list[tuple[Tensor, Tensor]]:
    """Maps out and in: one that stores, one that erases, one that walks."""
    read, out, noise = draws((3, 6), (6, 3), (6, 3), seed=92)
    turned = torch.linalg.qr(draws((5, 5), seed=93)[0]).Q
    return [(read.mT + 0.5 * noise, read), (-0.8 * read.mT + 0.3 * out, read), (turned[:, :2], turned[2:4] + turned[:2])]


def _kept(out: Tensor, value: Tensor) -> Tensor:
    form = out @ value
    return form.trace() / torch.linalg.matrix_norm(form, "nuc")


STORE: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_kept,
    inputs=_values,
    mistakes={
        "eigenvalues": Mistake(
            "You divided by the sizes of the eigenvalues: a map that writes elsewhere has none, and would look like one that "
            "writes nothing. Singular values tell.",
            lambda W, V: (W @ V).trace() / torch.linalg.eigvals(W @ V).abs().sum(),
        ),
        "entries": Mistake(
            "You divided by the root of the sum of squares. The trace is at most the sum of the singular values.",
            lambda W, V: (W @ V).trace() / (W @ V).norm(),
        ),
        "largest": Mistake(
            "You divided by the largest singular value: take their sum.",
            lambda W, V: (W @ V).trace() / torch.linalg.matrix_norm(W @ V, 2),
        ),
        "width": Mistake("You divided by the width.", lambda W, V: (W @ V).trace() / len(W)),
        "no scale": Mistake("Divide by the sum of the singular values.", lambda W, V: (W @ V).trace()),
        "sign lost": Mistake("A negative trace erases: keep its sign.", lambda W, V: _kept(W, V).abs()),
        "other product": Mistake(
            "You took W_V W_O, [d, d]. Its trace is the same; the singular values are those of what is written, W_O W_V.",
            lambda W, V: (V @ W).trace() / torch.linalg.svdvals(V @ W).sum(),
        ),
        "maps apart": Mistake(
            "Singular values of a product are not products of singular values.",
            lambda W, V: (W @ V).trace() / (torch.linalg.svdvals(W) * torch.linalg.svdvals(V)).sum(),
        ),
        "squared": Mistake(
            "You divided by the sum of the squares of the singular values.",
            lambda W, V: (W @ V).trace() / (W @ V).square().sum(),
        ),
        "minus": Mistake("What stores has a positive trace.", lambda W, V: -_kept(W, V)),
    },
)


def _readings() -> list[tuple[Tensor, Tensor, Tensor]]:
    """What a head read in some texts, what of them is no padding, and its map out."""
    read, out = draws((3, 4, 2), (5, 2), seed=94)
    more, wide = draws((2, 3, 4), (3, 4), seed=95)
    real = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]]).bool()
    return [(read + 0.7, real, out), (1.5 * more - 0.4, torch.tensor([[1, 1, 1], [1, 1, 0]]).bool(), wide)]


def _mean(read: Tensor, real: Tensor) -> Tensor:
    return read[real].mean(0)


def _by_text(read: Tensor, real: Tensor) -> Tensor:
    return (read * real[..., None]).sum(1, keepdim=True) / real.sum(1)[:, None, None]


def _by_place(read: Tensor, real: Tensor) -> Tensor:
    return (read * real[..., None]).sum(0, keepdim=True) / real.sum(0)[None, :, None].clamp(min=1)


SILENCE: Exercise[[Tensor, Tensor, Tensor]] = Exercise(
    reference=lambda read, real, out: (_mean(read, real) - read) @ out.mT,
    inputs=_readings,
    mistakes={
        "zero": Mistake(
            "You put nothing in the head's place. That also takes away what it says to every token: put its mean there.",
            lambda read, real, out: -read @ out.mT,
        ),
        "padding": Mistake("Your mean counts padding.", lambda read, real, out: (read.mean((0, 1)) - read) @ out.mT),
        "text by text": Mistake(
            "You took a mean for each text. The head would still tell texts apart: one mean for all tokens.",
            lambda read, real, out: (_by_text(read, real) - read) @ out.mT,
        ),
        "place by place": Mistake(
            "You took a mean for each place. The head would still tell places apart: one mean for all tokens.",
            lambda read, real, out: (_by_place(read, real) - read) @ out.mT,
        ),
        "means of texts": Mistake(
            "You took the mean of the texts' means: every token counts once.",
            lambda read, real, out: (_by_text(read, real).mean(0, keepdim=True) - read) @ out.mT,
        ),
        "sign": Mistake(
            "What changes is the mean less what was read.", lambda read, real, out: (read - _mean(read, real)) @ out.mT
        ),
        "what it says": Mistake(
            "That is what the head says now. The change is asked for: take off what it said.",
            lambda read, real, out: (_mean(read, real) + 0 * read) @ out.mT,
        ),
        "padding left": Mistake(
            "You left padding as it was. The head says its mean at every place; nobody reads padding, but the shape has it.",
            lambda read, real, out: ((_mean(read, real) - read) * real[..., None]) @ out.mT,
        ),
        "not written": Mistake(
            "That is in the head's own numbers: its map out, W_O, writes them into the stream.",
            lambda read, real, out: _mean(read, real) - read,
        ),
    },
)


def _iterations() -> list[tuple[Tensor, Tensor, Tensor, int, int]]:
    """A map with a strong drive and one with a weak one, a state, a small difference, steps before and in the mean."""
    first, x, v = draws((4, 4), (4,), (4,), seed=96)
    second, y, w = draws((3, 3), (3,), (3,), seed=97)
    return [(1.8 * first, x, v, 2, 5), (0.6 * second, y, w, 1, 4)]


def _grown(
    A: Tensor,
    x: Tensor,
    v: Tensor,
    before: int,
    steps: int,
    *,
    slope: Callable[[Tensor, Tensor], Tensor] = lambda now, then: 1 - then.square(),
    logarithm: Callable[[Tensor], Tensor] = torch.log,
) -> Tensor:
    total = x.new_zeros(())
    for t in range(before + steps):
        then = torch.tanh(A @ x)
        v = slope(x, then) * (A @ v)
        if t >= before:
            total = total + logarithm(v.norm())
        x, v = then, v / v.norm()
    return total / steps


EXPONENT: Exercise[[Tensor, Tensor, Tensor, int, int]] = Exercise(
    reference=_grown,
    inputs=_iterations,
    mistakes={
        "no slope": Mistake(
            "You multiplied the difference by A alone: tanh has a slope, 1 - tanh^2.",
            lambda A, x, v, n, T: _grown(A, x, v, n, T, slope=lambda now, then: torch.ones_like(then)),
        ),
        "slope at the old state": Mistake(
            "The slope of tanh is taken at A x: 1 - (new state)^2.",
            lambda A, x, v, n, T: _grown(A, x, v, n, T, slope=lambda now, then: 1 - now.square()),
        ),
        "slope first": Mistake(
            "You took the slope first and A then: the map is tanh after A, so that its slope comes last.",
            lambda A, x, v, n, T: _slope_first(A, x, v, n, T),
        ),
        "as a state": Mistake(
            "You sent the difference through the map as a state is: it needs the map's derivative at the state.",
            lambda A, x, v, n, T: _as_state(A, x, v, n, T),
        ),
        "bits": Mistake("In nats: the natural logarithm.", lambda A, x, v, n, T: _grown(A, x, v, n, T) / math.log(2)),
        "sum": Mistake("A rate for each step: divide by steps.", lambda A, x, v, n, T: T * _grown(A, x, v, n, T)),
        "all steps": Mistake(
            "Your mean begins before the difference has turned: leave the first steps out.",
            lambda A, x, v, n, T: _grown(A, x, v / v.norm(), 0, n + T),
        ),
        "divided by all": Mistake(
            "You divided by all steps: only those in the mean were added.",
            lambda A, x, v, n, T: _grown(A, x, v, n, T) * T / (n + T),
        ),
        "mean of factors": Mistake(
            "You took the mean of the factors and then the logarithm: growth multiplies, so logarithms are added.",
            lambda A, x, v, n, T: _grown(A, x, v, n, T, logarithm=lambda size: size).log(),
        ),
        "turned": Mistake("That is A^T.", lambda A, x, v, n, T: _grown(A.mT, x, v, n, T)),
    },
)


def _slope_first(A: Tensor, x: Tensor, v: Tensor, before: int, steps: int) -> Tensor:
    total = x.new_zeros(())
    for t in range(before + steps):
        x = torch.tanh(A @ x)
        v = A @ ((1 - x.square()) * v)
        total = total + v.norm().log() * (t >= before)
        v = v / v.norm()
    return total / steps


def _as_state(A: Tensor, x: Tensor, v: Tensor, before: int, steps: int) -> Tensor:
    total = x.new_zeros(())
    for t in range(before + steps):
        x, v = torch.tanh(A @ x), torch.tanh(A @ v)
        total = total + v.norm().log() * (t >= before)
        v = v / v.norm()
    return total / steps


EXERCISES: dict[str, Exercise[...]] = {"1": SHARE, "2": FREEZE, "3": STORE, "4": SILENCE, "5": EXPONENT}
