# %% [markdown]
# # Assignment 8. Beyond equilibrium
#
# Which way does a film of spins run? When have two films met that live through the same noise? How long does a layer know what it was shown? Which way do tokens look that agree, and how well is one step foreseen from means? You compute exact answers by summing over all states, and see where an expansion loses.
#
# - Write your code in place of the dots. Keep the names of the functions and the order of their arguments.
# - Below each answer a check tries it on a few numbers and says what probably went wrong. You are graded on other numbers.
# - Only the functions count. You may add cells and helpers anywhere. The package `attnlib` is not there when you are graded.
# - Run everything from the top before you hand in: *Runtime, Restart and run all*. Hand in this one file.
#
# 25 points. Numbers arrive as float64 tensors. Spins are $s_i = \pm 1$; `J[i, j]` says how spin `j` acts on spin `i`, the diagonal included, and no more is known of it: it need not be symmetric.

# %%
import itertools

import torch

# %% tags=["teacher"]
from classroom.question import ByHand, Case, Draw, Question, Wrong

# %% [markdown]
# ## Question 1. One site at a time (4 points)
#
# At each step one of $n$ spins is drawn, all with equal chances, and set anew: to $+1$ with chance $1 / (1 + e^{-2 \beta h_i})$, $h_i = x_i + \sum_j J_{ij} s_j$, where the sum contains $j = i$ and all $s_j$ are those before the step. Let $P(s, s')$ be the chance to go from a state to another one and $\pi$ the law that does not change. Return the entropy production of a step,
#
# $$ e_p = \sum_{s \neq s'} \pi(s)\, P(s, s') \ln \frac{P(s, s')}{P(s', s)}, $$
#
# a tensor without axes. `J [n, n]`, `x [n]`, `beta` a number, up to seven spins. A field may be so strong that a chance is zero in double precision.
#
# When all spins move at once, symmetric couplings have no arrow. And here?


# %% tags=["answer"]
def arrow(J, x, beta):
    """Entropy production of one step, a number."""
    # solution
    n = len(x)
    states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=n)), dtype=x.dtype)
    against = -2 * beta * states * (x + states @ J.T)
    turned = torch.arange(2**n)[:, None] ^ 2 ** torch.arange(n - 1, -1, -1)
    move = torch.sigmoid(against) / n
    P = torch.zeros(2**n, 2**n, dtype=x.dtype).scatter(1, turned, move)
    P = P + torch.diag(1 - move.sum(1))
    law = torch.linalg.solve((P.T - torch.eye(2**n, dtype=x.dtype) + 1), torch.ones(2**n, dtype=x.dtype))
    log = torch.nn.functional.logsigmoid(against)
    return (law[:, None] * move * (log - log[turned, torch.arange(n)])).sum()
    # end


# %% tags=["teacher"]
def _all(n):
    """All states, the first spin turning slowest, [2**n, n]."""
    return torch.cartesian_prod(*[torch.tensor([-1.0, 1.0]).double()] * n).reshape(-1, n)


def _resting(P):
    """The law that a matrix of moves keeps, by squaring."""
    for _ in range(60):
        P = P @ P
        P = P / P.sum(1, keepdim=True)
    return P[0]


def _produced(J, x, beta, parallel=False, own=True, sweep=False, even=False, two=2.0, drive=True, bare=False):
    n = len(x)
    S = _all(n)
    J = J if own else J - torch.diag(J.diagonal())
    h = two * beta * (x * drive + S @ J.mT)
    up = h.sigmoid()
    chance = torch.where(S[None] > 0, up[:, None], 1 - up[:, None])  # of each new spin, [from, to, n]
    if parallel:
        P = chance.prod(-1)
    else:
        differs = (S[:, None] != S[None]).double()
        P = (chance * differs).sum(-1) / n * (differs.sum(-1) == 1)
        P = P + torch.diag(1 - P.sum(1))
    law = torch.full((2**n,), 0.5**n).double() if even else _resting(P)
    flow, back = law[:, None] * P, P.mT
    if bare:
        gain = torch.log(P / back)
        gain.fill_diagonal_(0.0)
        found = (flow * torch.where(((P == 0) & (back == 0)), 0.0, gain)).sum()
    else:
        some = (P > 0) & (back > 0)
        found = (flow[some] * (P[some].log() - back[some].log())).sum()
    return found * n if sweep else found


def _coupled(draw, n, beta, size=1.2):
    return size * draw(n, n) / n**0.5, 0.4 * draw(n), beta


def _pinned(draw, n, beta):
    """One spin has a field that leaves the other state no chance in double precision."""
    J, x, beta = _coupled(draw, n, beta)
    x[0] = 500 / beta
    return J, x, beta


def _short(system):
    return tuple((a * 1000).round() / 1000 if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in system)


_FREE, _HELD = "moderate fields", "a spin that is held"
QUESTION_1 = Question(
    "1",
    arrow,
    shown=[_short(_coupled(Draw(1), 3, 0.8)), _short(_pinned(Draw(2), 3, 1.1))],
    cases={
        _FREE: Case(3, lambda draw: [_coupled(draw, 4, draw.number(0.6, 1.2)), _coupled(draw, 6, draw.number(0.6, 1.2))]),
        _HELD: Case(1, lambda draw: [_pinned(draw, 5, draw.number(0.7, 1.1))]),
    },
    wrong={
        "all at once": Wrong(
            "You move all spins at once. Here one is drawn, and all others stay.", lambda *a: _produced(*a, parallel=True)
        ),
        "without itself": Wrong(
            "You left j = i out. A spin that is set anew hears its own old value here.", lambda *a: _produced(*a, own=False)
        ),
        "a sweep": Wrong("That is n steps: a step sets one spin, drawn with chance 1/n.", lambda *a: _produced(*a, sweep=True)),
        "evenly": Wrong(
            "You weighed all states alike. Weigh them by the law that the moves keep.", lambda *a: _produced(*a, even=True)
        ),
        "turned": Wrong(
            "You let spin i act on spin j through J[i, j]. It is spin j that acts on spin i.",
            lambda J, x, b: _produced(J.mT.clone(), x, b),
        ),
        "half the field": Wrong("The chance has 2 beta h in its exponent.", lambda *a: _produced(*a, two=1.0)),
        "without the drive": Wrong("You left out x, the field from outside.", lambda *a: _produced(*a, drive=False)),
        "without beta": Wrong("You left out beta.", lambda J, x, b: _produced(J, x, 1.0)),
        "ratio of zeros": Wrong(
            "A chance that is zero in double precision has a logarithm all the same: take that of the formula, not of the number.",
            lambda *a: _produced(*a, bare=True),
            right_in=(_FREE,),
        ),
    },
)

# %% [markdown]
# ## Question 2. When two films have met (4 points)
#
# From now on all spins move at once: given $s$, each is set to $+1$ with chance $1 / (1 + e^{-2 \beta h_i})$, independently, $h_i = x_i + \sum_j J_{ij} s_j$. Two films of one layer begin with all spins up and with all spins down. At each step the noise is the same for both: spin $i$ gets a number $u_i$ between 0 and 1, evenly distributed, and is up in a film if $u_i$ is below that film's chance. Once they are in the same state they stay together.
#
# Return the chance that they have not met after each of `steps [k]`, whole numbers from 0 on: `[k]`, float64, exactly, without drawing anything. Up to four spins.
#
# A step multiplies the chance by about the same number in the end. Is it the one with which the law forgets?


# %% tags=["answer"]
def apart(J, x, beta, steps):
    """The chance that two films with one noise have not met, [k]."""
    # solution
    n = len(x)
    states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=n)), dtype=x.dtype)
    up = torch.sigmoid(2 * beta * (x + states @ J.T))
    one, other = up[:, None], up[None]
    none, both = 1 - torch.maximum(one, other), torch.minimum(one, other)
    first, second = (one - other).clamp(min=0), (other - one).clamp(min=0)
    pair = torch.stack([torch.stack([none, second], -1), torch.stack([first, both], -1)], -2)
    move = torch.ones(2**n, 2**n, 1, 1, dtype=x.dtype)
    for i in range(n):
        move = torch.einsum("abst,abuv->absutv", move, pair[:, :, i]).reshape(2**n, 2**n, 2 ** (i + 1), 2 ** (i + 1))
    law = torch.zeros(2**n, 2**n, dtype=x.dtype)
    law[-1, 0], found = 1.0, []
    for _ in range(int(steps.max()) + 1):
        found.append(law.sum() - law.trace())
        law = torch.einsum("ab,abst->st", law, move)
    return torch.stack(found)[steps]
    # end


# %% tags=["teacher"]
def _met(J, x, beta, steps, noise="same", asked="apart", start="ends", late=0, rate=False):
    """As the reference, state by state: a pair of new states has the product of its spins' chances."""
    S = _all(len(x))
    up = (2 * beta * (x + S @ J.mT)).sigmoid()
    p, q = up[:, None, None, None], up[None, :, None, None]
    s, t = S[:, None] > 0, S[None] > 0
    chance = {
        "same": torch.where(
            s & t, torch.minimum(p, q), torch.where(s, (p - q).relu(), torch.where(t, (q - p).relu(), 1 - torch.maximum(p, q)))
        ),
        "own": torch.where(s, p, 1 - p) * torch.where(t, q, 1 - q),
        "turned": torch.where(
            s & t,
            (p + q - 1).relu(),
            torch.where(s, torch.minimum(p, 1 - q), torch.where(t, torch.minimum(1 - p, q), (1 - p - q).relu())),
        ),
    }[noise].prod(-1)
    M = chance.flatten(0, 1).flatten(1)
    size, here = len(S), torch.eye(len(S)).flatten().bool()
    if noise != "same":  # who has met stays together
        stay = torch.einsum("ab,ac->abc", torch.eye(size), torch.eye(size)).reshape(size, -1).double()
        M[here] = stay
    law = torch.zeros(size * size).double()
    law[(size - 1) * size] = 1
    if start == "any":
        law = torch.full((size * size,), 1 / size**2).double()
    weight = {"apart": (~here).double(), "met": here.double(), "spins": (S[:, None] != S[None]).double().mean(-1).flatten()}
    said = []
    for _ in range(int(steps.max()) + 1 + late):
        said.append(law @ weight[asked])
        law = law @ M
    line = torch.stack(said)
    if rate:  # the first step again and again
        return line[1] ** steps.double()
    return line[steps + late]


def _films(draw, n, beta, kind, steps):
    J = draw(n, n).softmax(-1) if kind == "softmax" else 1.3 * draw(n, n) / n**0.5
    return J, 0.3 * draw(n), beta, torch.tensor(steps)


QUESTION_2 = Question(
    "2",
    apart,
    shown=[_short(_films(Draw(3), 3, 1.0, "softmax", [0, 1, 4])), _short(_films(Draw(4), 2, 0.9, "signed", [3, 10]))],
    cases={
        "couplings of a softmax": Case(2, lambda draw: [_films(draw, 4, draw.number(0.8, 1.3), "softmax", [1, 2, 5, 12])]),
        "signed couplings": Case(
            2,
            lambda draw: [
                _films(draw, 3, draw.number(0.8, 1.3), "signed", [0, 2, 7]),
                _films(draw, 4, draw.number(0.8, 1.2), "signed", [30, 3]),
            ],
        ),
    },
    wrong={
        "a noise of their own": Wrong(
            "Your films have a noise each. Here one number decides for both: they differ only where it falls between the chances.",
            lambda *a: _met(*a, noise="own"),
        ),
        "opposite noise": Wrong(
            "Where one film takes u, yours gives the other 1 - u. Both take the same number.",
            lambda *a: _met(*a, noise="turned"),
        ),
        "share of spins": Wrong(
            "That is how many spins differ. Asked is the chance that any does.", lambda *a: _met(*a, asked="spins")
        ),
        "have met": Wrong("That is the chance that they have met.", lambda *a: _met(*a, asked="met")),
        "any start": Wrong(
            "You averaged over all pairs of first states. They begin all up and all down.", lambda *a: _met(*a, start="any")
        ),
        "a step late": Wrong("After 0 steps nothing has moved: your count is one step ahead.", lambda *a: _met(*a, late=1)),
        "first step for all": Wrong(
            "You took the first step's chance to the power of the steps. What is left after it is no longer far apart.",
            lambda *a: _met(*a, rate=True),
        ),
        "turned": Wrong(
            "You let spin i act on spin j through J[i, j]. It is spin j that acts on spin i.",
            lambda J, x, b, t: _met(J.mT.clone(), x, b, t),
        ),
        "without the drive": Wrong("You left out x, the field from outside.", lambda J, x, b, t: _met(J, 0 * x, b, t)),
    },
)

# %% [markdown]
# ## Question 3. What a layer still knows (4 points)
#
# For a long time a layer was driven by one of several inputs, row `a` of `inputs [a, n]` with chance `p [a]`, so that its spins have the law that does not change under this drive. Then it is driven by `x [n]`, the same for all. After each of `steps [k]` steps with that drive, how much does the state tell about which input it was? Return the mutual information in nats, $\sum_a p_a \sum_s \pi_a^t(s) \ln \big[\pi_a^t(s) / \sum_b p_b \pi_b^t(s)\big]$: `[k]`, float64. All spins move at once, up to six; chances may be zero in double precision.
#
# What would it be with a causal mask and no self-coupling after $n$ steps?


# %% tags=["answer"]
def known(J, inputs, p, x, beta, steps):
    """Nats that the state tells about which input it was, [k]."""
    # solution
    n = len(x)
    states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=n)), dtype=x.dtype)

    def moves(drive):
        return torch.sigmoid(2 * beta * (drive + states @ J.T)[:, None] * states).prod(-1)

    one = torch.ones(2**n, dtype=x.dtype)
    stay = torch.eye(2**n, dtype=x.dtype)
    law = torch.stack([torch.linalg.solve(moves(drive).T - stay + 1, one) for drive in inputs]).clamp(min=0)
    later, found = moves(x), []
    for _ in range(int(steps.max()) + 1):
        mixed = p @ law
        told = torch.xlogy(law, law) - torch.xlogy(law, mixed)
        found.append(p @ told.sum(1))
        law = law @ later
    return torch.stack(found)[steps]
    # end


# %% tags=["teacher"]
def _told(J, inputs, p, x, beta, steps, evenly=False, own=False, late=0, single=False, kept=False, bare=False, entropy=False):
    n = len(x)
    S = _all(n)

    def moves(drive):
        up = (2 * beta * (drive + S @ J.mT)).sigmoid()
        return torch.where(S[None] > 0, up[:, None], (-2 * beta * (drive + S @ J.mT)).sigmoid()[:, None]).prod(-1)

    p = torch.full_like(p, 1 / len(p)) if evenly else p
    law = torch.stack([_resting(moves(drive)) for drive in inputs])
    said = []
    for _ in range(int(steps.max()) + 1 + late):
        mixed = (p[:, None] * law).sum(0)
        if own:  # each spin by itself
            up, whole = (1 + law @ S) / 2, (1 + mixed @ S) / 2
            both, alone = torch.stack([up, 1 - up]).clamp(min=1e-300), torch.stack([whole, 1 - whole]).clamp(min=1e-300)
            said.append((p[:, None] * (both * (both / alone[:, None]).log()).sum(0)).sum())
        elif entropy:
            said.append(-torch.special.entr(law).sum(1).neg() @ p)
        elif bare:
            said.append((p[:, None] * law * (law / mixed).log()).sum())
        else:
            said.append((p[:, None] * (torch.special.entr(mixed) - torch.special.entr(law))).sum())
        if kept:
            continue
        law = law @ ((torch.eye(2**n) * (n - 1) + moves(x)) / n if single else moves(x))
    return torch.stack(said)[steps + late]


def _shown_to(draw, n, rows, beta, steps, held=False):
    """Held: the first spin has a field, always, that leaves half of all states no chance in double precision."""
    J, inputs, x = draw(n, n) / n**0.5, draw(rows, n), 0.3 * draw(n)
    if held:
        x[0] = inputs[:, 0] = 500 / beta
    return J, inputs, (0.7 * draw(rows)).softmax(0), x, beta, torch.tensor(steps)


_WARM, _COLD = "moderate temperatures", "chances of zero"
QUESTION_3 = Question(
    "3",
    known,
    shown=[_short(_shown_to(Draw(5), 3, 2, 1.0, [0, 1, 3])), _short(_shown_to(Draw(6), 3, 3, 1.2, [0, 2], True))],
    cases={
        _WARM: Case(
            3,
            lambda draw: [
                _shown_to(draw, 4, 2, draw.number(0.8, 1.1), [0, 1, 2, 5]),
                _shown_to(draw, 5, 3, draw.number(0.8, 1.1), [1, 3]),
            ],
        ),
        _COLD: Case(1, lambda draw: [_shown_to(draw, 5, 3, draw.number(0.9, 1.2), [0, 1, 2], True)]),
    },
    wrong={
        "bits": Wrong("These are bits. Take natural logarithms.", lambda *a: _told(*a) / 0.6931471805599453),
        "evenly": Wrong("You gave all inputs equal chances: weigh with p.", lambda *a: _told(*a, evenly=True)),
        "spin by spin": Wrong(
            "You added up what each spin tells by itself. They tell in part the same, and together also other things.",
            lambda *a: _told(*a, own=True),
        ),
        "still driven by it": Wrong(
            "Your films are still driven by their own input. After it ends all have the drive x.",
            lambda *a: _told(*a, kept=True),
        ),
        "a step late": Wrong("After 0 steps the new drive has not acted yet.", lambda *a: _told(*a, late=1)),
        "one in n": Wrong("You move with chance 1/n only. All spins move at every step.", lambda *a: _told(*a, single=True)),
        "entropy": Wrong(
            "That is the entropy of the state with the input known. Take it from that of the mixture.",
            lambda *a: _told(*a, entropy=True),
        ),
        "turned": Wrong(
            "You let spin i act on spin j through J[i, j]. It is spin j that acts on spin i.",
            lambda J, *a: _told(J.mT.clone(), *a),
        ),
        "log of zero": Wrong(
            "Where a chance is zero the term is zero: 0 ln 0 is none. torch.xlogy or torch.special.entr say so.",
            lambda *a: _told(*a, bare=True),
            right_in=(_WARM,),
        ),
    },
)

# %% [markdown]
# ## Question 4. A consensus that wanders (4 points)
#
# $N$ tokens are vectors with many components and $|s_i|^2 = D$; there is no drive, and all hear all alike, $J_{ij} = 1/N$ with $j = i$ included. Let $c$ be the mean of $s_i \cdot s_j / D$ for two different tokens in the law that does not change. The field of a token has the variance $v = (1 + (N - 1)\, c) / N$, its gain is
#
# $$ a = \frac{2 \beta}{1 + \sqrt{1 + 4 \beta^2 v}}, $$
#
# and two different tokens answer the same field: $c = a^2 v$. The consensus forgets its direction by the factor $a$ a step.
#
# For each of `betas [k]` and the number `N`, return $c$ and $\ln(1 - a)$: `[k, 2]`. There may be a million tokens, and $\beta$ close to one.
#
# Where does $c$ go for $N \to \infty$ below and above $\beta = 1$? Which average of the spins is there for all that?


# %% tags=["answer"]
def consensus(betas, N):
    """Overlap of two tokens and logarithm of what a step forgets, [k, 2]."""
    # solution
    low, high = torch.zeros_like(betas), betas.clamp(max=1.0)
    for _ in range(200):  # c = 1 - a / beta and v = 1 / a^2 - 1 / (a beta), put into the second equation
        a = (low + high) / 2
        below = 1 / a**2 - 1 / (betas * a) - 1 + (N - 1) * a / (N * betas) > 0
        low, high = torch.where(below, a, low), torch.where(below, high, a)
    return torch.stack([1 - a / betas, torch.log1p(-a)], -1)
    # end


# %% tags=["show"]
betas = torch.linspace(0.3, 3, 60, dtype=torch.float64)
table = consensus(betas, 64)
if isinstance(table, torch.Tensor) and table.shape == (60, 2):
    import matplotlib.pyplot as plt

    plt.plot(betas, table[:, 0], label="overlap of two tokens")
    plt.plot(betas, table[:, 1].exp(), label="forgotten a step")
    plt.axvline(1, color="k")
    plt.xlabel("inverse temperature")
    plt.legend()
    plt.show()


# %% tags=["teacher"]
def _agreed(betas, N, rule="whole", two=2.0, steps=200_000, gap=1, turned=False, ten=False):
    """As the reference, by going round the three equations, over-relaxed by Newton's method on c."""
    c = torch.full_like(betas, 0.5)

    def gain(v):
        return two * betas / (1 + (1 + two**2 * betas**2 * v).sqrt())

    def after(c):
        v = {"whole": (1 + (N - 1) * c) / N, "others": (N - 1) * c / N, "free": 1 + 0 * c}[rule]
        return gain(v) ** 2 * v, gain(v)

    if steps < 1000:
        for _ in range(steps):
            c, a = after(c)
    else:
        low, high = torch.zeros_like(c), torch.ones_like(c)
        if rule == "others":
            low = torch.full_like(c, 1e-9)
        for _ in range(100):
            c = (low + high) / 2
            more = after(c)[0] > c
            low, high = torch.where(more, c, low), torch.where(more, high, c)
        a = after(c)[1]
    lost = torch.log1p(-a) if gap == 1 else torch.log1p(-a * a)
    lost = lost / 2.302585092994046 if ten else lost
    return torch.stack([lost, c] if turned else [c, lost], -1)


def _endless(betas, N):
    a = torch.where(betas > 1, 1 - 1 / (2 * N * (betas - 1)).clamp(min=1e-9), betas).clamp(max=1 - 1e-15, min=1e-15)
    return torch.stack([(1 - 1 / betas).relu(), torch.log1p(-a)], -1)


_FEW, _MANY = "few tokens", "many tokens near the border"
QUESTION_4 = Question(
    "4",
    consensus,
    shown=[(torch.tensor([0.5, 1.0, 2.0]).double(), 6), (torch.tensor([0.999, 1.002]).double(), 500_000)],
    cases={
        _FEW: Case(
            2,
            lambda draw: [
                (torch.tensor([0.4, 0.9, 1.3]).double() + 0.1 * draw(3).tanh(), 4),
                (torch.tensor([1.0, 1.7, 3.0]).double() + 0.1 * draw(3).tanh(), 25),
            ],
        ),
        _MANY: Case(2, lambda draw: [(torch.tensor([0.9995, 1.0, 1.0006]).double() + 2e-4 * draw(3).tanh(), 1_000_000)]),
    },
    wrong={
        "endless crowd": Wrong(
            "Those are the limits for N to infinity. With N tokens, and near beta = 1 with many too, they are off.", _endless
        ),
        "the others only": Wrong(
            "A token hears itself too: the field has the variance (1 + (N - 1) c)/N.",
            lambda b, N: _agreed(b, N, rule="others"),
        ),
        "free length": Wrong(
            "You took 1 for the variance of the field in the gain. It is v, which depends on c.",
            lambda b, N: _agreed(b, N, rule="free"),
        ),
        "half of beta": Wrong(
            "That is half of beta, as in the convention |s|^2 = D/2. Here |s|^2 = D.", lambda b, N: _agreed(b, N, two=1.0)
        ),
        "of the covariance": Wrong(
            "That is what the overlap forgets, 1 - a^2. The direction is forgotten by a a step.",
            lambda b, N: _agreed(b, N, gap=2),
        ),
        "base ten": Wrong("Take the natural logarithm.", lambda b, N: _agreed(b, N, ten=True)),
        "columns": Wrong("The overlap comes first.", lambda b, N: _agreed(b, N, turned=True)),
        "not there yet": Wrong(
            "You went round the equations too few times: near beta = 1 each time brings you little nearer. Solve for the root.",
            lambda b, N: _agreed(b, N, steps=300),
            right_in=(_FEW,),
        ),
    },
)

# %% [markdown]
# ## Question 5. Experiment: three closures after one exact step (4 points)
#
# All spins are known, `s [n]`. The first step is exact: $m_i = \tanh \beta (x_i + \sum_j J_{ij} s_j)$, and given $s$ the new spins are independent. What are the means $m'$ after the second step? Sum over all states for the truth, up to ten spins, and compare with three closures, with $g_i = x_i + \sum_j J_{ij} m_j$ and $\Delta_i = \sum_j J_{ij}^2 (1 - m_j^2)$:
#
# - naive: $m' = \tanh \beta g$;
# - dynamical TAP: $m' = \tanh(\beta g - \beta^2 \Delta\, m')$, which has one root;
# - Gaussian: $m' = \int Dz \tanh \beta (g + \sqrt \Delta z)$, a sum over 4,001 evenly spaced $z$ between $-9$ and $9$.
#
# Return the error of each, $|m'_{\rm closure} - m'| / |m'|$, norms over spins: `[3]` in this order. $\beta^2 \Delta$ may be far above one.


# %% tags=["answer"]
def contest(J, x, s, beta):
    """Relative errors of the naive, the TAP and the Gaussian closure, [3]."""
    # solution
    m = torch.tanh(beta * (x + J @ s))
    states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=len(x))), dtype=x.dtype)
    law = ((1 + states * m) / 2).prod(-1)
    exact = law @ torch.tanh(beta * (x + states @ J.T))
    g, delta = x + J @ m, J.square() @ (1 - m.square())
    low, high = -torch.ones_like(m), torch.ones_like(m)
    for _ in range(100):
        tap = (low + high) / 2
        over = torch.tanh(beta * g - beta**2 * delta * tap) > tap
        low, high = torch.where(over, tap, low), torch.where(over, high, tap)
    z = torch.linspace(-9, 9, 4001, dtype=x.dtype)
    gaussian = torch.tanh(beta * (g[:, None] + delta[:, None].sqrt() * z)) @ torch.softmax(-z.square() / 2, 0)
    answers = torch.stack([torch.tanh(beta * g), tap, gaussian])
    return (answers - exact).norm(dim=-1) / exact.norm()
    # end


# %% tags=["show"]
generator = torch.Generator().manual_seed(0)
n, betas, errors = 9, torch.logspace(-0.7, 0.7, 12, dtype=torch.float64), []
J = torch.randn(n, n, dtype=torch.float64, generator=generator) / n**0.5
x, s = 0.3 * torch.randn(n, dtype=torch.float64, generator=generator), torch.ones(n, dtype=torch.float64)
for beta in betas.tolist():
    errors.append(contest(J, x, s, beta))
if all(isinstance(error, torch.Tensor) and error.shape == (3,) for error in errors):
    import matplotlib.pyplot as plt

    plt.loglog(betas, torch.stack(errors), "o-", label=["naive", "TAP", "Gaussian"])
    plt.xlabel("inverse temperature")
    plt.ylabel("relative error")
    plt.legend()
    plt.show()


# %% tags=["teacher"]
def _raced(
    J, x, s, beta, reaction="root", power=2, square=True, sign=-1.0, width="root", measure="norm", order=(0, 1, 2), truth="law"
):
    S = _all(len(x))
    m = (beta * (x + J @ s)).tanh()
    chance = torch.where(S > 0, (1 + m) / 2, (1 - m) / 2).prod(-1)
    exact = (chance[:, None] * (beta * (x + S @ J.mT)).tanh()).sum(0)
    if truth == "start":  # one step, which the closures do not make
        exact = m
    elif truth == "even":
        exact = (beta * (x + S @ J.mT)).tanh().mean(0)
    g, D = x + J @ m, (J**2 if square else J.abs()) @ (1 - m * m)
    D_reaction = beta**power * D
    if reaction == "root":  # Newton's method, held between -1 and 1
        tap = (beta * g).tanh()
        low, high = torch.full_like(m, -1.0), torch.full_like(m, 1.0)
        for _ in range(200):
            value = (beta * g + sign * D_reaction * tap).tanh() - tap
            low, high = torch.where(value > 0, tap, low), torch.where(value > 0, high, tap)
            slope = sign * D_reaction * (1 - (beta * g + sign * D_reaction * tap).tanh() ** 2) - 1
            tap = tap - value / slope
            tap = torch.where((tap <= low) | (tap >= high), (low + high) / 2, tap)
    elif reaction == "old":
        tap = (beta * g - D_reaction * m).tanh()
    elif reaction == "once":
        tap = (beta * g - D_reaction * (beta * g).tanh()).tanh()
    else:
        tap = (beta * g).tanh()
        for _ in range(500):
            tap = (beta * g - D_reaction * tap).tanh()
    z = torch.arange(-1800, 1801).double() / 200
    weight = (-z * z / 2).exp()
    spread = {"root": D.sqrt(), "variance": D, "half": (D / 2).sqrt()}[width]
    smeared = ((beta * (g[:, None] + spread[:, None] * z)).tanh() * weight).sum(-1) / weight.sum()
    rows = [(beta * g).tanh(), tap, smeared]
    errors = [(row - exact).abs().amax() / exact.abs().amax() if measure == "largest" else (row - exact).norm() for row in rows]
    errors = torch.stack(errors) / (exact.norm() if measure == "norm" else 1.0)
    return errors[list(order)]


def _layer(draw, n, beta, size=1.0, balanced=False):
    """Balanced: the first state presses on no spin, so that the means after it stay small and the fields spread."""
    J, s = size * draw(n, n) / n**0.5, draw.spins(n)
    return J - balanced * torch.outer(J @ s, s) / n, 0.4 * draw(n), s, beta


_SOFT, _HARD = "small reactions", "large reactions"
QUESTION_5 = Question(
    "5",
    contest,
    shown=[_short(_layer(Draw(7), 4, 0.7)), _short(_layer(Draw(8), 4, 1.5, 1.5, True))],
    cases={
        _SOFT: Case(2, lambda draw: [_layer(draw, 6, draw.number(0.4, 0.7)), _layer(draw, 9, draw.number(0.4, 0.7))]),
        _HARD: Case(2, lambda draw: [_layer(draw, n, draw.number(1.4, 1.8), 1.5, True) for n in (8, 7)]),
    },
    wrong={
        "old means": Wrong(
            "Your reaction has the means before the step. It has those after it: solve for them.",
            lambda *a: _raced(*a, reaction="old"),
        ),
        "once": Wrong(
            "You put the naive means into the reaction and stopped. m' is on both sides: find the root.",
            lambda *a: _raced(*a, reaction="once"),
        ),
        "round and round": Wrong(
            "Putting m' in again and again swings back and forth once beta^2 Delta is large. Bisect: there is one root.",
            lambda *a: _raced(*a, reaction="again"),
            right_in=(_SOFT,),
        ),
        "one beta": Wrong("The reaction has beta squared.", lambda *a: _raced(*a, power=1)),
        "couplings not squared": Wrong("Delta has the couplings squared.", lambda *a: _raced(*a, square=False)),
        "variance for spread": Wrong(
            "Delta is a variance: the field spreads by its root.", lambda *a: _raced(*a, width="variance")
        ),
        "evenly": Wrong(
            "You gave all states equal chances. After the first step a spin is up with chance (1 + m)/2.",
            lambda *a: _raced(*a, truth="even"),
        ),
        "first step": Wrong("You compared with the means after the first step.", lambda *a: _raced(*a, truth="start")),
        "not divided": Wrong("Divide by the norm of the exact means.", lambda *a: _raced(*a, measure="none")),
        "order": Wrong("The order is naive, TAP, Gaussian.", lambda *a: _raced(*a, order=(0, 2, 1))),
    },
)

# %% [markdown] tags=["by-hand"]
# ## Question 6. What an arrow tells (5 points)
#
# Symmetric couplings with a diagonal: is there an arrow with one site at a time, and is there one with all at once, and why? In question 2, try strong signed couplings: the law forgets, and the films? Say what each of the two means for a layer that should remember. Name two ways in which a layer of question 3 can be made to remember longer, and what each costs. In question 4, every average of a spin is zero at every β; what orders above one, and what is it called in a transformer? In your plot of question 5, why do all errors vanish when it is hot, in which order, and why does TAP lose first? Ten sentences.

# %% [markdown] tags=["teacher"]
# **Rubric.** One point each. One site at a time: yes, as soon as a diagonal is there, since the chance to turn a spin back contains its new value, which an energy does not; all at once: none, for log P(s, s') - log P(s', s) is then a difference of two functions of one state each (flip s in the log ratio: s'Js cancels against sJs'). The law forgets: each row of the powers of P becomes the same. Films under one noise stay apart longer where couplings are signed: up in one may push down in another, so that none encloses the others; few spins meet in the end, at a slower rate than the law's (.83 against .67 a step in a system of four), large layers never. Where couplings are positive, films between all up and all down are enclosed, and both rates are the same. Memory in the sense of the law is what question 3 counts, and no noise that somebody knows gives more; what two films keep apart is known only to who knows the noise. Longer memory: colder (larger beta, at the price of noise that no longer averages and of states that stick, so that new inputs are not heard), larger couplings or a diagonal near one (at the price that the drive weighs less); or to write the state's own field into the drive, as a residual stream does. Overlaps between tokens order, c to 1 - 1/beta, while the common direction wanders and is lost in 2N(beta - 1) steps: over-smoothing, or rank collapse. When hot all closures agree with the exact step: the naive one errs by a share of order beta^2 (by -beta^2 Delta m (1 - m^2), with m of order beta), TAP and Gaussian, which both have that term, by one of order beta^3; TAP keeps one order in Delta and is two to three times as far off as the Gaussian once beta^2 Delta is near one; what is left of that is that a few couplings do not make a Gaussian field.

# %% tags=["teacher"]
QUESTION_6 = ByHand("6", 5)
