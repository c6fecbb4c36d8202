"""Exercises of page 7b, one step or many.

It is longer than 250 lines because each of the five names its wrong answers, 59 in all, as small functions.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _noisy() -> list[tuple[Tensor, Tensor, float]]:
    """Memories on a sphere, and noisy copies of the first of them; sigma is neither 1 nor near 1/sqrt(2)."""
    first, noise, second, more = draws((5, 4), (3, 4), (4, 6), (2, 6), seed=75)
    first, second = (x * (x.shape[1] ** 0.5 / x.norm(dim=1, keepdim=True)) for x in (first, second))
    return [(first[:3] + 1.4 * noise, first, 1.4), (second[:2] + 0.9 * more, second, 0.9)]


def _recall(query: Tensor, memories: Tensor, beta: float | int) -> Tensor:
    return (beta * query @ memories.mT).softmax(-1) @ memories


RECALL: Exercise[[Tensor, Tensor, float]] = Exercise(
    reference=lambda q, x, s: _recall(q, x, 1 / s**2),
    inputs=_noisy,
    mistakes={
        "sigma": Mistake("More noise must make the weights flatter: yours get sharper.", lambda q, x, s: _recall(q, x, s)),
        "one over sigma": Mistake(
            "The noise enters squared: a Gaussian has |q - x|^2 / (2 sigma^2) in its exponent.",
            lambda q, x, s: _recall(q, x, 1 / s),
        ),
        "half": Mistake(
            "The half of |q - x|^2 / (2 sigma^2) is used up by the two products q.x in the square.",
            lambda q, x, s: _recall(q, x, 1 / (2 * s**2)),
        ),
        "distance without half": Mistake(
            "Your weights are exp(-|q - x|^2 / sigma^2), twice as cold as the truth: the half is missing.",
            lambda q, x, s: _recall(q, x, 2 / s**2),
        ),
        "divided by sqrt(d)": Mistake(
            "The width does not enter: the noise says how cold, so there is nothing to divide by.",
            lambda q, x, s: _recall(q, x, 1 / s**2 / x.shape[1] ** 0.5),
        ),
        "nearest": Mistake(
            "That is the likeliest memory. The least squared error is that of the mean over all of them, by their chances.",
            lambda q, x, s: x[(q @ x.mT).argmax(-1)],
        ),
        "query added": Mistake(
            "You added the query. The memories alone are averaged.", lambda q, x, s: q + _recall(q, x, 1 / s**2)
        ),
        "wrong axis": Mistake(
            "The weights of the memories sum to one for each query.", lambda q, x, s: (q @ x.mT / s**2).softmax(0) @ x
        ),
        "no noise": Mistake("The noise does not enter your weights.", lambda q, x, s: _recall(q, x, 1)),
        "width for noise": Mistake(
            "You scaled with the width, as a transformer does. The noise says how cold.",
            lambda q, x, s: _recall(q, x, x.shape[1] ** -0.5),
        ),
        "wrong sign": Mistake("Your weights are largest where a memory fits least.", lambda q, x, s: _recall(q, x, -1 / s**2)),
        "distance not squared": Mistake(
            "A Gaussian falls with the square of the distance.",
            lambda q, x, s: (-torch.cdist(q, x) / (2 * s**2)).softmax(-1) @ x,
        ),
        "variance for deviation": Mistake(
            "You took the variance for the standard deviation: the exponent is |q - x|^2 / (2 sigma^2), not sigma^4.",
            lambda q, x, s: _recall(q, x, 1 / s**4),
        ),
        "mean over components": Mistake(
            "Logarithms of components are added, not averaged.", lambda q, x, s: _recall(q, x, 1 / s**2 / x.shape[1])
        ),
        "two steps": Mistake(
            "That is two steps: the second takes the answer for a query.",
            lambda q, x, s: _recall(_recall(q, x, 1 / s**2), x, 1 / s**2),
        ),
    },
)


def _read() -> list[tuple[Tensor, Tensor]]:
    """Weights of heads that are not quite right, and the right keys, which are not always the heaviest."""
    hot, cold = draws((6, 4), (9, 3), seed=76)
    return [
        ((1.5 * hot).softmax(-1), torch.tensor([2, 0, 3, 1, 1, 0])),
        ((3 * cold).softmax(-1), torch.tensor([0, 2, 2, 1, 0, 1, 2, 0, 1])),
    ]


def _right(p: Tensor, t: Tensor) -> Tensor:
    return p[range(len(t)), t]


def _entropies(p: Tensor) -> Tensor:
    return -(p * p.log()).sum(-1)


THERMOMETER: Exercise[[Tensor, Tensor]] = Exercise(
    reference=lambda p, t: p.square().sum(-1).mean() / _right(p, t).mean(),
    inputs=_read,
    mistakes={
        "entropy": Mistake(
            "You compared the entropy with the log loss. That balances too, but the thermometer asks for squares.",
            lambda p, t: _entropies(p).mean() / -_right(p, t).log().mean(),
        ),
        "effective number": Mistake(
            "You took exp(-entropy) for the sum of squares: they agree only where the weights are even.",
            lambda p, t: (-_entropies(p)).exp().mean() / _right(p, t).mean(),
        ),
        "largest weight": Mistake(
            "The largest weight is how sure the likeliest key is. A second draw from the weights hits with the sum of p^2.",
            lambda p, t: p.amax(-1).mean() / _right(p, t).mean(),
        ),
        "calibration": Mistake(
            "You compared the largest weight with how often it is right. The thermometer draws a key instead of choosing one.",
            lambda p, t: p.amax(-1).mean() / (p.argmax(-1) == t).to(p).mean(),
        ),
        "mean of ratios": Mistake(
            "Take both means first, then divide: a query with little weight on its right key would rule your mean of ratios.",
            lambda p, t: (p.square().sum(-1) / _right(p, t)).mean(),
        ),
        "upside down": Mistake(
            "Above one should mean too cold: the squares stand above.",
            lambda p, t: _right(p, t).mean() / p.square().sum(-1).mean(),
        ),
        "mean over keys": Mistake(
            "The squares are added over the keys, not averaged.", lambda p, t: p.square().mean() / _right(p, t).mean()
        ),
        "hits": Mistake(
            "Below stands the weight on the right key, not how often the heaviest key is right.",
            lambda p, t: p.square().sum(-1).mean() / (p.argmax(-1) == t).to(p).mean(),
        ),
        "all pairs": Mistake(
            "weights[:, right] takes the weights of every query on the keys of all: one for each query is meant.",
            lambda p, t: p.square().sum(-1).mean() / p[:, t].mean(),
        ),
        "right squared": Mistake(
            "The weight of the right key is not squared: it is the chance that a draw is right.",
            lambda p, t: p.square().sum(-1).mean() / _right(p, t).square().mean(),
        ),
        "root": Mistake(
            "No root: the sum of squares is the chance that two draws agree.",
            lambda p, t: p.square().sum(-1).sqrt().mean() / _right(p, t).mean(),
        ),
        "difference": Mistake("U is a ratio.", lambda p, t: p.square().sum(-1).mean() - _right(p, t).mean()),
    },
)


def _frozen(K: Tensor, d: float | int) -> Tensor:
    return (K ** (2 / d) - 1).rsqrt()


FREEZING: Exercise[[Tensor, int]] = Exercise(
    reference=_frozen,
    inputs=lambda: [(torch.tensor([4.0, 16.0, 64.0]).double(), 6), (torch.tensor([10.0, 300.0]).double(), 5)],
    mistakes={
        "gaussian scores": Mistake(
            "You set the spread |q| / sigma^2 to sqrt(2 ln K): that is for Gaussian scores. Cosines have thinner tails.",
            lambda K, d: ((1 + (1 + 8 * K.log() / d).sqrt()) * d / (4 * K.log())).sqrt(),
        ),
        "gaussian, query without noise": Mistake(
            "You took Gaussian scores and |q|^2 = d. Count memories by their cosines instead: (1 + 1/sigma^2)^(d/2) = K.",
            lambda K, d: (d / (2 * K.log())) ** 0.25,
        ),
        "variance": Mistake("That is the square of the noise: return the noise itself.", lambda K, d: _frozen(K, d).square()),
        "no half": Mistake("The power is d/2, not d: solving for sigma brings 2/d.", lambda K, d: _frozen(K, 2 * d)),
        "power upside down": Mistake("The root is the wrong way round: K^(2/d), not K^(d/2).", lambda K, d: _frozen(K, 4 / d)),
        "no one": Mistake("The one in 1 + 1/sigma^2 got lost.", lambda K, d: K ** (-1 / d)),
        "one added": Mistake("1/sigma^2 is K^(2/d) less one, not plus one.", lambda K, d: (K ** (2 / d) + 1).rsqrt()),
        "brackets": Mistake("K ** 2 / d is the square of K over d: the power is 2 / d.", lambda K, d: (K**2 / d - 1).rsqrt()),
        "cosine": Mistake(
            "That is the cosine of the right memory, 1 / sqrt(1 + sigma^2): solve for sigma.",
            lambda K, d: (1 - K ** (-2 / d)).sqrt(),
        ),
        "large noise": Mistake(
            "You took 1/sigma^2 for ln(1 + 1/sigma^2): they agree only where the noise is large.",
            lambda K, d: (d / (2 * K.log())).sqrt(),
        ),
        "upside down": Mistake("That is one over the noise.", lambda K, d: 1 / _frozen(K, d)),
        "temperature": Mistake("That is beta = 1/sigma^2: return sigma.", lambda K, d: 1 / _frozen(K, d).square()),
    },
)


def _scores() -> list[tuple[Tensor]]:
    """Scores around zero, and scores in the thousands, of either sign."""
    few, many = draws((4, 3), (3, 5), seed=77)
    return [(1.5 * few - 0.5,), (800 * many + torch.tensor([[-3000.0], [1500.0], [0.0]]).double(),)]


def _shifted(s: Tensor) -> Tensor:
    return (s - s.amax(-1, keepdim=True)).exp()


SINK: Exercise[[Tensor]] = Exercise(
    reference=lambda s: (s - torch.logaddexp(s.logsumexp(-1, keepdim=True), s.new_zeros(()))).exp(),
    inputs=_scores,
    mistakes={
        "shifted without the ghost": Mistake(
            "You took the largest score off the keys and not off the ghost, whose 1 becomes exp(-largest).",
            lambda s: _shifted(s) / (1 + _shifted(s).sum(-1, keepdim=True)),
        ),
        "overflow": Mistake(
            "exp of a score in the thousands is no number. Take the largest of all scores off first, the ghost's zero too.",
            lambda s: s.exp() / (1 + s.exp().sum(-1, keepdim=True)),
        ),
        "no ghost": Mistake("That is softmax: the ghost adds 1 to Z.", lambda s: s.softmax(-1)),
        "a ghost for each key": Mistake(
            "You gave each key a ghost of its own. There is one for the whole row.", lambda s: s.sigmoid()
        ),
        "ghost returned": Mistake(
            "Return the weights of the keys. What the ghost takes is what they lack to one.",
            lambda s: torch.cat([s, s.new_zeros(len(s), 1)], -1).softmax(-1),
        ),
        "wrong one dropped": Mistake(
            "You put the ghost first and dropped the last key.",
            lambda s: torch.cat([s.new_zeros(len(s), 1), s], -1).softmax(-1)[:, :-1],
        ),
        "score of one": Mistake(
            "The ghost has the score zero: then it adds 1 to Z.",
            lambda s: torch.cat([s, s.new_ones(len(s), 1)], -1).softmax(-1)[:, :-1],
        ),
        "one beside weights": Mistake(
            "The 1 belongs beside the exponentials, before they are divided by their sum.", lambda s: s.softmax(-1) / 2
        ),
        "clamped": Mistake(
            "You cut the scores off: large ones are no longer told apart. Take the largest off instead.",
            lambda s: s.clamp(max=50).exp() / (1 + s.clamp(max=50).exp().sum(-1, keepdim=True)),
        ),
        "added up": Mistake(
            "You let the weights sum to one again: the ghost keeps its share.",
            lambda s: torch.cat([s, s.new_zeros(len(s), 1)], -1).softmax(-1)[:, :-1].softmax(-1),
        ),
    },
)


def _miscooled() -> list[tuple[Tensor, Tensor]]:
    """Weights of posteriors made too cold and too hot; the right keys follow the posteriors."""
    generator, found = torch.Generator().manual_seed(78), []
    for scores, factor in zip(draws((60, 5), (40, 4), seed=79), (2.5, 0.5), strict=True):
        keys = torch.multinomial((1.5 * scores).softmax(-1), 1, True, generator=generator)[:, 0]
        found.append(((1.5 * factor * scores).softmax(-1), keys))
    return found


def _root(gap: Callable[[Tensor], Tensor], p: Tensor) -> Tensor:
    """Where a rising function of a factor vanishes, by halving the interval of its logarithm."""
    low, high = p.new_tensor(-4.0), p.new_tensor(4.0)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = torch.where(gap(middle.exp()) < 0, middle, low), torch.where(gap(middle.exp()) < 0, high, middle)
    return ((low + high) / 2).exp()


def _tempered(p: Tensor, b: Tensor | float) -> Tensor:
    return (b * p.log()).softmax(-1)


def _factor(p: Tensor, t: Tensor) -> Tensor:
    def gap(b: Tensor) -> Tensor:
        q = _tempered(p, b)
        return q.square().sum(-1).mean() - _right(q, t).mean()

    return _root(gap, p)


def _sharpest_fit(p: Tensor, t: Tensor) -> Tensor:
    """Where the log loss is least: its slope with the factor, the mean energy less that of the right keys, vanishes."""
    return _root(lambda b: ((_tempered(p, b) * p.log()).sum(-1) - _right(p, t).log()).mean(), p)


def _unweighted(p: Tensor, t: Tensor) -> Tensor:
    def gap(b: Tensor) -> Tensor:
        q = _tempered(p, b)
        return (q.square().sum(-1) / _right(q, t)).mean() - 1

    return _root(gap, p)


FACTOR: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_factor,
    inputs=_miscooled,
    mistakes={
        "inverse": Mistake(
            "That is how much too cold the weights are; the factor that puts it right is one over it.",
            lambda p, t: 1 / _factor(p, t),
        ),
        "log loss": Mistake(
            "That is where the log loss is least. On a sample it is not where U is one: solve U = 1.", _sharpest_fit
        ),
        "reading": Mistake(
            "That is U itself. It is a ratio of chances, not of temperatures.",
            lambda p, t: p.square().sum(-1).mean() / _right(p, t).mean(),
        ),
        "one over the reading": Mistake(
            "U is a ratio of chances, not of temperatures: dividing by it does not bring it to one.",
            lambda p, t: _right(p, t).mean() / p.square().sum(-1).mean(),
        ),
        "mean of ratios": Mistake("Your U is a mean of ratios. Take both means first, then divide.", _unweighted),
        "logarithm": Mistake("That is the logarithm of the factor.", lambda p, t: _factor(p, t).log()),
        "right key kept": Mistake(
            "The weight of the right key changes with the factor too.",
            lambda p, t: _root(lambda b: (_tempered(p, b).square().sum(-1) - _right(p, t)).mean(), p),
        ),
        "not normalised": Mistake(
            "Powers of weights must be divided by their sum again.",
            lambda p, t: _root(lambda b: ((p**b).square().sum(-1) - _right(p**b, t)).mean(), p),
        ),
        "weights for scores": Mistake(
            "You took weights for scores: scores are their logarithms.",
            lambda p, t: _root(lambda b: ((b * p).softmax(-1).square().sum(-1) - _right((b * p).softmax(-1), t)).mean(), p),
        ),
        "hits": Mistake(
            "You made the largest weight as large as it is often right: that is another calibration than U = 1.",
            lambda p, t: _root(lambda b: (_tempered(p, b).amax(-1) - (p.argmax(-1) == t).to(p)).mean(), p),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": RECALL, "2": THERMOMETER, "3": FREEZING, "4": SINK, "5": FACTOR}
