# %% [markdown]
# # Assignment 1. Softmax and its limits
#
# Softmax is a Boltzmann distribution: the state with score $s_i$ has the energy $-s_i$, and $\beta$ is the inverse temperature. You write what follows from that, and measure where attention freezes.
#
# - Write your code in place of the dots. Keep the names of the functions and the order of their arguments.
# - Below each answer a check tries it on a few numbers and says what probably went wrong. You are graded on other numbers.
# - Only the functions count. You may add cells and helpers anywhere. The package `attnlib` is not there when you are graded.
# - Run everything from the top before you hand in: *Runtime, Restart and run all*. Hand in this one file.
#
# 20 points. Scores and other numbers arrive as float64 tensors.

# %%
import math

import torch

# %% tags=["teacher"]
from classroom.question import ByHand, Case, Question, Wrong

# %% [markdown]
# ## Question 1. The logarithm of the weights (4 points)
#
# Return $\ln p_i$ with $p = \mathrm{softmax}(\beta s)$ along the last axis: `scores [n, m]`, `beta` a number, returns `[n, m]`.
#
# Scores of many thousands must give finite numbers. Use neither `softmax` nor `log_softmax` nor `logsumexp`.


# %% tags=["answer"]
def log_weights(scores, beta):
    """Logarithms of the weights softmax(beta * scores), [n, m]."""
    # solution
    energies = beta * scores
    shifted = energies - energies.amax(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()
    # end


# %% tags=["teacher"]
def _plain_log(scores, beta):
    return beta * scores - (beta * scores).exp().sum(-1, keepdim=True).log()


QUESTION_1 = Question(
    "1",
    log_weights,
    shown=[(torch.tensor([[1.0, 2.0, 4.0], [0.5, -1.0, 0.0]]).double(), 0.5), (torch.tensor([[0.0, 9000.0]]).double(), 2.0)],
    cases={
        "ordinary scores": Case(1, lambda draw: [(draw(4, 6), draw.number(0.3, 0.8)), (draw(2, 3), draw.number(2, 3))]),
        "far from zero": Case(1, lambda draw: [(4000 + draw(3, 5), 1.5), (-5000 + draw(3, 5), 0.7)]),
        "far apart": Case(1, lambda draw: [(1000 * draw(3, 5).argsort(-1).double(), draw.number(1.5, 2.5))]),
        "one key": Case(1, lambda draw: [(draw(3, 1) + 4000, draw.number(1.5, 2.5)), (draw(2, 3), draw.number(2, 3))]),
    },
    wrong={
        "no shift": Wrong(
            "The exponential of a score in the thousands is infinite, and that of minus some thousands is zero: subtract the largest score of the row first.",
            _plain_log,
            right_in=("ordinary scores",),
        ),
        "log of zero": Wrong(
            "You take the logarithm of the weights. A small weight is rounded to zero before: subtract the logarithm of the sum instead.",
            lambda s, b: torch.softmax(b * s, -1).log(),
            right_in=("ordinary scores", "far from zero", "one key"),
        ),
        "no beta": Wrong(
            "The scores must be multiplied by beta, in the exponent of the sum too.",
            lambda s, b: torch.log_softmax(s, -1),
        ),
        "beta outside": Wrong(
            "You multiplied by beta after the normalisation. The weights do not sum to one then.",
            lambda s, b: b * torch.log_softmax(s, -1),
            right_in=("far apart",),
        ),
        "other axis": Wrong(
            "You normalise along the first axis. Each row is a distribution: sum over the last axis.",
            lambda s, b: torch.log_softmax(b * s, 0),
        ),
        "weights": Wrong(
            "Those are the weights themselves; their logarithm was asked for.", lambda s, b: torch.softmax(b * s, -1)
        ),
    },
)

# %% [markdown]
# ## Question 2. The heat capacity (4 points)
#
# A body that is heated takes up energy. The mean energy is $\langle E \rangle = -\sum_i p_i s_i$, and the heat capacity is
#
# $$ C = \frac{\mathrm{d} \langle E \rangle}{\mathrm{d} T}, \qquad T = 1/\beta. $$
#
# Return it in closed form, without `autograd` and without differences: `scores [n, m]`, `beta` a number, returns `[n]`.


# %% tags=["answer"]
def heat_capacity(scores, beta):
    """The slope of the mean energy with temperature, [n]."""
    # solution
    p = torch.softmax(beta * scores, -1)
    mean = (p * scores).sum(-1, keepdim=True)
    return beta**2 * (p * (scores - mean) ** 2).sum(-1)
    # end


# %% tags=["teacher"]
def _variance(scores, weights):
    return (weights * (scores - (weights * scores).sum(-1, keepdim=True)) ** 2).sum(-1)


QUESTION_2 = Question(
    "2",
    heat_capacity,
    shown=[(torch.tensor([[0.0, 1.0, 3.0, -1.0], [2.0, 2.0, 0.0, 1.0]]).double(), 0.5)],
    cases={
        "hot": Case(2, lambda draw: [(draw(5, 7), draw.number(0.2, 0.6))]),
        "cold": Case(1, lambda draw: [(draw(5, 7), draw.number(2, 4))]),
        "far from zero": Case(1, lambda draw: [(draw(4, 6) + 1e7, draw.number(0.5, 0.8))]),
    },
    wrong={
        "one beta": Wrong(
            "You have dE/dbeta up to sign, times one beta. Since T = 1/beta, dbeta/dT is minus beta squared.",
            lambda s, b: b * _variance(s, torch.softmax(b * s, -1)),
        ),
        "variance alone": Wrong(
            "That is minus dE/dbeta. The temperature is T = 1/beta: a factor beta squared is missing.",
            lambda s, b: _variance(s, torch.softmax(b * s, -1)),
        ),
        "sign": Wrong(
            "Heat capacities are positive: a hotter body has more energy.",
            lambda s, b: -(b**2) * _variance(s, torch.softmax(b * s, -1)),
        ),
        "plain variance": Wrong(
            "The variance is that of the scores under the weights p, not over all keys alike.",
            lambda s, b: b**2 * s.var(-1, unbiased=False),
        ),
        "second moment": Wrong(
            "Subtract the square of the mean: the variance, not the mean square.",
            lambda s, b: b**2 * (torch.softmax(b * s, -1) * s**2).sum(-1),
        ),
        "difference of squares": Wrong(
            "The mean of the squares minus the square of the mean loses its digits where the scores lie far from zero: subtract the mean first.",
            lambda s, b: b**2 * ((torch.softmax(b * s, -1) * s**2).sum(-1) - (torch.softmax(b * s, -1) * s).sum(-1) ** 2),
            right_in=("hot", "cold"),
            shown=False,
        ),
    },
)

# %% [markdown]
# ## Question 3. Two halves of a row (4 points)
#
# The keys of a row lie on two machines. Each sends a summary of its half for one query: the largest score `top`, the sum $Z = \sum_i e^{s_i - \mathrm{top}}$, and the average $o = \sum_i p_i v_i$ of the values with the softmax weights *within its half*, as a tensor `[c]`.
#
# Return the average over both halves, `[c]`, from the two summaries alone. `top` and `Z` are tensors without axes. Scores may lie thousands apart.


# %% tags=["answer"]
def merge(top_1, Z_1, o_1, top_2, Z_2, o_2):
    """The average of all values from the summaries of two halves, [c]."""
    # solution
    top = torch.maximum(top_1, top_2)
    share_1, share_2 = Z_1 * torch.exp(top_1 - top), Z_2 * torch.exp(top_2 - top)
    return (share_1 * o_1 + share_2 * o_2) / (share_1 + share_2)
    # end


# %% tags=["teacher"]
def _halves(scores, values, size):
    parts = [(scores[:size], values[:size]), (scores[size:], values[size:])]
    return tuple(x for s, v in parts for x in (s.max(), (s - s.max()).exp().sum(), torch.softmax(s, -1) @ v))


def _shares(top_1, Z_1, o_1, top_2, Z_2, o_2, shift):
    a, b = Z_1 * torch.exp(top_1 - shift), Z_2 * torch.exp(top_2 - shift)
    return (a * o_1 + b * o_2) / (a + b)


_SHOWN = (torch.tensor([0.0, 1.0, -0.5, 2.0, 0.5]).double(), torch.tensor([[1.0, 0], [0, 1], [2, 1], [-1, 3], [0, 2]]).double())
QUESTION_3 = Question(
    "3",
    merge,
    shown=[_halves(*_SHOWN, 2), _halves(_SHOWN[0] * 2000, _SHOWN[1], 3)],
    cases={
        "ordinary scores": Case(2, lambda draw: [_halves(draw(7), draw(7, 3), 3), _halves(1 + draw(5), draw(5, 2), 4)]),
        "first half ahead": Case(1, lambda draw: [_halves(draw(6) + 3000 * (torch.arange(6) < 2), draw(6, 3), 2)]),
        "second half ahead": Case(1, lambda draw: [_halves(draw(6) + 3000 * (torch.arange(6) > 2), draw(6, 3), 3)]),
    },
    wrong={
        "plain mean": Wrong(
            "You averaged the two with equal weights. A half counts in proportion to its sum of exponentials.",
            lambda a, Z, o, b, W, u: (o + u) / 2,
        ),
        "no tops": Wrong(
            "Each Z was measured from the top of its own half: bring both to the same top before you compare them.",
            lambda a, Z, o, b, W, u: (Z * o + W * u) / (Z + W),
        ),
        "not divided": Wrong(
            "Divide by the sum of both shares: the weights of all keys together must sum to one.",
            lambda a, Z, o, b, W, u: Z * torch.exp(a - torch.maximum(a, b)) * o + W * torch.exp(b - torch.maximum(a, b)) * u,
        ),
        "first top": Wrong(
            "You measure from the top of the first half. Where the second is thousands higher, the exponential is infinite: take the larger.",
            lambda a, Z, o, b, W, u: _shares(a, Z, o, b, W, u, a),
            right_in=("ordinary scores", "first half ahead"),
        ),
        "only the tops": Wrong(
            "You weigh the halves by their largest scores alone. How many keys come near it is what Z counts.",
            lambda a, Z, o, b, W, u: _shares(a, 1.0, o, b, 1.0, u, torch.maximum(a, b)),
            right_in=("first half ahead", "second half ahead"),
        ),
    },
)

# %% [markdown]
# ## Question 4. Experiment: how many keys take part? (4 points)
#
# Let the scores of $m$ keys be $\sigma$ times standard normal numbers, and $\beta = 1$. The number of keys that take part is $1/Y_2$ with $Y_2 = \sum_i p_i^2$.
#
# You get the normal numbers, `draws [samples, m]`, and spreads `sigmas [k]`. Return for each spread the mean of $Y_2$ over the samples, divided by the value that it has at $\sigma = 0$: `[k]`.


# %% tags=["answer"]
def collapse(draws, sigmas):
    """Mean participation ratio at each spread, in units of its value for equal scores, [k]."""
    # solution
    weights = torch.softmax(sigmas[:, None, None] * draws, -1)
    return weights.square().sum(-1).mean(-1) * draws.shape[-1]
    # end


# %% tags=["show"]
draws = torch.randn(2000, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
sigmas = torch.linspace(0, 6, 25, dtype=torch.float64)
curve = collapse(draws, sigmas)
if isinstance(curve, torch.Tensor) and curve.shape == sigmas.shape:
    import matplotlib.pyplot as plt

    plt.plot(sigmas, curve / 64)
    plt.axvline(math.sqrt(2 * math.log(64)), linestyle="--")
    plt.xlabel("spread of the scores")
    plt.ylabel("mean of Y2")
    plt.show()

# %% tags=["teacher"]
QUESTION_4 = Question(
    "4",
    collapse,
    shown=[(torch.tensor([[0.0, 1.0, 2.0, -1.0], [0.5, 0.0, -2.0, 1.0]]).double(), torch.tensor([0.0, 1.0, 3.0]).double())],
    cases={
        "a narrow and a wide spread": Case(2, lambda draw: [(draw(30, 8), torch.tensor([0.5, 4.0]).double())]),
        "many keys": Case(2, lambda draw: [(draw(20, 50), draw(5).abs())]),
    },
    wrong={
        "not divided": Wrong(
            "Divide by the value for equal scores, which is 1/m: your curve starts there instead of at one.",
            lambda d, s: torch.softmax(s[:, None, None] * d, -1).square().sum(-1).mean(-1),
        ),
        "inverse of the mean": Wrong(
            "That is the number of keys as a share of all. The mean of Y2 itself was asked for.",
            lambda d, s: 1 / torch.softmax(s[:, None, None] * d, -1).square().sum(-1).mean(-1) / d.shape[-1],
        ),
        "mean of inverses": Wrong(
            "You averaged 1/Y2. Average Y2.",
            lambda d, s: (1 / torch.softmax(s[:, None, None] * d, -1).square().sum(-1)).mean(-1) / d.shape[-1],
        ),
        "mean weights": Wrong(
            "You averaged the weights over the samples before you squared them. Each sample has its own Y2.",
            lambda d, s: torch.softmax(s[:, None, None] * d, -1).mean(1).square().sum(-1) * d.shape[-1],
        ),
        "one softmax for all": Wrong(
            "Softmax runs over the keys, the last axis, in each sample by itself.",
            lambda d, s: torch.stack([torch.softmax((x * d).flatten(), 0).square().sum() for x in s]) * d.numel(),
        ),
        "variance for spread": Wrong(
            "Multiply the draws by sigma, not by its square or its root.",
            lambda d, s: torch.softmax((s**2)[:, None, None] * d, -1).square().sum(-1).mean(-1) * d.shape[-1],
        ),
    },
)

# %% [markdown] tags=["by-hand"]
# ## Question 5. What the curve says (4 points)
#
# Look at your curve of question 4 and at the dashed line. For 64 keys, at which spread would you call attention frozen, and why does the line stand where the steepest part nearly is? What changes when there are 4096 keys? And which product of a trained layer is "the spread" here? Six sentences.

# %% [markdown] tags=["teacher"]
# **Rubric.** One point each: a number read from the curve with the criterion used ($Y_2 = 1/2$: 4.45; a largest weight of one half, which is not plotted, would be 3.2; $Y_2$ at the dashed line, 2.88, is 0.31); the largest of $m$ normal numbers grows like $\sqrt{2 \ln m}$, so that beyond it the top state outweighs the sum of all others; 4096 keys move it to $\sqrt{2 \ln 4096} = 4.08$ only (the curve is steeper in units of that spread, not of $\sigma$: its largest slope falls from 0.17 to 0.13); the spread is $\beta$ times the standard deviation of the query-key products, so that weights and $\beta$ set it together.

# %% tags=["teacher"]
QUESTION_5 = ByHand("5", 4)
