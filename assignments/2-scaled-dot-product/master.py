# %% [markdown]
# # Assignment 2. The scaled dot product
#
# Queries meet keys, scores become weights, weights average values. You write attention with its order in time, its places and its heads, find the right inverse temperature for given maps, and measure what the square root is for.
#
# - Write your code in place of the dots. Keep the names of the functions and the order of their arguments.
# - Below each answer a check tries it on a few numbers and says what probably went wrong. You are graded on other numbers.
# - Only the functions count. You may add cells and helpers anywhere. The package `attnlib` is not there when you are graded.
# - Run everything from the top before you hand in: *Runtime, Restart and run all*. Hand in this one file.
#
# 24 points. Numbers arrive as float64 tensors.

# %%
import torch

# %% tags=["teacher"]
from classroom.question import ByHand, Case, Draw, Question, Wrong

# %% [markdown]
# ## Question 1. Attention that does not look ahead (4 points)
#
# Token $i$ attends to itself and to what came before it: average the values with $p_{ij} \propto \exp(q_i \cdot k_j / \sqrt d)$ over $j \le i$. `query [n, d]`, `key [n, d]`, `value [n, c]`, returns `[n, c]`. Scores in the thousands must not overflow.


# %% tags=["answer"]
def causal_attention(query, key, value):
    """Each token's average over itself and the tokens before it, [n, c]."""
    # solution
    scores = query @ key.T / query.shape[-1] ** 0.5
    later = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(later, -torch.inf), -1) @ value
    # end


# %% tags=["teacher"]
def _causal(q, k, v, scale=None, kept=lambda allowed: allowed, axis=-1):
    scores = q @ k.T / (q.shape[-1] ** 0.5 if scale is None else scale)
    allowed = kept(torch.ones(scores.shape).tril() > 0)
    return torch.softmax(scores.masked_fill(~allowed, -torch.inf), axis) @ v


def _unshifted(q, k, v):
    factors = (q @ k.T / q.shape[-1] ** 0.5).exp().tril()
    return factors @ v / factors.sum(-1, keepdim=True)


def _long(x, length):
    """A component that all have in common: scores are in the thousands, their differences are not."""
    return torch.cat([x, torch.full_like(x[:, :1], length)], -1)


_TOKENS = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0], [1.0, 1.0, 0.5], [-1.0, 2.0, 0.0]]).double()
_VALUES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0], [1.0, 3.0]]).double()
QUESTION_1 = Question(
    "1",
    causal_attention,
    shown=[(_TOKENS, _TOKENS.flip(1), _VALUES), (500 * _TOKENS, 3 * _TOKENS.flip(0), _VALUES)],
    cases={
        "ordinary tokens": Case(3, lambda draw: [(draw(5, 4), draw(5, 4), draw(5, 3)), (draw(3, 6), draw(3, 6), draw(3, 2))]),
        "long vectors": Case(1, lambda draw: [(_long(draw(6, 3), 90), _long(draw(6, 3), 80), draw(6, 2))]),
    },
    wrong={
        "no scale": Wrong("Divide the scores by the square root of the width d.", lambda q, k, v: _causal(q, k, v, 1.0)),
        "width for root": Wrong(
            "You divided by d; the scores of d independent numbers spread by its square root.",
            lambda q, k, v: _causal(q, k, v, q.shape[-1]),
        ),
        "width of the values": Wrong(
            "The width that counts is that of queries and keys, not that of the values.",
            lambda q, k, v: _causal(q, k, v, v.shape[-1] ** 0.5),
        ),
        "looks ahead": Wrong(
            "Each token sees the later ones too: their weights must be zero.",
            lambda q, k, v: _causal(q, k, v, kept=torch.ones_like),
        ),
        "turned": Wrong(
            "The mask is transposed: your tokens see only themselves and what comes after.",
            lambda q, k, v: _causal(q, k, v, kept=lambda allowed: allowed.T),
        ),
        "not normalised": Wrong(
            "You closed the later tokens after the softmax, so that the weights left do not sum to one. Set their scores to minus infinity before.",
            lambda q, k, v: torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1).tril() @ v,
        ),
        "other axis": Wrong(
            "Softmax runs over the keys, the last axis of the scores, not over the queries.",
            lambda q, k, v: _causal(q, k, v, axis=0),
        ),
        "no shift": Wrong(
            "The exponential of a score in the thousands is infinite. Use softmax, or subtract each row's largest score first.",
            _unshifted,
            right_in=("ordinary tokens",),
        ),
    },
)

# %% [markdown]
# ## Question 2. Places as angles (4 points)
#
# Number the tokens $t = 0, 1, 2, \dots$ and take the components of each in neighbouring pairs $(x_{2a}, x_{2a+1})$. Turn pair $a$ of token $t$ by the angle $t \omega_a$, against the clock:
#
# $$ (x, y) \to (x \cos \phi - y \sin \phi,\; x \sin \phi + y \cos \phi), \qquad \phi = t \omega_a. $$
#
# `x [n, d]` with even `d`, `omega [d / 2]`, returns `[n, d]`. The dot product of a turned query and a turned key then depends on the difference of their places only.


# %% tags=["answer"]
def turn(x, omega):
    """Tokens with each pair of components turned by place times frequency, [n, d]."""
    # solution
    angle = torch.arange(len(x), dtype=x.dtype)[:, None] * omega
    even, odd = x[:, 0::2], x[:, 1::2]
    turned = [even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()]
    return torch.stack(turned, -1).flatten(1)
    # end


# %% tags=["teacher"]
def _turned(x, omega, first=0, sign=1.0, together=True, halves=False):
    angle = sign * torch.arange(first, first + len(x), dtype=x.dtype)[:, None] * omega
    a, b = x.chunk(2, -1) if halves else (x[:, 0::2], x[:, 1::2])
    parts = [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.stack(parts, -1).flatten(1) if together else torch.cat(parts, -1)


def _same_sign(x, omega):
    angle = torch.arange(len(x), dtype=x.dtype)[:, None] * omega
    a, b = x[:, 0::2], x[:, 1::2]
    return torch.stack([a * angle.cos() + b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(1)


QUESTION_2 = Question(
    "2",
    turn,
    shown=[
        (
            torch.tensor([[1.0, 0.0, 2.0, 1.0], [1.0, 0.5, 0.0, 1.0], [0.0, 2.0, -1.0, 1.0]]).double(),
            torch.tensor([1.0, 0.25]).double(),
        )
    ],
    cases={
        "a few tokens": Case(2, lambda draw: [(draw(4, 6), draw(3).abs())]),
        "many places": Case(2, lambda draw: [(draw(40, 4), draw(2).abs() + 0.1)]),
    },
    wrong={
        "halves": Wrong(
            "You paired the first half of the components with the second. Neighbours are a pair here: 0 and 1, 2 and 3.",
            lambda x, w: _turned(x, w, halves=True, together=False),
        ),
        "left apart": Wrong(
            "The turned pairs must lie where they came from: you put all first components before all second ones.",
            lambda x, w: _turned(x, w, together=False),
        ),
        "with the clock": Wrong(
            "You turn with the clock: the sign of the angle is wrong.", lambda x, w: _turned(x, w, sign=-1.0)
        ),
        "from one": Wrong("The first token is at place 0 and is not turned.", lambda x, w: _turned(x, w, first=1)),
        "no rotation": Wrong("One of the two products with the sine has a minus sign, else lengths change.", _same_sign),
    },
)

# %% [markdown]
# ## Question 3. The temperature of two maps (3 points)
#
# Tokens $x$ and $y$ are independent, with independent standard normal components. A layer makes $q = x W_q$ and $k = y W_k$ with `W_q [dim, d]`, `W_k [dim, d]`. Return, as a tensor without axes, the $\beta$ for which the scores $\beta\, q \cdot k$ have the standard deviation one. It is exact, and $1/\sqrt d$ only for some maps.


# %% tags=["answer"]
def unit_beta(W_q, W_k):
    """The inverse temperature at which the scores of random tokens have unit spread, a number."""
    # solution
    return 1 / torch.linalg.matrix_norm(W_q @ W_k.T)
    # end


# %% tags=["teacher"]
QUESTION_3 = Question(
    "3",
    unit_beta,
    shown=[
        (
            torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]]).double(),
            torch.tensor([[1.0, 1.0], [0.0, 2.0], [-1.0, 0.5]]).double(),
        )
    ],
    cases={
        "independent maps": Case(2, lambda draw: [(draw(6, 3), draw(6, 3)), (draw(5, 8), 3 * draw(5, 8))]),
        "nearly the same map": Case(1, lambda draw: [(lambda W: (W, W + 0.1 * draw(7, 4)))(draw(7, 4))]),
    },
    wrong={
        "root of the width": Wrong(
            "That is 1/sqrt(d), which is right where the components of q and k are independent with variance one. Here the maps decide.",
            lambda a, b: torch.tensor(a.shape[-1] ** -0.5).double(),
        ),
        "norms apart": Wrong(
            "You took the norms of the two maps apart. What counts is the norm of their product: directions that both let through.",
            lambda a, b: 1 / (a.norm() * b.norm()),
        ),
        "variance": Wrong(
            "You divided by the variance; its root is the standard deviation.", lambda a, b: 1 / (a @ b.T).square().sum()
        ),
        "trace": Wrong(
            "The trace is the mean score of a token with itself. The two tokens are independent.",
            lambda a, b: 1 / (a @ b.T).trace().abs(),
        ),
        "largest singular value": Wrong(
            "That is the longest stretch in one direction; the variance adds the squares of all.",
            lambda a, b: 1 / torch.linalg.matrix_norm(a @ b.T, 2),
        ),
        "wrong product": Wrong(
            "W_q^T W_k maps head components to head components; the score is x W_q W_k^T y.", lambda a, b: 1 / (a.T @ b).norm()
        ),
    },
)

# %% [markdown]
# ## Question 4. Heads (4 points)
#
# Cut queries, keys and values along the last axis into `heads` equal pieces, in their order. Let each piece attend by itself, at the $1/\sqrt{\cdot}$ of *its own* width, and put the results side by side again. `query [n, d]`, `key [m, d]`, `value [m, c]`, `heads` a whole number, returns `[n, c]`.


# %% tags=["answer"]
def in_heads(query, key, value, heads):
    """Attention in several heads, side by side, [n, c]."""
    # solution
    pieces = zip(*(x.chunk(heads, dim=-1) for x in (query, key, value)))
    return torch.cat([torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1) @ v for q, k, v in pieces], -1)
    # end


# %% tags=["teacher"]
def _heads(q, k, v, heads, cut=lambda x, heads: x.chunk(heads, -1), width=None, join=lambda parts: torch.cat(parts, -1)):
    pieces = zip(*(cut(x, heads) for x in (q, k, v)), strict=True)
    return join([torch.softmax(a @ b.T / (width or a.shape[-1]) ** 0.5, -1) @ c for a, b, c in pieces])


QUESTION_4 = Question(
    "4",
    in_heads,
    shown=[
        (
            torch.tensor([[1.0, 2.0, 0.0, 1.0], [0.0, -1.0, 1.0, 2.0]]).double(),
            torch.tensor([[0.5, 1.0, 2.0, 0.0], [1.0, 0.0, -1.0, 1.0], [2.0, 1.0, 1.0, 0.5]]).double(),
            torch.tensor([[1.0, 0.0, 3.0, 1.0], [2.0, 1.0, 0.0, -1.0], [0.0, 4.0, 1.0, 2.0]]).double(),
            2,
        )
    ],
    cases={
        "two heads": Case(2, lambda draw: [(draw(3, 8), draw(5, 8), draw(5, 4), 2)]),
        "three heads": Case(2, lambda draw: [(draw(4, 6), draw(4, 6), draw(4, 9), 3)]),
    },
    wrong={
        "whole width": Wrong(
            "You scale by the whole width. Each head has its own, smaller one: d / heads.",
            lambda q, k, v, h: _heads(q, k, v, h, width=q.shape[-1]),
        ),
        "one head": Wrong("The heads must attend each by itself; you have one for all.", lambda q, k, v, h: _heads(q, k, v, 1)),
        "interleaved": Wrong(
            "A head is a run of neighbouring components; you took every heads-th one.",
            lambda q, k, v, h: _heads(q, k, v, h, cut=lambda x, n: [x[:, i::n] for i in range(n)]),
        ),
        "mean of heads": Wrong(
            "You averaged one set of weights over the heads. Each head keeps its own.",
            lambda q, k, v, h: (
                torch.stack(
                    [
                        torch.softmax(a @ b.T / a.shape[-1] ** 0.5, -1)
                        for a, b in zip(q.chunk(h, -1), k.chunk(h, -1), strict=True)
                    ]
                ).mean(0)
                @ v
            ),
        ),
        "reversed": Wrong(
            "The heads come out in another order than they went in.",
            lambda q, k, v, h: _heads(q, k, v, h, join=lambda p: torch.cat(p[::-1], -1)),
        ),
    },
)

# %% [markdown]
# ## Question 5. Experiment: what the root is for (4 points)
#
# Take $\beta = w^{-\text{power}}$ for vectors of width $w$: `power` 0 leaves the dot product alone, 1/2 is the usual scale, 1 divides by the width.
#
# You get `query [samples, D]`, `key [samples, m, D]` and `widths [k]`, whole numbers up to $D$. For each width use the first $w$ components, and return the mean over the samples of the *largest weight*: `[k]`.


# %% tags=["answer"]
def largest_weight(query, key, widths, power):
    """Mean of the largest weight at each width, for beta = width ** -power, [k]."""
    # solution
    curve = []
    for w in widths.tolist():
        scores = torch.einsum("sd,smd->sm", query[:, :w], key[..., :w])
        curve.append(torch.softmax(w**-power * scores, -1).amax(-1).mean())
    return torch.stack(curve)
    # end


# %% tags=["show"]
generator = torch.Generator().manual_seed(0)
query = torch.randn(300, 256, dtype=torch.float64, generator=generator)
key = torch.randn(300, 32, 256, dtype=torch.float64, generator=generator)
widths = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128, 256])
curves = {power: largest_weight(query, key, widths, power) for power in (0.0, 0.5, 1.0)}
if all(isinstance(curve, torch.Tensor) and curve.shape == widths.shape for curve in curves.values()):
    import matplotlib.pyplot as plt

    for power, curve in curves.items():
        plt.semilogx(widths, curve, "o-", base=2, label=f"power {power}")
    plt.xlabel("width")
    plt.ylabel("mean of the largest weight")
    plt.legend()
    plt.show()


# %% tags=["teacher"]
def _largest(query, key, widths, power, all_of_it=False, last=lambda p: p.amax(-1).mean()):
    curve = []
    for w in widths.tolist():
        seen = query.shape[-1] if all_of_it else w
        scores = torch.einsum("sd,smd->sm", query[:, :seen], key[..., :seen])
        curve.append(last(torch.softmax(w**-power * scores, -1)))
    return torch.stack(curve)


_Q, _K = ((10 * draw).round() / 10 for draw in (Draw(1)(3, 4), Draw(2)(3, 3, 4)))
QUESTION_5 = Question(
    "5",
    largest_weight,
    shown=[(_Q, _K, torch.tensor([1, 2, 4]), 0.5), (_Q, _K, torch.tensor([2, 3]), 1.0)],
    cases={
        "the usual scale": Case(1, lambda draw: [(draw(20, 16), draw(20, 5, 16), torch.tensor([2, 5, 16]), 0.5)]),
        "other powers": Case(
            3,
            lambda draw: [
                (draw(20, 12), draw(20, 6, 12), torch.tensor([3, 12, 7]), power) for power in (0.0, 1.0, draw.number(0.2, 0.4))
            ],
        ),
    },
    wrong={
        "always the root": Wrong(
            "You scale by the square root whatever the power is.",
            lambda q, k, w, p: _largest(q, k, w, 0.5),
            right_in=("the usual scale",),
        ),
        "growing": Wrong(
            "beta is the width to the power *minus* p: it falls with the width.", lambda q, k, w, p: _largest(q, k, w, -p)
        ),
        "all components": Wrong(
            "Use the first w components of queries and keys at width w; you used all of them.",
            lambda q, k, w, p: _largest(q, k, w, p, all_of_it=True),
        ),
        "largest of the mean": Wrong(
            "You averaged the weights over the samples first. Take each sample's largest weight, then the mean.",
            lambda q, k, w, p: _largest(q, k, w, p, last=lambda x: x.mean(0).amax()),
        ),
        "largest of all": Wrong(
            "You took the largest of all samples; their mean was asked for.",
            lambda q, k, w, p: _largest(q, k, w, p, last=lambda x: x.amax()),
        ),
        "participation": Wrong(
            "That is the participation ratio; the largest weight was asked for.",
            lambda q, k, w, p: _largest(q, k, w, p, last=lambda x: x.square().sum(-1).mean()),
        ),
    },
)

# %% [markdown] tags=["by-hand"]
# ## Question 6. Reading the three curves (5 points)
#
# Say what each of your three curves does as the width grows, and why: which physical quantity stays the same along the one that is level? Where does the argument for the root use that the components are independent, and what did question 3 show about maps where they are not? What would you expect of the curve for the power 1 in a layer that is *trained*, with $\beta$ fixed at $1/d$? Eight sentences.

# %% [markdown] tags=["teacher"]
# **Rubric.** One point each: power 0 freezes, since the spread of the scores grows like the root of the width; power 1/2 is level, because the spread of beta times the score, the ratio of energy to temperature, stays one; power 1 melts towards 1/32; the variance of a sum is the sum of variances only for uncorrelated components, and in question 3 the norm of the product of the maps takes the place of the root; training can grow the maps and undo any fixed beta, so that the power matters at the start and for the speed, not for what can be represented.

# %% tags=["teacher"]
QUESTION_6 = ByHand("6", 5)
