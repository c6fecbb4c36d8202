# %% [markdown]
# # Assignment 4. Mean field and reaction
#
# Spins that pull at each other: solved exactly, then by following the average, then with the correction for the echo of a spin in its neighbours. You measure what each step of the theory is worth.
#
# - Write your code in place of the dots. Keep the names of the functions and the order of their arguments.
# - Below each answer a check tries it on a few numbers and says what probably went wrong. You are graded on other numbers.
# - Only the functions count. You may add cells and helpers anywhere. The package `attnlib` is not there when you are graded.
# - Run everything from the top before you hand in: *Runtime, Restart and run all*. Hand in this one file.
#
# 25 points. Couplings `J [n, n]` are symmetric with zeros on the diagonal, fields are `h [n]`, spins are $s_i = \pm 1$, and
#
# $$ E(s) = -\tfrac12 \sum_{ij} J_{ij} s_i s_j - \sum_i h_i s_i. $$

# %%
import itertools

import torch

# %% tags=["teacher"]
from classroom.question import ByHand, Case, Draw, Question, Wrong

# %% [markdown]
# ## Question 1. All states (4 points)
#
# Return the magnetisations $m_i = \langle s_i \rangle$ at inverse temperature `beta`, exactly, by going through all $2^n$ states: `[n]`. There are at most eight spins. A strong field must not overflow anything.


# %% tags=["answer"]
def exact(J, h, beta):
    """Magnetisations from all states, [n]."""
    # solution
    states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=len(h))), dtype=h.dtype)
    minus_energy = torch.einsum("si,ij,sj->s", states, J, states) / 2 + states @ h
    return torch.softmax(beta * minus_energy, 0) @ states
    # end


# %% tags=["teacher"]
def _all(J, h, beta, pairs=0.5, field=1.0, values=(-1.0, 1.0), weigh=lambda x: torch.softmax(x, 0)):
    states = torch.tensor(list(itertools.product(values, repeat=len(h)))).double()
    return weigh(beta * (pairs * ((states @ J) * states).sum(-1) + field * states @ h)) @ states


def _system(draw, n, strength=1.0, field=0.5):
    J = strength * torch.triu(draw(n, n), 1) / n**0.5
    return J + J.T, field * draw(n)


def _pinned(draw, n):
    """One spin in a field of thousands, all others as usual."""
    J, h = _system(draw, n)
    return J, h + 3000 * (torch.arange(n) == 1)


_J, _H = _system(Draw(3), 4)
_J, _H = _J.mul(100).round() / 100, _H.mul(100).round() / 100
QUESTION_1 = Question(
    "1",
    exact,
    shown=[(_J, _H, 0.7), (1000 * _J, 1000 * _H, 2.0)],
    cases={
        "warm": Case(3, lambda draw: [(*_system(draw, 5), draw.number(0.5, 0.8)), (*_system(draw, 3), draw.number(1.2, 1.5))]),
        "one strong field": Case(1, lambda draw: [(*_pinned(draw, 6), draw.number(1.2, 1.5))]),
    },
    wrong={
        "pairs twice": Wrong(
            "Each pair counts once: the sum over all i and j needs the half.", lambda J, h, b: _all(J, h, b, pairs=1.0)
        ),
        "no field": Wrong("The fields are missing; without them every mean is zero.", lambda J, h, b: _all(J, h, b, field=0.0)),
        "field without beta": Wrong("Beta multiplies the whole energy, the fields too.", lambda J, h, b: _all(J, h / b, b)),
        "sign": Wrong("A state with low energy is likely: the weight is exp(-beta E).", lambda J, h, b: _all(J, h, -b)),
        "zeros and ones": Wrong("Spins are -1 and +1, not 0 and 1.", lambda J, h, b: _all(J, h, b, values=(0.0, 1.0))),
        "no shift": Wrong(
            "The weights overflow in a strong field: use softmax over the states, or subtract the lowest energy.",
            lambda J, h, b: _all(J, h, b, weigh=lambda x: x.exp() / x.exp().sum()),
            right_in=("warm",),
        ),
    },
)

# %% [markdown]
# ## Question 2. Everyone follows the average (4 points)
#
# Naive mean-field theory: $m_i = \tanh \beta (h_i + \sum_j J_{ij} m_j)$. Start at $m = 0$ and repeat, `steps` times, for all spins at once,
#
# $$ m \leftarrow (1 - \alpha)\, m + \alpha \tanh \beta(h + J m). $$
#
# Returns `[n]`.


# %% tags=["answer"]
def naive(J, h, beta, alpha, steps):
    """Magnetisations after some damped steps of naive mean-field theory, [n]."""
    # solution
    m = torch.zeros_like(h)
    for _ in range(steps):
        m = (1 - alpha) * m + alpha * torch.tanh(beta * (h + J @ m))
    return m
    # end


# %% tags=["teacher"]
def _naive(J, h, beta, alpha, steps, start=None, in_turn=False, field=None):
    m = torch.zeros_like(h) if start is None else start
    for _ in range(steps):
        if in_turn:
            m = m.clone()
            for i in range(len(h)):
                m[i] = (1 - alpha) * m[i] + alpha * torch.tanh(beta * (h[i] + J[i] @ m))
        else:
            m = (1 - alpha) * m + alpha * torch.tanh((beta if field is None else field) * h + beta * J @ m)
    return m


QUESTION_2 = Question(
    "2",
    naive,
    shown=[(_J, _H, 0.7, 0.25, 3)],
    cases={
        "a few steps": Case(2, lambda draw: [(*_system(draw, 6), draw.number(0.5, 0.8), draw.number(0.2, 0.4), 4)]),
        "one step": Case(1, lambda draw: [(*_system(draw, 7), draw.number(1.2, 1.5), draw.number(0.6, 0.8), 1)]),
        "large system": Case(1, lambda draw: [(*_system(draw, 50), draw.number(0.5, 0.8), draw.number(0.2, 0.4), 6)]),
    },
    wrong={
        "damping swapped": Wrong(
            "Alpha is the share of the new value; you kept that share of the old one.",
            lambda J, h, b, a, n: _naive(J, h, b, 1 - a, n),
        ),
        "no damping": Wrong("You take the whole step: alpha is left out.", lambda J, h, b, a, n: _naive(J, h, b, 1.0, n)),
        "in turn": Wrong(
            "You changed the spins one after the other. Here all of them move at once, from the old means.",
            lambda J, h, b, a, n: _naive(J, h, b, a, n, in_turn=True),
        ),
        "field without beta": Wrong("Beta multiplies the field h too.", lambda J, h, b, a, n: _naive(J, h, b, a, n, field=1.0)),
        "other start": Wrong(
            "Start at zero; you started at tanh(beta h).", lambda J, h, b, a, n: _naive(J, h, b, a, n, start=torch.tanh(b * h))
        ),
        "one step too many": Wrong("You take one step too many.", lambda J, h, b, a, n: _naive(J, h, b, a, n + 1)),
    },
)

# %% [markdown]
# ## Question 3. The echo (4 points)
#
# A spin's neighbours lean its way, and push it with its own influence. The TAP equations take that part out:
#
# $$ m_i = \tanh \beta \Big( h_i + \sum_j J_{ij} m_j - \beta m_i \sum_j J_{ij}^2 (1 - m_j^2) \Big). $$
#
# Return the right-hand side for given `m [n]`: `[n]`.


# %% tags=["answer"]
def tap_step(m, J, h, beta):
    """The right-hand side of the TAP equations, [n]."""
    # solution
    reaction = beta * J.square() @ (1 - m.square())
    return torch.tanh(beta * (h + J @ m - reaction * m))
    # end


# %% tags=["teacher"]
def _tap(m, J, h, beta, reaction):
    return torch.tanh(beta * (h + J @ m - reaction))


_M = torch.tensor([0.5, -0.25, 0.75, 0.1]).double()
QUESTION_3 = Question(
    "3",
    tap_step,
    shown=[(_M, _J, _H, 0.7)],
    cases={
        "small system": Case(2, lambda draw: [(torch.tanh(draw(5)), *_system(draw, 5), draw.number(0.5, 0.8))]),
        "large system": Case(2, lambda draw: [(torch.tanh(draw(40)), *_system(draw, 40), draw.number(1.2, 1.5))]),
    },
    wrong={
        "naive": Wrong("The reaction is missing: that is naive mean-field theory.", lambda m, J, h, b: _tap(m, J, h, b, 0)),
        "sign": Wrong("The echo is taken out, not added.", lambda m, J, h, b: _tap(m, J, h, b, -b * m * (J**2 @ (1 - m**2)))),
        "no beta": Wrong(
            "The neighbours' response to a field is beta (1 - m^2): the reaction has a beta of its own.",
            lambda m, J, h, b: _tap(m, J, h, b, m * (J**2 @ (1 - m**2))),
        ),
        "no square": Wrong(
            "The influence goes to the neighbour and comes back: the coupling counts twice, as a square.",
            lambda m, J, h, b: _tap(m, J, h, b, b * m * (J @ (1 - m**2))),
        ),
        "own response": Wrong(
            "The response is that of the neighbours, 1 - m_j^2 inside the sum, not the spin's own.",
            lambda m, J, h, b: _tap(m, J, h, b, b * m * (1 - m**2) * (J**2).sum(-1)),
        ),
        "no mean": Wrong(
            "The echo is proportional to the spin's own mean m_i.", lambda m, J, h, b: _tap(m, J, h, b, b * (J**2 @ (1 - m**2)))
        ),
    },
)

# %% [markdown]
# ## Question 4. The response (4 points)
#
# Differentiate the equation of question 2 at its solution `m [n]`: return $\chi_{ij} = \partial m_i / \partial(\beta h_j)$ of naive mean-field theory, `[n, n]`, in closed form. All $|m_i| < 1$.


# %% tags=["answer"]
def response(m, J, beta):
    """How the means answer to the fields in naive mean-field theory, [n, n]."""
    # solution
    return torch.linalg.inv(torch.diag(1 / (1 - m.square())) - beta * J)
    # end


# %% tags=["teacher"]
def _response(m, J, beta, coupling=None, own=None, turn=True):
    matrix = torch.diag(1 / (1 - m**2) if own is None else own) - (beta if coupling is None else coupling) * J
    return torch.linalg.inv(matrix) if turn else matrix


QUESTION_4 = Question(
    "4",
    response,
    shown=[(_M, _J, 0.7)],
    cases={
        "small system": Case(2, lambda draw: [(torch.tanh(draw(4)), _system(draw, 4, 0.4)[0], draw.number(0.5, 0.8))]),
        "large system": Case(2, lambda draw: [(torch.tanh(draw(30)), _system(draw, 30, 0.3)[0], draw.number(1.2, 1.5))]),
    },
    wrong={
        "no beta": Wrong(
            "The couplings stand with beta: it multiplies J m in the equation.",
            lambda m, J, b: _response(m, J, b, coupling=1.0),
        ),
        "to the bare field": Wrong(
            "That is the answer to h; divide it by beta, and it is the one to beta h.", lambda m, J, b: b * _response(m, J, b)
        ),
        "not inverted": Wrong("That is the inverse of the response.", lambda m, J, b: _response(m, J, b, turn=False)),
        "sign": Wrong(
            "Couplings that pull the same way make the response larger: J is subtracted before you invert.",
            lambda m, J, b: _response(m, J, b, coupling=-b),
        ),
        "own part upside down": Wrong(
            "The slope of tanh is 1 - m^2: its inverse stands on the diagonal before you invert.",
            lambda m, J, b: _response(m, J, b, own=1 - m**2),
        ),
        "uncoupled": Wrong(
            "That is how each spin answers alone; through J it also answers to the others' fields.",
            lambda m, J, b: torch.diag(1 - m**2),
        ),
    },
)

# %% [markdown]
# ## Question 5. Experiment: what is the reaction worth? (4 points)
#
# You get `J`, `h`, inverse temperatures `betas [k]` and the exact means at each of them, `means [k, n]`. Solve the naive equations and the TAP equations at each: 200 damped steps from $m = 0$ with $\alpha = 1/2$. Return the root of the mean square deviation of each theory from the exact means, `[k, 2]`: naive first, TAP second. The systems are weakly coupled, so that both converge.


# %% tags=["answer"]
def errors(J, h, betas, means):
    """Root mean square error of naive mean-field theory and of TAP at each beta, [k, 2]."""
    # solution
    table = []
    for beta, true in zip(betas.tolist(), means):
        m = z = torch.zeros_like(h)
        for _ in range(200):
            m = (m + torch.tanh(beta * (h + J @ m))) / 2
            echo = beta * z * (J.square() @ (1 - z.square()))
            z = (z + torch.tanh(beta * (h + J @ z - echo))) / 2
        table.append(torch.stack([(m - true).square().mean().sqrt(), (z - true).square().mean().sqrt()]))
    return torch.stack(table)
    # end


# %% tags=["show"]
generator = torch.Generator().manual_seed(1)
J = torch.randn(8, 8, dtype=torch.float64, generator=generator).triu(1) * 0.3
J = J + J.T
h = 0.3 * torch.randn(8, dtype=torch.float64, generator=generator)
betas = torch.linspace(0.1, 1.5, 15, dtype=torch.float64)
means = [exact(J, h, beta.item()) for beta in betas]
if all(isinstance(m, torch.Tensor) and m.shape == h.shape for m in means):
    table = errors(J, h, betas, torch.stack(means))
    if isinstance(table, torch.Tensor) and table.shape == (15, 2):
        import matplotlib.pyplot as plt

        plt.loglog(betas, table, "o-", label=["naive", "TAP"])
        plt.xlabel("beta")
        plt.ylabel("error of the means")
        plt.legend()
        plt.show()


# %% tags=["teacher"]
def _measured(draw, n, k):
    J, h = _system(draw, n, 0.5)
    betas = torch.linspace(draw.number(0.3, 0.4), draw.number(0.7, 0.8), k).double()
    return J, h, betas, torch.stack([_all(J, h, beta) for beta in betas.tolist()])


def _errors(J, h, betas, means, size=lambda x: x.square().mean(-1).sqrt(), reaction=1.0, steps=200):
    pairs = []
    for beta in betas.tolist():
        m, z = torch.zeros_like(h), torch.zeros_like(h)
        for _ in range(steps):
            m = (m + torch.tanh(beta * (h + J @ m))) / 2
            z = (z + _tap(z, J, h, beta, reaction * beta * z * (J**2 @ (1 - z**2)))) / 2
        pairs.append(torch.stack([m, z]))
    return size(torch.stack(pairs) - means[:, None])


QUESTION_5 = Question(
    "5",
    errors,
    shown=[_measured(Draw(11), 4, 3)],
    cases={
        "six spins": Case(2, lambda draw: [_measured(draw, 6, 3)]),
        "eight spins": Case(2, lambda draw: [_measured(draw, 8, 4)]),
    },
    wrong={
        "swapped": Wrong("The columns are swapped: naive first, TAP second.", lambda J, h, b, m: _errors(J, h, b, m).flip(-1)),
        "no root": Wrong(
            "Take the root of the mean square.", lambda J, h, b, m: _errors(J, h, b, m, size=lambda x: x.square().mean(-1))
        ),
        "mean absolute": Wrong(
            "That is the mean absolute deviation; the root of the mean square was asked for.",
            lambda J, h, b, m: _errors(J, h, b, m, size=lambda x: x.abs().mean(-1)),
        ),
        "sum of squares": Wrong(
            "That is the root of the sum: divide by the number of spins before the root.",
            lambda J, h, b, m: _errors(J, h, b, m, size=lambda x: x.norm(dim=-1)),
        ),
        "reaction added": Wrong(
            "Your second column adds the echo instead of taking it out.", lambda J, h, b, m: _errors(J, h, b, m, reaction=-1.0)
        ),
        "few steps": Wrong(
            "You stop before the equations are solved: take 200 steps.", lambda J, h, b, m: _errors(J, h, b, m, steps=5)
        ),
        "turned": Wrong("Rows are the temperatures: you returned [2, k].", lambda J, h, b, m: _errors(J, h, b, m).T),
    },
)

# %% [markdown] tags=["by-hand"]
# ## Question 6. Powers of beta (5 points)
#
# Read the slopes of your two curves of question 5 where $\beta$ is small. With which power of $\beta$ does each error fall, and how does that follow from the term that each theory leaves out? Where do both theories fail, and what does the exact distribution look like there? And how does one step of question 2 resemble a layer of attention: what plays the part of the weights, of the values, of the residual branch? Eight sentences.

# %% [markdown] tags=["teacher"]
# **Rubric.** One point each: slopes read from the plot with the range used; the naive theory leaves out the reaction, of relative order beta squared times J squared, so that with a mean of order beta its error falls like the third power; TAP leaves out the next order of the same expansion, at least one power more; both fail when beta J is of order one, where the distribution has several valleys and one mean per spin does not describe it; J takes the part of the weights (not normalised, not made from the input), the means are the values, (1 - alpha) m is the residual branch.

# %% tags=["teacher"]
QUESTION_6 = ByHand("6", 5)
