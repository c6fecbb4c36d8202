# %% [markdown]
# # Assignment 3. Hopfield energies
#
# A memory is a valley. You write the energy, walk down it, measure how steep its walls are, and find out how many patterns two kinds of memory hold.
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
# ## Question 1. The energy (4 points)
#
# $$ E(\xi) = \tfrac12 \xi \cdot \xi - \frac1\beta \ln \sum_i e^{\beta\, x_i \cdot \xi} $$
#
# for states $\xi$, rows of `state [n, d]`, and memories $x_i$, rows of `memory [m, d]`. Returns `[n]`. Memories with thousands of components must not overflow.


# %% tags=["answer"]
def energy(state, memory, beta):
    """The energy of each state, [n]."""
    # solution
    smooth = torch.logsumexp(beta * state @ memory.T, -1) / beta
    return state.square().sum(-1) / 2 - smooth
    # end


# %% tags=["teacher"]
_STATE = torch.tensor([[1.0, 0.0, 2.0], [0.5, -1.0, 1.0]]).double()
_MEMORY = torch.tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [-1.0, 0.5, 0.5], [2.0, 0.0, -1.0]]).double()
QUESTION_1 = Question(
    "1",
    energy,
    shown=[(_STATE, _MEMORY, 0.5), (100 * _STATE, 20 * _MEMORY, 2.0)],
    cases={
        "ordinary states": Case(
            3, lambda draw: [(draw(4, 3), draw(5, 3), draw.number(0.3, 0.8)), (draw(2, 6), draw(4, 6), draw.number(2, 3))]
        ),
        "long vectors": Case(1, lambda draw: [(60 * draw(3, 4), 60 * draw(5, 4), draw.number(1.2, 2))]),
    },
    wrong={
        "no half": Wrong(
            "The length counts half: your valleys lie at half the memories.",
            lambda s, x, b: s.square().sum(-1) - torch.logsumexp(b * s @ x.T, -1) / b,
        ),
        "not divided by beta": Wrong(
            "Divide the logarithm by beta: a free energy is minus T times ln Z.",
            lambda s, x, b: s.square().sum(-1) / 2 - torch.logsumexp(b * s @ x.T, -1),
        ),
        "no beta inside": Wrong(
            "The scores in the exponent are multiplied by beta too.",
            lambda s, x, b: s.square().sum(-1) / 2 - torch.logsumexp(s @ x.T, -1) / b,
        ),
        "sign": Wrong(
            "Near a memory the energy is low: the logarithm is subtracted.",
            lambda s, x, b: s.square().sum(-1) / 2 + torch.logsumexp(b * s @ x.T, -1) / b,
        ),
        "no length": Wrong(
            "Without half the squared length nothing holds the state back: the energy has no minimum.",
            lambda s, x, b: -torch.logsumexp(b * s @ x.T, -1) / b,
        ),
        "no shift": Wrong(
            "The exponential overflows. Use logsumexp, or subtract the largest score first.",
            lambda s, x, b: s.square().sum(-1) / 2 - (b * s @ x.T).exp().sum(-1).log() / b,
            right_in=("ordinary states",),
        ),
    },
)

# %% [markdown]
# ## Question 2. Downhill (4 points)
#
# Walk down that energy: `steps` times, $\xi \leftarrow \xi - \gamma \nabla E(\xi)$. With `state [n, d]`, `memory [m, d]`, returns `[n, d]`. At $\gamma = 1$ one step is attention; here $\gamma$ is any number.


# %% tags=["answer"]
def descend(state, memory, beta, gamma, steps):
    """States after some steps down the energy, [n, d]."""
    # solution
    for _ in range(steps):
        attended = torch.softmax(beta * state @ memory.T, -1) @ memory
        state = (1 - gamma) * state + gamma * attended
    return state
    # end


# %% tags=["teacher"]
def _walk(state, memory, beta, gamma, steps, residual=None, frozen=False, sharp=None):
    start = state
    for _ in range(steps):
        attended = torch.softmax((beta if sharp is None else sharp) * (start if frozen else state) @ memory.T, -1) @ memory
        state = (1 - gamma if residual is None else residual) * state + gamma * attended
    return state


QUESTION_2 = Question(
    "2",
    descend,
    shown=[(_STATE, _MEMORY, 0.5, 0.25, 3)],
    cases={
        "one step": Case(1, lambda draw: [(draw(4, 3), draw(5, 3), draw.number(0.3, 0.8), draw.number(0.2, 0.7), 1)]),
        "many steps": Case(3, lambda draw: [(draw(4, 5), draw(6, 5), draw.number(1.2, 2), draw.number(0.2, 0.7), 6)]),
    },
    wrong={
        "one step only": Wrong(
            "Each step starts where the last one ended; you return after one.",
            lambda s, x, b, g, n: _walk(s, x, b, g, 1),
            right_in=("one step",),
        ),
        "frozen weights": Wrong(
            "The weights are those of the first state throughout. Compute them again at each step.",
            lambda s, x, b, g, n: _walk(s, x, b, g, n, frozen=True),
            right_in=("one step",),
        ),
        "gamma one": Wrong("You take the whole step: gamma is left out.", lambda s, x, b, g, n: _walk(s, x, b, 1.0, n)),
        "state kept": Wrong(
            "That is state plus gamma times attention, a residual branch. The gradient also holds the state itself: it shrinks by gamma.",
            lambda s, x, b, g, n: _walk(s, x, b, g, n, residual=1.0),
        ),
        "uphill": Wrong("You walk uphill: the gradient is subtracted.", lambda s, x, b, g, n: _walk(s, x, b, -g, n)),
        "no beta": Wrong(
            "The weights are softmax(beta x . xi); beta is missing.", lambda s, x, b, g, n: _walk(s, x, b, g, n, sharp=1.0)
        ),
    },
)

# %% [markdown]
# ## Question 3. How steep are the walls? (4 points)
#
# The second derivatives of the energy at a state are a symmetric matrix `[d, d]`. Return its eigenvalues in ascending order, `[d]`, for one state `[d]` and `memory [m, d]`. A negative one says that the state lies on a ridge. Write the matrix in closed form: no `autograd`.


# %% tags=["answer"]
def curvatures(state, memory, beta):
    """Eigenvalues of the second derivatives of the energy, ascending, [d]."""
    # solution
    p = torch.softmax(beta * memory @ state, 0)
    around = memory - p @ memory
    covariance = around.T @ (p[:, None] * around)
    return torch.linalg.eigvalsh(torch.eye(len(state), dtype=state.dtype) - beta * covariance)
    # end


# %% tags=["teacher"]
def _curved(state, memory, beta, times=None, identity=1.0, centred=True, weighted=True):
    p = torch.softmax(beta * memory @ state, 0)
    p = p if weighted else torch.full_like(p, 1 / len(p))
    around = memory - p @ memory if centred else memory
    matrix = around.T @ (p[:, None] * around)
    return torch.linalg.eigvalsh(identity * torch.eye(len(state)).double() - (beta if times is None else times) * matrix)


QUESTION_3 = Question(
    "3",
    curvatures,
    shown=[(_STATE[0], _MEMORY, 0.5)],
    cases={
        "more memories than components": Case(2, lambda draw: [(draw(3), draw(6, 3), draw.number(0.3, 0.8))]),
        "fewer": Case(2, lambda draw: [(0.3 * draw(6), draw(3, 6), draw.number(1.2, 2))]),
    },
    wrong={
        "no beta": Wrong("The slope of softmax brings a factor beta.", lambda s, x, b: _curved(s, x, b, times=1.0)),
        "beta squared": Wrong(
            "One beta too many: the 1/beta in front of the logarithm takes one away.",
            lambda s, x, b: _curved(s, x, b, times=b * b),
        ),
        "no identity": Wrong(
            "Half the squared length has second derivatives too: the identity.", lambda s, x, b: _curved(s, x, b, identity=0.0)
        ),
        "turned": Wrong(
            "The covariance is subtracted: the spread of the memories makes the walls less steep.",
            lambda s, x, b: _curved(s, x, b, times=-b),
        ),
        "second moment": Wrong(
            "Subtract the mean memory: a covariance, not the mean product.", lambda s, x, b: _curved(s, x, b, centred=False)
        ),
        "equal weights": Wrong(
            "The covariance is taken under the weights at this state, not over all memories alike.",
            lambda s, x, b: _curved(s, x, b, weighted=False),
        ),
    },
)

# %% [markdown]
# ## Question 4. Hebb's rule (4 points)
#
# Patterns of spins $\pm 1$, rows of `patterns [m, d]`, are stored in couplings $J_{ij} = \frac1d \sum_\mu x_i^\mu x_j^\mu$ with $J_{ii} = 0$. A spin of a pattern is *unstable* when its local field $\sum_j J_{ij} x_j$ does not have its sign: $x_i \sum_j J_{ij} x_j \le 0$. Count the unstable spins of each pattern: whole numbers, `[m]`.


# %% tags=["answer"]
def unstable(patterns):
    """How many spins of each stored pattern would flip, [m]."""
    # solution
    couplings = patterns.T @ patterns  # d times J: whole numbers, so that a field of zero is zero
    couplings.fill_diagonal_(0)
    return (patterns * (patterns @ couplings) <= 0).sum(-1)
    # end


# %% tags=["teacher"]
def _aligned(patterns, diagonal=0.0):
    J = patterns.T @ patterns / patterns.shape[-1]
    return patterns * (patterns @ J.fill_diagonal_(diagonal * len(patterns) / patterns.shape[-1]))


# An odd number of patterns of an even number of spins: d times a field is odd then. A field of zero would be for rounding
# to decide, and who divides by d elsewhere than the reference would count others.
_SPINS = torch.tensor(
    [[1, -1, 1, 1, -1, 1], [1, 1, -1, 1, 1, 1], [-1, -1, 1, -1, 1, 1], [1, 1, 1, -1, -1, -1], [-1, 1, 1, 1, 1, -1]]
).double()
QUESTION_4 = Question(
    "4",
    unstable,
    shown=[(_SPINS,)],
    cases={
        "many patterns": Case(2, lambda draw: [(draw.spins(41, 60),)]),
        "very many patterns": Case(2, lambda draw: [(draw.spins(71, 60),)]),
    },
    wrong={
        "with itself": Wrong(
            "The diagonal of J must be zero: a spin that couples to itself holds itself fast.",
            lambda x: (_aligned(x, 1.0) <= 0).sum(-1),
        ),
        "stable ones": Wrong("You counted the stable spins.", lambda x: (_aligned(x) > 0).sum(-1)),
        "share": Wrong(
            "You returned a share; the number of spins was asked for.", lambda x: (_aligned(x) <= 0).double().mean(-1)
        ),
        "other axis": Wrong(
            "You counted for each spin over the patterns; count for each pattern over its spins.",
            lambda x: (_aligned(x) <= 0).sum(0),
        ),
        "sum over all": Wrong("One number for each pattern was asked for.", lambda x: (_aligned(x) <= 0).sum()),
        "whole patterns": Wrong(
            "You say which patterns are unstable; count their unstable spins.", lambda x: (_aligned(x) <= 0).any(-1).long()
        ),
    },
)

# %% [markdown]
# ## Question 5. Experiment: what comes back? (4 points)
#
# Store spin patterns as memories of the energy of question 1. Start at a spoilt copy, `spoilt [m, d]`, of each of the `patterns [m, d]`, take `steps` steps with $\gamma = 1$, and round each component to the sign, zero to $+1$. Return the share of *patterns* that come back without a single wrong spin, for each of the `betas [k]`: `[k]`.


# %% tags=["answer"]
def recalled(patterns, spoilt, betas, steps):
    """Share of patterns that are recalled without an error, for each beta, [k]."""
    # solution
    shares = []
    for beta in betas.tolist():
        state = spoilt
        for _ in range(steps):
            state = torch.softmax(beta * state @ patterns.T, -1) @ patterns
        signs = torch.where(state >= 0, 1.0, -1.0)
        shares.append((signs == patterns).all(-1).double().mean())
    return torch.stack(shares)
    # end


# %% tags=["show"]
generator = torch.Generator().manual_seed(0)
patterns = torch.where(torch.rand(40, 64, generator=generator) < 0.5, 1.0, -1.0).double()
flips = torch.where(torch.rand(40, 64, generator=generator) < 0.3, -1.0, 1.0)
betas = torch.linspace(0.01, 0.4, 30, dtype=torch.float64)
share = recalled(patterns, patterns * flips, betas, 3)
if isinstance(share, torch.Tensor) and share.shape == betas.shape:
    import matplotlib.pyplot as plt

    plt.plot(betas, share, "o-")
    plt.xlabel("beta")
    plt.ylabel("share of patterns recalled")
    plt.show()


# %% tags=["teacher"]
def _recall(patterns, spoilt, betas, steps, judged=lambda good: good.all(-1), target=None):
    shares = []
    for beta in betas.tolist():
        state = spoilt
        for _ in range(steps):
            state = torch.softmax(beta * state @ patterns.T, -1) @ patterns
        good = torch.where(state >= 0, 1.0, -1.0) == (patterns if target is None else target)
        shares.append(judged(good).double().mean())
    return torch.stack(shares)


def _spoilt(draw, m, d, rate, steps):
    patterns = draw.spins(m, d)
    order = draw(m, d).argsort(-1).argsort(-1)
    return patterns, torch.where(order < rate * d, -patterns, patterns), torch.linspace(0.02, 0.3, 8).double(), steps


QUESTION_5 = Question(
    "5",
    recalled,
    shown=[_spoilt(Draw(32), 8, 12, 0.25, 2)],
    cases={
        "a fifth of the spins turned": Case(2, lambda draw: [_spoilt(draw, 60, 40, 0.2, 3)]),
        "a third": Case(2, lambda draw: [_spoilt(draw, 30, 80, 0.33, 2)]),
    },
    wrong={
        "share of spins": Wrong(
            "You counted spins. A pattern counts only if all its spins are right.",
            lambda p, s, b, n: _recall(p, s, b, n, judged=lambda good: good),
        ),
        "spoilt for target": Wrong(
            "Compare with the patterns that were stored, not with the spoilt copies.",
            lambda p, s, b, n: _recall(p, s, b, n, target=s),
        ),
        "starts at the pattern": Wrong(
            "You start at the patterns themselves. Start at the spoilt copies.", lambda p, s, b, n: _recall(p, p, b, n)
        ),
        "one step": Wrong("Take all the steps: you stopped after one.", lambda p, s, b, n: _recall(p, s, b, 1)),
        "number": Wrong(
            "That is the number of patterns; the share of all was asked for.", lambda p, s, b, n: len(p) * _recall(p, s, b, n)
        ),
    },
)

# %% [markdown] tags=["by-hand"]
# ## Question 6. Two memories compared (4 points)
#
# In question 5 most of forty patterns of 64 spins come back where $\beta$ is large enough. How many unstable spins does Hebb's rule leave in forty such patterns? Say what the two energies do differently so that one holds them and the other does not, what happens at small $\beta$ in your curve of question 5 and what that state is, and which curvature of question 3 changes its sign where that state is no valley any more. Six sentences.

# %% [markdown] tags=["teacher"]
# **Rubric.** One point each: a number measured with `unstable`, several in each pattern; quadratic energy adds all patterns' cross-talk with equal say, the exponential lets the nearest outweigh the rest; at small beta all memories share one valley, the state is their mean; at the state of the mean the smallest curvature, one minus beta times the largest eigenvalue of the covariance, becomes negative when the valley splits (at 0.17 to 0.23 here; from 0.11 on the memories have valleys of their own beside it, so that the curve rises earlier).

# %% tags=["teacher"]
QUESTION_6 = ByHand("6", 4)
