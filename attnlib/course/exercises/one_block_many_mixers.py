"""Exercises of page 7a, one block and many mixers.

It is longer than 250 lines because each of the five names its wrong answers, thirty-nine in all, as small functions.
"""

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from attnlib.course.exercises._draw import draw, draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _known() -> list[tuple[Tensor]]:
    """Means that depend on the fields in part, on the rest in part, and not on average zero."""
    field, rest, other, left = draws((6, 1, 3), (6, 4, 3), (5, 1, 2), (5, 7, 2), seed=70)
    return [(torch.tanh(0.9 * field + 0.6 * rest + 0.2),), (torch.tanh(0.5 * other + left - 0.1),)]


FLOOR: Exercise[[Tensor]] = Exercise(
    reference=lambda m: m.var(1).mean() / m.square().mean(),
    inputs=_known,
    mistakes={
        "variance of m": Mistake(
            "That is the variance of all m together. The fields are known: take it at given fields, over the second axis.",
            lambda m: m.flatten(0, 1).var(0).mean() / m.square().mean(),
        ),
        "variance over fields": Mistake(
            "You let the fields vary and hold the rest. A blind mixer knows the fields, not the rest: take the second axis.",
            lambda m: m.var(0).mean() / m.square().mean(),
        ),
        "what is explained": Mistake(
            "The variance of the conditional mean is what a blind mixer can say. Its error is what is left.",
            lambda m: m.mean(1).var(0).mean() / m.square().mean(),
        ),
        "square of the mean": Mistake(
            "You squared the mean at given fields: that is the answer of a blind mixer, not its error.",
            lambda m: m.mean(1).square().mean() / m.square().mean(),
        ),
        "divided by the variance": Mistake(
            "Turning all fields round turns all means round, so m is zero on average: divide by E m^2, not by a variance.",
            lambda m: m.var(1).mean() / m.flatten(0, 1).var(0).mean(),
        ),
        "biased": Mistake(
            "With few draws the mean takes part of the variance with it: divide by the number of draws less one.",
            lambda m: m.var(1, correction=0).mean() / m.square().mean(),
        ),
        "mean of ratios": Mistake(
            "You took the mean of ratios. Errors are added over all systems before they are divided.",
            lambda m: (m.var(1).mean(-1) / m.square().mean((1, 2))).mean(),
        ),
        "ratio for each spin": Mistake(
            "You divided spin by spin. Add over the spins before you divide.",
            lambda m: (m.var(1).mean(0) / m.square().mean((0, 1))).mean(),
        ),
        "standard deviation": Mistake(
            "The error is squared: a share of variances, not of standard deviations.",
            lambda m: m.std(1).mean() / m.square().mean().sqrt(),
        ),
        "not divided": Mistake("That is the variance that is left; divide it by E m^2.", lambda m: m.var(1).mean()),
    },
)


def _tokens() -> list[tuple[Tensor, Tensor, float, float]]:
    """Tokens of two systems, fixed couplings, a share and a gain; widths and numbers of spins differ."""
    x, fixed, other, more = draws((5, 3), (5, 5), (4, 6), (4, 4), seed=71)
    fixed, more = fixed.triu(1) + fixed.triu(1).mT, more.triu(1) + more.triu(1).mT
    return [(x, fixed, 0.3, 1.2), (other, more, 0.8, 0.7)]


def _couplings(x: Tensor, fixed: Tensor, share: float, gain: float, *, below: int | None = None, root: float = 0.5) -> Tensor:
    own = gain * x @ x.mT / (below or x.numel()) ** 0.5
    both = (1 - share) ** root * fixed + share**root * own
    return both - torch.diag(both.diagonal())


COUPLINGS: Exercise[[Tensor, Tensor, float, float]] = Exercise(
    reference=_couplings,
    inputs=_tokens,
    mistakes={
        "no roots": Mistake(
            "lam is a share of the variance: couplings are weighed by the roots of lam and 1 - lam.",
            lambda x, J, lam, g: _couplings(x, J, lam, g, root=1.0),
        ),
        "diagonal": Mistake(
            "A spin does not couple to itself: the diagonal is zero.",
            lambda x, J, lam, g: (1 - lam) ** 0.5 * J + (lam / x.numel()) ** 0.5 * g * x @ x.mT,
        ),
        "width only": Mistake(
            "You divided by sqrt(d) as attention does. Each spin hears N others: divide by sqrt(d N).",
            lambda x, J, lam, g: _couplings(x, J, lam, g, below=x.shape[1]),
        ),
        "spins only": Mistake(
            "A product of two tokens is a sum of d terms: divide by sqrt(d N), not by sqrt(N).",
            lambda x, J, lam, g: _couplings(x, J, lam, g, below=x.shape[0]),
        ),
        "no root below": Mistake(
            "Divide by sqrt(d N), not by d N: the variance should not depend on the width.",
            lambda x, J, lam, g: _couplings(x, J, lam, g, below=x.numel() ** 2),
        ),
        "gain twice": Mistake(
            "J0 has the gain in it already: multiply the part of the tokens only.",
            lambda x, J, lam, g: _couplings(x, g * J, lam, g),
        ),
        "exchanged": Mistake(
            "The shares are exchanged: at lam = 0 all couplings are fixed.", lambda x, J, lam, g: _couplings(x, J, 1 - lam, g)
        ),
    },
)


def _halves() -> list[tuple[Tensor, Tensor]]:
    """Tokens that are far from normalised, and weights of who hears whom."""
    x, scores, other, more = draws((4, 6), (4, 4), (5, 3), (5, 5), seed=72)
    return [(2 * x + 1, scores.softmax(-1)), (0.7 * other - 0.5, more.softmax(-1))]


def _norm(x: Tensor) -> Tensor:
    return layer_norm(x, x.shape[-1:])


def _of_places(x: Tensor) -> Tensor:
    return _norm(x.mT).mT


def _by_sample(x: Tensor) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()


def _by_length(x: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


BLOCKS: Exercise[[Tensor, Tensor]] = Exercise(
    reference=lambda x, A: torch.stack([x + A @ _norm(x), _norm(x + A @ x)]),
    inputs=_halves,
    mistakes={
        "exchanged": Mistake(
            "The two are exchanged: before comes first.", lambda x, A: torch.stack([_norm(x + A @ x), x + A @ _norm(x)])
        ),
        "residual normalised": Mistake(
            "The norm stands before the mixer only: what is carried past it is x as it was.",
            lambda x, A: torch.stack([_norm(x) + A @ _norm(x), _norm(x + A @ x)]),
        ),
        "sum not normalised": Mistake(
            "After means after the sum: you normalised what the mixer returns, and x is added as it was.",
            lambda x, A: torch.stack([x + A @ _norm(x), x + _norm(A @ x)]),
        ),
        "no residual": Mistake("Each block adds what was there.", lambda x, A: torch.stack([A @ _norm(x), _norm(A @ x)])),
        "over tokens": Mistake(
            "You normalised over the tokens. Each token is normalised by itself, over its width.",
            lambda x, A: torch.stack([x + A @ _of_places(x), _of_places(x + A @ x)]),
        ),
        "sample variance": Mistake(
            "The norm divides by the variance of the width numbers themselves: by d, not by d - 1.",
            lambda x, A: torch.stack([x + A @ _by_sample(x), _by_sample(x + A @ x)]),
        ),
        "mean not taken off": Mistake(
            "You divided by the length alone: a layer norm takes the mean of a token off first.",
            lambda x, A: torch.stack([x + A @ _by_length(x), _by_length(x + A @ x)]),
        ),
    },
)


def _curves() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Errors of two contestants over unevenly spaced shares, which cross once, not half-way."""
    lam = torch.tensor([0.01, 0.03, 0.1, 0.3, 1.0], dtype=torch.float64)
    blind, content = torch.tensor([0.012, 0.034, 0.12, 0.34, 0.66]), torch.tensor([0.05, 0.058, 0.09, 0.16, 0.3])
    other, late = torch.tensor([0.2, 0.3, 0.4, 0.5, 0.9]), torch.tensor([0.7, 0.64, 0.6, 0.56, 0.31])
    return [(lam, blind.double(), content.double()), (lam.square(), late.double(), other.double())]


def _crossed(at: Tensor, gap: Tensor) -> Tensor:
    """Where a gap changes its sign, by straight lines."""
    k = int((gap.sign()[1:] != gap.sign()[:-1]).nonzero()[0])
    return at[k] + (at[k + 1] - at[k]) * gap[k] / (gap[k] - gap[k + 1])


CROSSING: Exercise[[Tensor, Tensor, Tensor]] = Exercise(
    reference=lambda lam, a, b: _crossed(lam.log(), (a / b).log()).exp(),
    inputs=_curves,
    mistakes={
        "logarithm": Mistake("That is the logarithm of lam: return lam.", lambda lam, a, b: _crossed(lam.log(), (a / b).log())),
        "straight axes": Mistake(
            "Your lines are straight on plain axes: take logarithms of lam and of the errors first.",
            lambda lam, a, b: _crossed(lam, a - b),
        ),
        "plain errors": Mistake(
            "The errors stand on a logarithmic axis too: it is the logarithm of their ratio that vanishes.",
            lambda lam, a, b: _crossed(lam.log(), a - b).exp(),
        ),
        "plain lam": Mistake(
            "lam stands on a logarithmic axis too: go between the logarithms of its neighbours.",
            lambda lam, a, b: _crossed(lam, (a / b).log()),
        ),
        "nearest": Mistake(
            "That is the measured lam at which the two are closest. Go along the lines between the measurements.",
            lambda lam, a, b: lam[(a / b).log().abs().argmin()],
        ),
        "half-way": Mistake(
            "That is the middle between two measurements. The curves cross where their lines do.",
            lambda lam, a, b: lam[_gap(a, b) : _gap(a, b) + 2].log().mean().exp(),
        ),
    },
)


def _gap(a: Tensor, b: Tensor) -> int:
    return int(((a > b)[1:] != (a > b)[:-1]).nonzero()[0])


def _calls() -> list[tuple[str, Tensor, float, Tensor]]:
    """A name, tokens, a temperature and a mask with rows and columns that differ, in which each token may hear one."""
    first = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 0, 1]]).bool()
    second = torch.tensor([[1, 0, 0], [0, 1, 1], [1, 0, 1]]).bool()
    return [
        ("key by key", 1.3 * draw(2, 4, 3, seed=73), 0.8, first),
        ("one by one", draw(1, 3, 5, seed=74) - 0.4, 1.7, second),
    ]


def _chances(x: Tensor, beta: float, mask: Tensor) -> Tensor:
    return torch.sigmoid(beta * x @ x.mT) * mask


def _shared(x: Tensor, beta: float, mask: Tensor) -> Tensor:
    p = _chances(x, beta, mask)
    return p / p.sum(-1, keepdim=True) @ x


MEMBER: Exercise[[str, Tensor, float, Tensor]] = Exercise(
    reference=lambda name, x, beta, mask: x + _shared(x, beta, mask),
    inputs=_calls,
    mistakes={
        "no block": Mistake(
            "That is what the mixer returns. The block adds the tokens as they were.",
            lambda name, x, beta, mask: _shared(x, beta, mask),
        ),
        "added twice": Mistake(
            "Your mixer adds x, and the block adds it again: a mixer returns what was heard, and no more.",
            lambda name, x, beta, mask: 2 * x + _shared(x, beta, mask),
        ),
        "mask ignored": Mistake(
            "The mask did not reach your weights: hand it to the block, which hands it on to forward.",
            lambda name, x, beta, mask: x + _shared(x, beta, torch.ones_like(mask)),
        ),
        "mask turned round": Mistake(
            "True in a mask means: may be heard. Yours hides what may be heard.",
            lambda name, x, beta, mask: x + _shared(x, beta, ~mask),
        ),
        "masked scores of zero": Mistake(
            "A score of zero is a chance of one half: set the chances to zero where the mask says no, not the scores.",
            lambda name, x, beta, mask: x + (s := torch.sigmoid(beta * x @ x.mT * mask)) / s.sum(-1, keepdim=True) @ x,
        ),
        "not normalised": Mistake(
            "The chances are not weights yet: divide by their sum over the keys.",
            lambda name, x, beta, mask: x + _chances(x, beta, mask) @ x,
        ),
        "softmax": Mistake(
            "That is softmax: one key is chosen. Here each key is on or off by itself, with the chance sigmoid(score).",
            lambda name, x, beta, mask: x + (beta * x @ x.mT).masked_fill(~mask, -torch.inf).softmax(-1) @ x,
        ),
        "beta left out": Mistake(
            "Your module does not use beta: mixer(name, dim, beta=beta) hands it to the constructor.",
            lambda name, x, beta, mask: x + _shared(x, 1.0, mask),
        ),
        "norm in the block": Mistake(
            "The block normalises tokens before they are mixed, unless you ask for norm=None.",
            lambda name, x, beta, mask: x + _shared(_norm(x), beta, mask),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": FLOOR, "2": COUPLINGS, "3": BLOCKS, "4": CROSSING, "5": MEMBER}
