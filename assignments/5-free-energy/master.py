# %% [markdown]
# # Assignment 5. Free energies of vector spins
#
# Spins with many components have a free energy that is the minimum of one convex function. You measure how far a step may go inside its domain, read couplings off correlations, cool the spins without a difference quotient, and find out what few components cost and what cold spins can find.
#
# - Write your code in place of the dots. Keep the names of the functions and the order of their arguments.
# - Below each answer a check tries it on a few numbers and says what probably went wrong. You are graded on other numbers.
# - Only the functions count. You may add cells and helpers anywhere. The package `attnlib` is not there when you are graded.
# - Run everything from the top before you hand in: *Runtime, Restart and run all*. Hand in this one file.
#
# 25 points. Numbers arrive as float64 tensors. Couplings `J [n, n]` are symmetric with zeros on the diagonal, fields are the rows of `h [n, d]`, spins have $D$ components (`d`) and the length $|s_i|^2 = D$, and
#
# $$ E(s) = -\tfrac12 \sum_{ij} J_{ij}\, s_i \cdot s_j - \sum_i h_i \cdot s_i, \qquad \varphi(z) = \frac\beta2 \sum_i z_i - \frac12 \ln\det V + \frac{\beta}{2D} \mathrm{Tr}\, h^T V^{-1} h, \qquad V = \mathrm{diag}(z) - J. $$
#
# The means are $m = V^{-1} h$, and for each component $-\beta f = \min_z \varphi(z) - \frac N2 (1 + \ln \beta)$.

# %%
import math

import torch

# %% tags=["teacher"]
from classroom.question import ByHand, Case, Draw, Question, Wrong

# %% [markdown]
# ## Question 1. How far may a step go? (4 points)
#
# The potential exists where $V$ is positive definite. You stand at such a `z [n]` and walk along `step [n]`. Return the largest $t$ such that $\mathrm{diag}(z + t' \mathrm{step}) - J$ is positive definite for all $0 \le t' < t$, a tensor without axes; infinity where you can walk without end.


# %% tags=["answer"]
def room(z, J, step):
    """How many steps lie between z and the border of the domain, a number."""
    # solution
    L = torch.linalg.cholesky(torch.diag(z) - J)
    half = torch.linalg.solve_triangular(L, torch.diag(step), upper=False)
    least = torch.linalg.eigvalsh(torch.linalg.solve_triangular(L, half.T, upper=False))[0]
    return -1 / least if least < 0 else torch.tensor(math.inf, dtype=z.dtype)
    # end


# %% tags=["teacher"]
def _made(draw, n, d, beta, loose=3, field=1.0):
    """A saddle point: z, J, h, and its averages, the cosines between spins and the means.

    The means and the correlations are drawn. The system is the one that has them.
    """
    length = field * torch.linspace(0.35, 0.8, n).double()[:, None]
    m = draw(n, d)
    m = length * d**0.5 * m / m.norm(dim=1, keepdim=True)
    made = draw(n, loose * n)
    made = made / made.norm(dim=1, keepdim=True) * (1 - m.square().mean(1, keepdim=True)).sqrt()
    V = torch.linalg.inv(made @ made.T) / beta
    z = V.diagonal().clone()
    return z, torch.diag(z) - V, V @ m, made @ made.T + m @ m.T / d, m


def _walk(draw, n, up=False):
    """A place in the domain, and a step that lowers every other z or raises all."""
    sign = torch.ones(n) if up else torch.where(torch.arange(n) % 2 == 0, -1.0, 1.0)
    return *_made(draw, n, 2, draw.number(0.5, 1.5))[:2], sign.double() * (0.5 + draw(n).abs())


def _crossings(z, J, step):
    """The steps at which an eigenvalue of V is zero, one over each, in ascending order."""
    L = torch.linalg.inv(torch.linalg.cholesky(torch.diag(z) - J))
    return -torch.linalg.eigvalsh(L @ torch.diag(step) @ L.T).flip(0)


def _first(ratios):
    return ratios.min() if len(ratios) else torch.tensor(math.inf).double()


_DOWN, _UP = (
    tuple(part.mul(100).round() / 100 for part in _walk(Draw(5), 4)),
    tuple(part.mul(100).round() / 100 for part in _walk(Draw(6), 3, up=True)),
)
QUESTION_1 = Question(
    "1",
    room,
    shown=[_DOWN, _UP],
    cases={
        "towards the border": Case(2, lambda draw: [_walk(draw, 6), _walk(draw, 5)]),
        "many spins": Case(1, lambda draw: [_walk(draw, 30)]),
        "away from it": Case(1, lambda draw: [_walk(draw, 5, up=True), _walk(draw, 4)]),
    },
    wrong={
        "where z is zero": Wrong(
            "You stop where a z is zero. The border comes earlier: the couplings must fit below diag(z) too.",
            lambda z, J, s: _first(-(z / s)[s < 0]),
        ),
        "above the top eigenvalue": Wrong(
            "You ask that every z be above the largest eigenvalue of J. That is needed only where all z are one number.",
            lambda z, J, s: _first(((z - torch.linalg.eigvalsh(J)[-1]) / -s)[s < 0]),
        ),
        "safe step": Wrong(
            "The least eigenvalue of V over the largest part of the step is safe, and shorter than it need be: the soft mode is not the site that moves most.",
            lambda z, J, s: torch.linalg.eigvalsh(torch.diag(z) - J)[0] / -s.min() if s.min() < 0 else _first(s[:0]),
        ),
        "last crossing": Wrong(
            "You return the last zero of the determinant. Between the first and the second it is negative, and after the second positive again, but V is not positive definite any more.",
            lambda z, J, s: _first(1 / _crossings(z, J, s)[_crossings(z, J, s) > 0][:1]),
        ),
        "no infinity": Wrong(
            "A negative number of steps is the way back. A step that lowers no z never meets the border: return infinity.",
            lambda z, J, s: 1 / _crossings(z, J, s)[-1],
            right_in=("towards the border", "many spins"),
        ),
        "backwards": Wrong(
            "That is how far you may go the other way: V changes by plus t times diag(step).",
            lambda z, J, s: -1 / _crossings(z, J, s)[0],
        ),
    },
)

# %% [markdown]
# ## Question 2. From correlations to couplings (4 points)
#
# Someone has measured a system at the saddle point: the means `m [n, d]` and the cosines between spins $c_{ij} = \langle s_i \cdot s_j \rangle / D$, `cosines [n, n]`, with ones on the diagonal. Return the couplings that it has, `[n, n]`, with zeros on the diagonal. `beta` is a number.
#
# Spins may agree because they couple, because a third one pulls at both, or because their fields are parallel. Only the first is a coupling.


# %% tags=["answer"]
def couplings(cosines, m, beta):
    """The couplings of a system with these averages, [n, n]."""
    # solution
    covariance = cosines - m @ m.T / m.shape[1]
    V = torch.linalg.inv(covariance) / beta
    return torch.diag(V.diagonal()) - V
    # end


# %% tags=["teacher"]
def _measured(draw, n, d, loose=3):
    beta = draw.number(0.5, 0.8)
    return *_made(draw, n, d, beta, loose)[3:], beta


def _couplings(c, m, beta, means=None, beta_power=-1, sign=-1.0, diagonal=False, invert=True):
    covariance = c - m @ m.T * (1 / m.shape[1] if means is None else means)
    V = sign * (torch.linalg.inv(covariance) if invert else covariance) * beta**beta_power
    return V if diagonal else V - torch.diag(V.diagonal())


QUESTION_2 = Question(
    "2",
    couplings,
    shown=[_measured(Draw(2), 3, 2)],
    cases={
        "loosely coupled": Case(2, lambda draw: [_measured(draw, 5, 3, 6), _measured(draw, 4, 6, 6)]),
        "tightly coupled": Case(2, lambda draw: [_measured(draw, 12, 3, 2)]),
    },
    wrong={
        "means left in": Wrong(
            "Spins in parallel fields agree without any coupling: take the product of the means, m_i . m_j / D, off first.",
            lambda c, m, b: _couplings(c, m, b, means=0.0),
        ),
        "means not divided": Wrong(
            "The cosines are for each component. Divide the product of the means by D too.",
            lambda c, m, b: _couplings(c, m, b, means=1.0),
        ),
        "no beta": Wrong(
            "A covariance is the response over beta: V is the inverse of beta times the covariance.",
            lambda c, m, b: _couplings(c, m, b, beta_power=0),
        ),
        "times beta": Wrong(
            "V is the inverse of beta times the covariance; you multiplied the inverse by beta.",
            lambda c, m, b: _couplings(c, m, b, beta_power=1),
        ),
        "sign": Wrong(
            "V is diag(z) minus J: the couplings are minus what stands beside its diagonal.",
            lambda c, m, b: -_couplings(c, m, b),
        ),
        "diagonal": Wrong(
            "The diagonal of V is z, not a coupling: set it to zero.", lambda c, m, b: _couplings(c, m, b, diagonal=True)
        ),
        "not inverted": Wrong(
            "Those are the covariances. A third spin that pulls at both makes them too; invert.",
            lambda c, m, b: _couplings(c, m, b, sign=1.0, beta_power=0, invert=False),
        ),
    },
)


# %% [markdown]
# ## Question 3. The specific heat (4 points)
#
# The energy for each component is $u = \partial (\beta f) / \partial \beta$, and the specific heat is $c = -\beta^2\, \mathrm{d}u / \mathrm{d}\beta$, of all $n$ spins together.
#
# You get the saddle point: `z [n]` for `J [n, n]`, `h [n, d]` and the number `beta`. Return $c$ there, a tensor without axes. When $\beta$ changes $z$ moves, and how it moves is one linear equation: no difference quotients, and no second run of a solver.


# %% tags=["answer"]
def specific_heat(z, J, h, beta):
    """The specific heat for each component, of all spins together, a number."""
    # solution
    inverse = torch.linalg.inv(torch.diag(z) - J)
    m = inverse @ h
    hessian = inverse * (inverse / 2 + beta / h.shape[1] * m @ m.T)
    free = 1 - m.square().mean(1)
    return len(z) / 2 - beta**2 / 4 * free @ torch.linalg.solve(hessian, free)
    # end


# %% tags=["teacher"]
def _cooled(draw, n, d, field=1.0, loose=3):
    beta = draw.number(0.5, 0.8) if field else draw.number(1.5, 2.5)
    return *_made(draw, n, d, beta, loose, field)[:3], beta


def _heat(z, J, h, beta, half=1.0, taken=1.0, power=2, second=lambda i, m: i * (m @ m.T), held=False):
    inverse = torch.linalg.inv(torch.diag(z) - J)
    m = inverse @ h
    hessian = inverse * inverse / 2 + beta / h.shape[1] * second(inverse, m)
    free = torch.ones_like(z) if held else 1 - m.square().mean(1)
    return half * len(z) / 2 - taken * beta**power / 4 * free @ torch.linalg.solve(hessian, free)


QUESTION_3 = Question(
    "3",
    specific_heat,
    shown=[_cooled(Draw(4), 3, 2)],
    cases={
        "few spins": Case(2, lambda draw: [_cooled(draw, 4, 3), _cooled(draw, 5, 6)]),
        "many spins": Case(1, lambda draw: [_cooled(draw, 20, 4)]),
        "no fields": Case(1, lambda draw: [_cooled(draw, 6, 2, field=0.0)]),
    },
    wrong={
        "z held": Wrong(
            "Half for each spin is what you get with z held fixed. As the spins cool z moves, and that takes part of it away.",
            lambda z, J, h, b: _heat(z, J, h, b, taken=0.0),
        ),
        "only the motion": Wrong(
            "That is what the motion of z takes away from n/2. Subtract it.", lambda z, J, h, b: -_heat(z, J, h, b, half=0.0)
        ),
        "sign": Wrong(
            "The motion of z makes the heat smaller than n/2: a minimum over z is below the value at a z that is held.",
            lambda z, J, h, b: _heat(z, J, h, b, taken=-1.0),
        ),
        "no beta": Wrong("The heat is minus beta squared times du/dbeta.", lambda z, J, h, b: _heat(z, J, h, b, power=0)),
        "halves": Wrong(
            "The slope of phi changes by half of 1 - m^2/D, and the half comes in twice: a quarter in all.",
            lambda z, J, h, b: _heat(z, J, h, b, taken=2.0),
        ),
        "no fields in the Hessian": Wrong(
            "The Hessian has a second term, from the fields.",
            lambda z, J, h, b: _heat(z, J, h, b, second=lambda i, m: 0 * i),
            right_in=("no fields",),
        ),
        "printed Hessian": Wrong(
            "Both products in the Hessian are entry by entry. As a matrix product with its diagonal kept, the second term has the right row sums only.",
            lambda z, J, h, b: _heat(z, J, h, b, second=lambda i, m: torch.diag((i @ m @ m.T).diagonal())),
            right_in=("no fields",),
        ),
        "means held": Wrong(
            "At fixed z the slope of phi changes with beta by (1 - m^2/D)/2: the term with the fields has a beta too.",
            lambda z, J, h, b: _heat(z, J, h, b, held=True),
            right_in=("no fields",),
        ),
    },
)

# %% [markdown]
# ## Question 4. Experiment: what do few components cost? (4 points)
#
# One spin alone, at $\beta = 1$, in a field of length $b \sqrt D$. It has the length $\sqrt D$; on its sphere the part at an angle $\theta$ to the field has a size proportional to $\sin^{D - 2} \theta$. So the mean along the field, in units of the length, is an average of $\cos\theta$, and you can have it exactly. The saddle point says $m^* = b / z$ with $z = \frac12 (1 + \sqrt{1 + 4 b^2})$.
#
# Return $D\, (m^* - m_\mathrm{exact})$ for strengths `b [k]` and components `D [l]` (whole numbers, 8 or more): `[k, l]`. Six digits are asked for, with hundreds of components too: a sum over some thousand evenly spaced angles gives them, random numbers do not.


# %% tags=["answer"]
def cost(b, D):
    """D times the error of the saddle point's mean of one spin, [k, l]."""
    # solution
    angle = torch.linspace(0, math.pi, 4001, dtype=b.dtype)[1:-1]
    log_weight = (D[:, None] - 2) * angle.sin().log() + b[:, None, None] * D[:, None] * angle.cos()
    exact = torch.softmax(log_weight, -1) @ angle.cos()
    return D * ((2 * b / (1 + (1 + 4 * b**2).sqrt()))[:, None] - exact)
    # end


# %% tags=["show"]
components = torch.tensor([8, 12, 16, 32, 64, 128, 256])
strengths = torch.tensor([0.2, 0.5, 1.0, 2.0]).double()
curves = cost(strengths, components)
if isinstance(curves, torch.Tensor) and curves.shape == (4, 7):
    import matplotlib.pyplot as plt

    plt.semilogx(components, curves.T, "o-", label=[f"b = {b:g}" for b in strengths.tolist()])
    plt.xlabel("components D")
    plt.ylabel("D times the error of the mean")
    plt.legend(loc=(0.75, 0.62))
    plt.show()


# %% tags=["teacher"]
def _cost(b, D, times=1, sign=1, four=4, ring=lambda D: D - 2, pull=1.0, weigh=lambda x: torch.softmax(x, -1)):
    """As the reference; ring is the power of the sine, pull that of D in the exponent, times that of D in front."""
    angle = (torch.arange(3000).double() + 0.5) * math.pi / 3000
    D = D.double()
    log_weight = ring(D)[:, None] * angle.sin().log() + (b[:, None] * D**pull)[..., None] * angle.cos()
    theory = 2 * b / (1 + (1 + four * b**2).sqrt())
    return sign * D**times * (theory[:, None] - weigh(log_weight) @ angle.cos())


def _strengths(draw, k, D):
    return 0.3 + torch.linspace(0, 1, k).double() + draw.number(0, 0.4), torch.tensor(D)


QUESTION_4 = Question(
    "4",
    cost,
    shown=[
        (torch.tensor([0.4, 1.0, 1.5]).double(), torch.tensor([8, 20])),
        (torch.tensor([2.0]).double(), torch.tensor([900])),
    ],
    cases={
        "few components": Case(3, lambda draw: [_strengths(draw, 3, [8, 9, 16]), _strengths(draw, 2, [12, 40, 64, 100])]),
        "many components": Case(1, lambda draw: [(torch.tensor([draw.number(2, 2.5)]).double(), torch.tensor([700, 900]))]),
    },
    wrong={
        "not times D": Wrong("That is the error itself; D times the error was asked for.", lambda b, D: _cost(b, D, times=0)),
        "sign": Wrong("The exact mean is subtracted from the saddle point's.", lambda b, D: _cost(b, D, sign=-1)),
        "every angle alike": Wrong(
            "You count every angle alike. A sphere has far more room near its equator: the sine, to the power D - 2.",
            lambda b, D: _cost(b, D, ring=lambda D: 0 * D),
        ),
        "one power too many": Wrong(
            "The sphere in D dimensions has D - 1 of its own, one of them the angle: the power of the sine is D - 2.",
            lambda b, D: _cost(b, D, ring=lambda D: D - 1),
        ),
        "field of length b": Wrong(
            "The exponent is beta h . s. The field has the length b times the root of D, and so has the spin: D b cos(theta).",
            lambda b, D: _cost(b, D, pull=0.5),
        ),
        "no four": Wrong("The saddle point's z is (1 + sqrt(1 + 4 b^2)) / 2.", lambda b, D: _cost(b, D, four=1)),
        "no shift": Wrong(
            "The exponential overflows with hundreds of components: work with logarithms, and take the largest off first.",
            lambda b, D: _cost(b, D, weigh=lambda x: x.exp() / x.exp().sum(-1, keepdim=True)),
            right_in=("few components",),
        ),
    },
)

# %% [markdown]
# ## Question 5. Experiment: what cold spins find (4 points)
#
# A direction $v_i = \pm 1$ is hidden in random couplings $W$: $J = W + \frac sn\, v v^T$ with a strength $s$. Give all spins one $z$, without fields, as in $\frac1n \mathrm{Tr}\, (z - J)^{-1} = \beta$ with $z$ above all eigenvalues. (The diagonal, $s/n$ for all spins, only shifts $z$.) Their fluctuations are $\chi = (z - J)^{-1} / \beta$, and those of all modes together are $\mathrm{Tr}\, \chi = n$.
#
# Return the share of all fluctuations that lies along $v$, for each of the `strengths [k]`: `[k]`. `noise [n, n]` is $W$, `direction [n]` is $v$, `beta` a number.


# %% tags=["answer"]
def found(noise, direction, strengths, beta):
    """Share of the fluctuations along a hidden direction at each strength, [k]."""
    # solution
    unit = direction / len(direction) ** 0.5
    shares = []
    for strength in strengths:
        values, modes = torch.linalg.eigh(noise + strength * torch.outer(unit, unit))
        low, high = values[-1], values[-1] + 1 / beta
        for _ in range(100):
            z = (low + high) / 2
            low, high = (z, high) if (1 / (z - values)).mean() > beta else (low, z)
        shares.append(((modes.T @ unit) ** 2 / (high - values)).sum() / beta / len(unit))
    return torch.stack(shares)
    # end


# %% tags=["show"]
generator = torch.Generator().manual_seed(0)
n, beta = 200, 4.0
noise = torch.randn(n, n, dtype=torch.float64, generator=generator).triu(1) / n**0.5
noise = noise + noise.T
strengths = torch.linspace(0, 4, 17, dtype=torch.float64)
share = found(noise, torch.ones(n, dtype=torch.float64), strengths, beta)
if isinstance(share, torch.Tensor) and share.shape == strengths.shape:
    import matplotlib.pyplot as plt

    plt.plot(strengths, share, "o-")
    plt.xlabel("strength of the hidden direction")
    plt.ylabel("share of the fluctuations along it")
    plt.show()


# %% tags=["teacher"]
def _level(values, beta):
    """The one z, by Newton's method from below for the root of one over the sum."""
    z = values[-1] + 1 / (beta * len(values))
    for _ in range(60):
        total, slope = (1 / (z - values)).mean(), (1 / (z - values) ** 2).mean()
        z = z + 2 * (total / slope) * ((total / beta) ** 0.5 - 1)
    return z


def _shares(noise, v, strengths, beta, say, divided=True, z_of=lambda W, J: J):
    unit, parts = v / len(v) ** 0.5, []
    for s in strengths:
        J = noise + s * torch.outer(unit, unit) * (1 if divided else len(v))
        values, modes = torch.linalg.eigh(J)
        z = _level(torch.linalg.eigvalsh(z_of(noise, J)), beta)
        parts.append(say(values, (modes.T @ unit) ** 2, z))
    return torch.stack(parts)


def _along(noise, v, strengths, beta, **options):
    return _shares(noise, v, strengths, beta, lambda x, c, z: (c / (z - x)).sum() / beta / len(v), **options)


def _hidden(draw, n, k):
    noise = torch.triu(draw(n, n), 1) / n**0.5
    strengths = torch.linspace(draw.number(0.4, 0.6), draw.number(2.5, 3), k).double()
    return noise + noise.T, draw.spins(n), strengths, draw.number(2, 3)


QUESTION_5 = Question(
    "5",
    found,
    shown=[_hidden(Draw(7), 5, 3)],
    cases={
        "twenty spins": Case(2, lambda draw: [_hidden(draw, 20, 4)]),
        "eighty spins": Case(2, lambda draw: [_hidden(draw, 80, 5)]),
    },
    wrong={
        "strength not divided": Wrong(
            "The hidden part is s/n times v v^T: divide by the number of spins, or normalise v.",
            lambda W, v, s, b: _along(W, v, s, b, divided=False),
        ),
        "z of the noise": Wrong(
            "You found z for the noise alone. The hidden part moves the eigenvalues, so z belongs to each strength anew.",
            lambda W, v, s, b: _along(W, v, s, b, z_of=lambda noise, J: noise),
        ),
        "softest mode": Wrong(
            "That is the share of the softest mode, wherever it points. The share along v was asked for.",
            lambda W, v, s, b: _shares(W, v, s, b, lambda x, c, z: 1 / (z - x[-1]) / b / len(v)),
        ),
        "overlap only": Wrong(
            "That is how far the softest mode points along v. What lies along v are the fluctuations of all modes, each with its own size.",
            lambda W, v, s, b: _shares(W, v, s, b, lambda x, c, z: c[-1]),
        ),
        "not a share": Wrong(
            "Your numbers exceed one: normalise v, and divide by the fluctuations of all modes, which are n.",
            lambda W, v, s, b: len(v) * _along(W, v, s, b),
        ),
        "no beta": Wrong(
            "The fluctuations are the inverse of z - J over beta; beta is missing.",
            lambda W, v, s, b: b * _along(W, v, s, b),
        ),
    },
)

# %% [markdown] tags=["by-hand"]
# ## Question 6. When is a free energy the better layer? (5 points)
#
# A layer of $N$ tokens of width $D$ may be softmax attention, or the saddle point of $N$ spins, found in about ten Newton steps. Write down the leading cost of each in $N$ and $D$. Which one would you take for 4,000 tokens of width 64, and which for 30 tokens of width 1,000? What does the free energy guarantee that attention does not, and what can attention express that it cannot? How far do you trust the saddle point at width 64 by your curves of question 4, and at which strength does your curve of question 5 leave the floor, and why there? Ten sentences.

# %% [markdown] tags=["teacher"]
# **Rubric.** One point each. Costs: attention of order $N^2 D$ (with its maps $N D^2$), the saddle point about ten times $N^3 + N^2 D$, so that $N$ against $D$ decides: attention at 4,000 by 64, where $N^3$ is 60 times $N^2 D$ before the ten steps; at 30 by 1,000 the factorisation costs nothing beside the products, and the choice is free. Guarantees: one minimum, an answer that is the derivative of one number and so symmetric responses, means never longer than a spin, a residual connection and normalisation built in. What attention can do: queries, keys and values that differ, weights that are not symmetric, a causal order. Question 4: $D$ times the error tends to a constant, between $-0.16$ and 0 at every strength, so that at 64 the mean is too small by a quarter of a per cent of a length at most. Question 5: near $s = 1$, where the eigenvalue of the hidden direction leaves the semicircle of the noise (edge at 2, standard deviation 1 over root n); below it the softest mode is noise; the cold spins condense into the softest mode, whatever it is.

# %% tags=["teacher"]
QUESTION_6 = ByHand("6", 5)
