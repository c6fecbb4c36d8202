# %% [markdown]
# # Assignment 7. Transformers as collectives
#
# What can nobody know who does not see the couplings? Is a head as sure as it is right? Where does a walker end that stumbles? Which of two laws does a text follow? You compute what the best answer is, before any network is trained, and see two contestants cross.
#
# - Write your code in place of the dots. Keep the names of the functions and the order of their arguments.
# - Below each answer a check tries it on a few numbers and says what probably went wrong. You are graded on other numbers.
# - Only the functions count. You may add cells and helpers anywhere. The package `attnlib` is not there when you are graded.
# - Run everything from the top before you hand in: *Runtime, Restart and run all*. Hand in this one file.
#
# 25 points. Numbers arrive as float64 tensors, states as whole numbers.

# %%
import itertools

import torch

# %% tags=["teacher"]
from classroom.question import ByHand, Case, Draw, Question, Wrong

# %% [markdown]
# ## Question 1. What fields do not tell (4 points)
#
# Spins $s_i = \pm 1$ have the weight $\exp\big(\sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i\big)$. The fields are one of the rows of `h [a, n]`, with chances `p [a]`; independently of them the couplings are one of `J [b, n, n]`, symmetric without a diagonal, with chances `q [b]`. Let $m_i$ be the mean of spin $i$. Who sees the fields and not the couplings answers $E(m_i \mid h)$ at best.
#
# Return the error that is left, $\sum_i E\,\mathrm{Var}(m_i \mid h)$, divided by that of the answer zero, $\sum_i E\,m_i^2$: a tensor without axes. There are up to eight spins; couplings and fields may be 400.


# %% tags=["answer"]
def floor(h, p, J, q):
    """The share of the means that fields do not tell, a number."""
    # solution
    states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=h.shape[1])), dtype=h.dtype)
    pairs = torch.einsum("si,bij,sj->bs", states, J, states) / 2
    m = torch.softmax(pairs + (h @ states.T)[:, None], -1) @ states
    known = torch.einsum("b,abi->ai", q, m)
    left = torch.einsum("a,b,abi->", p, q, (m - known[:, None]).square())
    return left / torch.einsum("a,b,abi->", p, q, m.square())
    # end


# %% tags=["teacher"]
def _laws(draw, n, a, b, size=1.0):
    """Fields and couplings with uneven chances; fields that are not even about zero."""
    J = size * draw(b, n, n).triu(1) / n**0.5
    return size * (draw(a, n) + 0.3), draw(a).softmax(0), J + J.mT, draw(b).softmax(0)


def _means(h, J, pairs=0.5, direct=False):
    """Mean of each spin for all fields and couplings, [a, b, n]."""
    states = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0]).double()] * h.shape[1])
    scores = pairs * ((states @ J) * states).sum(-1) + (h @ states.T)[:, None]
    if not direct:
        return scores.softmax(-1) @ states
    return scores.exp() @ states / scores.exp().sum(-1, keepdim=True)


def _share(h, p, J, q, m=None, over="couplings", below="square", evenly=False, tanh=False, kept=False):
    m = _means(h, J) if m is None else m
    p, q = (p * 0 + 1 / len(p), q * 0 + 1 / len(q)) if evenly else (p, q)
    both = p[:, None, None] * q[:, None]
    known = {
        "couplings": (q[:, None] * m).sum(1, keepdim=True),
        "fields": (p[:, None, None] * m).sum(0, keepdim=True),
        "all": (both * m).sum((0, 1)),
    }[over]
    left, whole = (both * (m - known) ** 2).sum(), (both * m * m).sum()
    whole = (both * (m - (both * m).sum((0, 1))) ** 2).sum() if below == "variance" else whole
    return 1 - left / whole if kept else left / whole


def _rounded(system):
    return tuple((x * 1000).round() / 1000 if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in system)


_SMALL, _STRONG = "moderate fields and couplings", "strong fields and couplings"
QUESTION_1 = Question(
    "1",
    floor,
    shown=[_rounded(_laws(Draw(1), 3, 2, 3)), _rounded(_laws(Draw(2), 2, 3, 2, 400.0))],
    cases={
        _SMALL: Case(2, lambda draw: [_laws(draw, 4, 3, 4), _laws(draw, 6, 5, 3)]),
        _STRONG: Case(2, lambda draw: [_laws(draw, 5, 4, 6, 400.0)]),
    },
    wrong={
        "variance of m": Wrong(
            "That is the variance of the means over fields and couplings together. The fields are known: take it at given fields.",
            lambda *a: _share(*a, over="all"),
        ),
        "couplings known": Wrong(
            "You hold the couplings and let the fields vary. It is the fields that are seen.",
            lambda *a: _share(*a, over="fields"),
        ),
        "what is told": Wrong(
            "That is the share that the fields tell. The error is what they do not tell.", lambda *a: _share(*a, kept=True)
        ),
        "evenly": Wrong(
            "You gave all fields and couplings equal chances: weigh with p and q.", lambda *a: _share(*a, evenly=True)
        ),
        "divided by the variance": Wrong(
            "The answer zero errs by E m^2. You took the mean of m off, which is not zero here.",
            lambda *a: _share(*a, below="variance"),
        ),
        "pairs twice": Wrong("Each pair counts once: the sum runs over i < j.", lambda h, p, J, q: _share(h, p, 2 * J, q)),
        "mean coupling": Wrong(
            "You took the spins in the mean of all couplings for the mean answer. Average the means, not the couplings.",
            lambda h, p, J, q: (
                (p[:, None, None] * q[:, None] * (_means(h, J) - _means(h, (q[:, None, None] * J).sum(0)[None])) ** 2).sum()
                / (p[:, None, None] * q[:, None] * _means(h, J) ** 2).sum()
            ),
        ),
        "overflow": Wrong(
            "The weights overflow. Take the largest exponent off first: a softmax over states does.",
            lambda h, p, J, q: _share(h, p, J, q, _means(h, J, direct=True)),
            right_in=(_SMALL,),
        ),
    },
)

# %% [markdown]
# ## Question 2. As sure as it is right? (4 points)
#
# Two memories $\pm x$ with $|x|^2 = d$ are equally likely, and a query is one of them with noise of standard deviation $\sigma$ on each component. A head with the inverse temperature $\beta$ gives the right memory the weight
#
# $$ w = \frac 1{1 + e^{-2 \beta u}}, \qquad u = d + \sigma \sqrt d\, Z, $$
#
# with $Z$ standard normal, and the other one $1 - w$. What it recalls is off by $\varepsilon = (1 - \tanh \beta u)^2$ a component. For each of `betas [k]` return the mean error $E\,\varepsilon$ and the reading of the thermometer, $E\,(w^2 + (1 - w)^2) \,/\, E\,w$: `[k, 2]`. `sigma` and `d` are numbers. Take a sum over 4,001 evenly spaced $Z$ between $-9$ and $9$, not random ones. $\beta u$ may be hundreds.
#
# At which $\beta$ is the second column one, and what is special there about the first?


# %% tags=["answer"]
def readings(betas, sigma, d):
    """Mean error and reading of the thermometer at each inverse temperature, [k, 2]."""
    # solution
    Z = torch.linspace(-9, 9, 4001, dtype=torch.float64)
    chance = torch.softmax(-Z.square() / 2, 0)
    x = betas[:, None] * (d + sigma * d**0.5 * Z)
    w = torch.sigmoid(2 * x)
    error = (1 - torch.tanh(x)).square() @ chance
    return torch.stack([error, (w.square() + (1 - w).square()) @ chance / (w @ chance)], -1)
    # end


# %% tags=["show"]
betas = torch.linspace(0.05, 3, 60, dtype=torch.float64)
table = readings(betas, 1.2, 2)
if isinstance(table, torch.Tensor) and table.shape == (60, 2):
    import matplotlib.pyplot as plt

    plt.plot(betas, table, label=["error", "thermometer"])
    plt.axvline(1 / 1.2**2, color="k")
    plt.axhline(1, color="k")
    plt.xlabel("inverse temperature")
    plt.legend()
    plt.show()


# %% tags=["teacher"]
def _told(betas, sigma, d, spread=1, width=1.0, power=0.5, two=2, rule="ratio", turned=False, direct=False):
    """As the reference, by another rule; tanh is twice the weight less one where all is right."""
    Z = torch.arange(-1800, 1801).double() / 200
    chance = torch.softmax(-Z * Z / 2, 0)
    x = betas[:, None] * (d + width * sigma**spread * d**power * Z)
    w = (two * x).exp() / (1 + (two * x).exp()) if direct else torch.sigmoid(two * x)
    error, squares = (chance * (1 - x.tanh()) ** 2).sum(-1), w**2 + (1 - w) ** 2
    if rule == "mean of ratios":
        reading = (chance * squares / w).sum(-1)
    elif rule == "largest":
        reading = (chance * torch.maximum(w, 1 - w)).sum(-1) / (chance * w).sum(-1)
    elif rule == "one square":
        reading = (chance * w**2).sum(-1) / (chance * w).sum(-1)
    else:
        reading = (chance * squares).sum(-1) / (chance * w).sum(-1)
    return torch.stack([reading, error] if turned else [error, reading], -1)


def _heads(draw, d, sigma):
    return (0.2 + draw(3).abs()) / sigma**2, sigma, d


_WARM, _COLD = "moderate temperatures", "weights near zero and one"
QUESTION_2 = Question(
    "2",
    readings,
    shown=[(torch.tensor([0.2, 0.7, 2.0]).double(), 1.5, 3), (torch.tensor([40.0]).double(), 1.1, 2)],
    cases={
        _WARM: Case(3, lambda draw: [_heads(draw, 2, draw.number(1.2, 1.5)), _heads(draw, 5, draw.number(1.8, 2.2))]),
        _COLD: Case(1, lambda draw: [(torch.tensor([20.0, 24.0]).double(), draw.number(1.4, 1.6), 3)]),
    },
    wrong={
        "mean of ratios": Wrong(
            "Take both means first, then divide. A query whose right memory has little weight would rule your reading.",
            lambda b, s, d: _told(b, s, d, rule="mean of ratios"),
        ),
        "largest weight": Wrong(
            "You took the larger weight for the sum of squares. A second memory drawn by the weights is right with w^2 + (1 - w)^2.",
            lambda b, s, d: _told(b, s, d, rule="largest"),
        ),
        "one square": Wrong("The squares of both weights are added.", lambda b, s, d: _told(b, s, d, rule="one square")),
        "mean noise": Wrong(
            "You put in the mean of Z, which is zero. Average over Z.", lambda b, s, d: _told(b, s, d, width=0.0)
        ),
        "variance for spread": Wrong(
            "The noise on u is sigma sqrt(d) Z: sigma is a standard deviation already.",
            lambda b, s, d: _told(b, s, d, spread=2),
        ),
        "width for its root": Wrong(
            "A sum of d noises spreads like sqrt(d), not like d.", lambda b, s, d: _told(b, s, d, power=1.0)
        ),
        "half the gap": Wrong(
            "The two scores are beta u and -beta u: their difference is 2 beta u.",
            lambda b, s, d: _told(b, s, d, two=1),
        ),
        "columns": Wrong("The error comes first.", lambda b, s, d: _told(b, s, d, turned=True)),
        "overflow": Wrong(
            "exp(2 beta u) overflows. torch.sigmoid does not.",
            lambda b, s, d: _told(b, s, d, direct=True),
            right_in=(_WARM,),
        ),
    },
)

# %% [markdown]
# ## Question 3. A walker that stumbles (4 points)
#
# A random permutation $f$ of $n$ places, all equally likely, and a start $q$. A walker takes $T$ steps. Each goes from a place $x$ to $f(x)$ with chance `right`, and else to any of the $n$ places, with equal chances. It is asked for $f^k(q)$.
#
# `k [a]` and `T [b]` are whole numbers from 0 on, `n` and `right` numbers. Return how often the walker ends where it should: `[a, b]`, float64. There may be more places than anyone can visit in all orders.
#
# How long is the cycle on which $q$ lies? Count the permutations of three places. And where is a walker that has stumbled once?


# %% tags=["answer"]
def arrivals(k, T, n, right):
    """The chance to arrive after so many hops and steps, [a, b]."""
    # solution
    apart = (k[:, None] - T)[..., None]
    round_again = (apart % torch.arange(1, n + 1) == 0).double().mean(-1)
    sure = torch.tensor(right, dtype=torch.float64) ** T
    return sure * round_again + (1 - sure) / n
    # end


# %% tags=["teacher"]
def _arrived(k, T, n, right, rule=lambda apart, length: apart % length == 0, chance=None, power="T", once=None, turned=False):
    apart = k.reshape(-1, 1, 1) - T.reshape(-1, 1)
    alike = rule(apart, torch.arange(n) + 1).double().sum(-1) / n
    count = {"T": T[None], "k": k[:, None], "one": torch.ones_like(T)[None]}[power]
    sure = right ** count.double()
    found = sure * alike + (1 - sure) * (1 / n if chance is None else chance)
    return found.mT.clone() if turned else found


_FEW, _LOTS = "few places", "hundreds of places"
QUESTION_3 = Question(
    "3",
    arrivals,
    shown=[
        (torch.tensor([0, 2, 3, 7]), torch.tensor([1, 3, 5]), 4, 0.8),
        (torch.tensor([1, 12]), torch.tensor([2, 0, 6]), 150, 0.9),
    ],
    cases={
        _FEW: Case(
            2,
            lambda draw: [
                (torch.tensor([0, 1, 2, 4, 9]), torch.tensor([1, 2, 3, 6]), 5, draw.number(0.5, 0.9)),
                (torch.tensor([2, 3, 11]), torch.tensor([3, 5]), 7, draw.number(0.5, 0.9)),
            ],
        ),
        _LOTS: Case(2, lambda draw: [(torch.tensor([1, 2, 30]), torch.tensor([0, 2, 4, 6]), 200, draw.number(0.7, 0.9))]),
    },
    wrong={
        "no stumbling back": Wrong(
            "A walker that has stumbled is at every place with the same chance, so at the right one with 1/n.",
            lambda k, T, n, r: _arrived(k, T, n, r, chance=0.0),
        ),
        "one stumble": Wrong(
            "Every one of the T steps must be right: right to the power of T.",
            lambda k, T, n, r: _arrived(k, T, n, r, power="one"),
        ),
        "hops for steps": Wrong(
            "The walker takes T steps, not k: the chance of no stumble is right to the power of T.",
            lambda k, T, n, r: _arrived(k, T, n, r, power="k"),
        ),
        "own number only": Wrong(
            "A walk of another number of steps arrives as well, where the cycle of the start comes round in between.",
            lambda k, T, n, r: _arrived(k, T, n, r, rule=lambda apart, length: apart + 0 * length == 0),
        ),
        "guess elsewhere": Wrong(
            "Other numbers of steps do not arrive by chance, 1/n, but on every cycle whose length divides the difference.",
            lambda k, T, n, r: _arrived(k, T, n, r, rule=lambda apart, length: (apart == 0) | (length == 1)),
        ),
        "too far": Wrong(
            "A walk that went too far comes round too: the sign of k - T does not matter.",
            lambda k, T, n, r: _arrived(k, T, n, r, rule=lambda apart, length: (apart % length == 0) & (apart >= 0)),
        ),
        "difference zero": Wrong(
            "Every length divides zero: where k = T a walk without a stumble is right.",
            lambda k, T, n, r: _arrived(k, T, n, r, rule=lambda apart, length: (apart % length == 0) & (apart != 0)),
        ),
        "length of the difference": Wrong(
            "You asked for cycles as long as the difference. Shorter ones whose length divides it come round as well.",
            lambda k, T, n, r: _arrived(k, T, n, r, rule=lambda apart, length: (apart == 0) | (apart.abs() == length)),
        ),
        "turned": Wrong("Rows are k, columns T.", lambda k, T, n, r: _arrived(k, T, n, r, turned=True)),
    },
)

# %% [markdown]
# ## Question 4. One law or two? (4 points)
#
# `states [length]` holds whole numbers from 0 to `k` - 1. With equal chances beforehand they follow one of two kinds of law. Of the first kind, all states but the first are drawn by one distribution over the `k` states. Of the second, each is drawn by a distribution of its own for each state that may come before it. All distributions are uniform beforehand: Dirichlet with all parameters 1. The first state is uniform in both.
#
# Return, for each place but the last, the chances of the next state given all states up to that place, both kinds of law allowed: `[length - 1, k]`, float64. A text may have 3,000 states.
#
# A law that foresees what comes gains in belief. How much does each step change the odds of the two?


# %% tags=["answer"]
def foresee(states, k):
    """Bayes' chances of the next state at each place but the last, [length - 1, k]."""
    # solution
    one, two = torch.ones(k, dtype=torch.float64), torch.ones(k, k, dtype=torch.float64)
    log_odds, said = torch.zeros((), dtype=torch.float64), []
    for now, then in itertools.pairwise(states):
        alone, after = one / one.sum(), two[now] / two[now].sum()
        belief = torch.sigmoid(log_odds)
        said.append(belief * after + (1 - belief) * alone)
        log_odds = log_odds + after[then].log() - alone[then].log()
        one[then] += 1
        two[now, then] += 1
    return torch.stack(said)
    # end


# %% tags=["teacher"]
def _text(draw, k, length, moves):
    """A text with moves of a given strength: without any, it is drawn by one law."""
    law = (0.7 * draw(k) + moves * draw(k, k)).softmax(-1)
    found = [0]
    for _ in range(length - 1):
        found.append(min(k - 1, int((law[found[-1]].cumsum(0) < draw.number(0, 1)).sum())))
    return torch.tensor(found), k


def _said(states, k, alpha=1.0, belief="odds", first=False, late=False, turned=False, plain=False, whole=False):
    """The same from counts of all places at once."""
    hot = torch.eye(k).double()[states]
    pairs = hot[:-1, :, None] * hot[1:, None]
    pairs = pairs.mT if turned else pairs
    seen, rows = (hot if first else hot[1:]), pairs.cumsum(0) - (0 if late else pairs)
    one = hot[:-1].cumsum(0) if first else seen.cumsum(0) - (0 if late else seen)
    two = rows[torch.arange(len(pairs)), states[:-1]]
    alone, after = ((c + alpha) / (c + alpha).sum(-1, keepdim=True) for c in (one, two))
    then = states[1:, None]
    if plain:
        ratio = torch.cumprod(after.gather(1, then), 0), torch.cumprod(alone.gather(1, then), 0)
        before = [torch.cat([torch.ones(1, 1).double(), r[:-1]]) for r in ratio]
        share = before[0] / (before[0] + before[1])
    else:
        gain = (after.gather(1, then).log() - alone.gather(1, then).log()).cumsum(0)
        gain = gain[-1:].expand_as(gain) if whole else torch.cat([torch.zeros(1, 1).double(), gain[:-1]])
        share = gain.sigmoid()
    if belief == "larger":
        share = (share > 0.5).double()
    share = {"half": 0.5 + 0 * share, "one": 0 * share, "two": 0 * share + 1}.get(belief, share)
    return share * after + (1 - share) * alone


_SHORT, _LONG = "short texts", "thousands of states"
QUESTION_4 = Question(
    "4",
    foresee,
    shown=[(torch.tensor([0, 1, 0, 0, 2, 0, 1]), 3), _text(Draw(3), 2, 30, 2.0)],
    cases={
        _SHORT: Case(3, lambda draw: [_text(draw, 3, 14, 2.0), _text(draw, 2, 25, 0.3), _text(draw, 4, 20, 1.0)]),
        _LONG: Case(1, lambda draw: [_text(draw, 3, 2600, 0.6)]),
    },
    wrong={
        "two laws only": Wrong(
            "You foresee by the second kind of law alone. A text of the first kind is foreseen better by one distribution.",
            lambda s, k: _said(s, k, belief="two"),
        ),
        "one law only": Wrong(
            "You foresee by the first kind of law alone: use what came before too.", lambda s, k: _said(s, k, belief="one")
        ),
        "half and half": Wrong(
            "You mix the two kinds half and half at every place. What has been seen changes the odds.",
            lambda s, k: _said(s, k, belief="half"),
        ),
        "the likelier": Wrong(
            "You follow the likelier kind. Both are mixed, by their chances.", lambda s, k: _said(s, k, belief="larger")
        ),
        "belief of the end": Wrong(
            "Your odds are those of the whole text at every place. Only what came before is known.",
            lambda s, k: _said(s, k, whole=True),
        ),
        "knows the next": Wrong(
            "The state that is to be foreseen is among your counts. Count after you have said its chances.",
            lambda s, k: _said(s, k, late=True),
        ),
        "first state counted": Wrong(
            "The first state is not drawn by the distribution of the first kind: it is uniform in both. Leave it out of the counts.",
            lambda s, k: _said(s, k, first=True),
        ),
        "turned": Wrong("Your counts run from the later state to the earlier one.", lambda s, k: _said(s, k, turned=True)),
        "half a count": Wrong("A uniform prior adds one to each count, not a half.", lambda s, k: _said(s, k, alpha=0.5)),
        "vanishes": Wrong(
            "The chance of a long text is zero in double precision. Add up logarithms.",
            lambda s, k: _said(s, k, plain=True),
            right_in=(_SHORT,),
            shown=False,
        ),
    },
)

# %% [markdown]
# ## Question 5. Experiment: two contestants cross (4 points)
#
# Spins as in question 1, $n$ of them, and each has a token: its field $h_i$ and $d$ numbers $x_i$. Couplings are in part the same for all systems, in part told by the tokens: $J_{ij} = \sqrt{1 - \lambda}\, J^0_{ij} + \sqrt\lambda\, g\, x_i \cdot x_j / \sqrt{d n}$. Two contestants are to find the exact means `m [count, n]` from `h [count, n]` and `x [count, n, d]`:
#
# - the first is blind to $x$: a linear map of all fields, $\hat m_i = \sum_j A_{ij} h_j$, with $n^2$ numbers;
# - the second reads couplings from the tokens: $\hat m_i = a\, h_i + b \sum_{j \neq i} \frac{x_i \cdot x_j}{\sqrt{d n}}\, h_j$, with two numbers for all spins.
#
# Fit both to the first `train` systems by least squares, over all their spins. Return the error of each on the other systems, $\sum (\hat m - m)^2 / \sum m^2$, sums over systems and spins: `[2]`, the blind one first.


# %% tags=["answer"]
def contest(h, x, m, train):
    """Relative errors of the blind contestant and of the one that reads the tokens, [2]."""
    # solution
    n, d = x.shape[1:]
    coupled = x @ x.mT / (d * n) ** 0.5
    heard = ((coupled - torch.diag_embed(coupled.diagonal(dim1=1, dim2=2))) @ h[..., None])[..., 0]
    both = torch.stack([h, heard], -1)
    A = torch.linalg.lstsq(h[:train], m[:train]).solution
    ab = torch.linalg.lstsq(both[:train].reshape(-1, 2), m[:train].reshape(-1, 1)).solution
    answers = torch.stack([h @ A, (both @ ab)[..., 0]])[:, train:]
    return (answers - m[train:]).square().sum((1, 2)) / m[train:].square().sum()
    # end


# %% tags=["show"]
generator = torch.Generator().manual_seed(0)
n, d, count = 6, 4, 3000
states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=n)), dtype=torch.float64)
J0 = 1.2 / n**0.5 * torch.randn(n, n, dtype=torch.float64, generator=generator).triu(1)
h = 0.7 * torch.randn(count, n, dtype=torch.float64, generator=generator)
x = torch.randn(count, n, d, dtype=torch.float64, generator=generator)
shares, errors = torch.tensor([0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0], dtype=torch.float64), []
for share in shares:
    J = (1 - share) ** 0.5 * (J0 + J0.T) + share**0.5 * 1.2 * x @ x.mT / (d * n) ** 0.5  # a diagonal changes no mean
    weight = torch.softmax(((states @ J) * states).sum(-1) / 2 + h @ states.T, -1)
    errors.append(contest(h, x, weight @ states, count // 2))
if all(isinstance(error, torch.Tensor) and error.shape == (2,) for error in errors):
    import matplotlib.pyplot as plt

    plt.loglog(shares, torch.stack(errors), "o-", label=["blind", "reads the tokens"])
    plt.xlabel("share of couplings that tokens tell")
    plt.ylabel("relative error")
    plt.legend()
    plt.show()


# %% tags=["teacher"]
def _systems(draw, count, n, d, share, train):
    J0 = 1.2 / n**0.5 * draw(n, n).triu(1)
    h, x = 0.7 * draw(count, n) + 0.2, draw(count, n, d)
    own = 1.2 * x @ x.mT / (d * n) ** 0.5
    J = (1 - share) ** 0.5 * (J0 + J0.mT) + share**0.5 * own
    states = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0]).double()] * n)
    m = (((states @ J) * states).sum(-1) / 2 + h @ states.T).softmax(-1) @ states
    return h, x, m, train


def _solved(X, y):
    """Least squares by the normal equations."""
    return torch.linalg.solve(X.mT @ X, X.mT @ y)


def _raced(
    h,
    x,
    m,
    train,
    diagonal=False,
    judged="others",
    fitted="first",
    offset=False,
    below="square",
    own=False,
    scale=0.5,
    turned=False,
):
    n, d = x.shape[1:]
    coupled = torch.einsum("cik,cjk->cij", x, x) / (d * n) ** scale
    coupled = coupled if diagonal else coupled * (1 - torch.eye(n))
    heard = torch.einsum("cij,cj->ci", coupled, h)
    fit = slice(None) if fitted == "all" else slice(train)
    say = slice(train) if judged == "fitted" else slice(None) if judged == "all" else slice(train, None)
    X = torch.cat([h, torch.ones(len(h), 1).double()], 1) if offset else h
    first, both = X @ _solved(X[fit], m[fit]), torch.stack([h, heard], -1)
    if own:  # two numbers for each spin
        second = torch.stack([both[:, i] @ _solved(both[fit, i], m[fit, i]) for i in range(n)], 1)
    else:
        second = both @ _solved(both[fit].reshape(-1, 2), m[fit].reshape(-1))
    whole = (m[say] - m[say].mean(0) if below == "variance" else m[say]) ** 2
    errors = torch.stack([((answer - m)[say] ** 2).sum() / whole.sum() for answer in (first, second)])
    return errors.flip(0) if turned else errors


QUESTION_5 = Question(
    "5",
    contest,
    shown=[_rounded(_systems(Draw(5), 18, 3, 2, 0.4, 12))],
    cases={
        "tokens tell little": Case(2, lambda draw: [_systems(draw, 90, 4, 3, draw.number(0.02, 0.1), 60)]),
        "tokens tell much": Case(2, lambda draw: [_systems(draw, 80, 5, 2, draw.number(0.5, 0.9), 50)]),
    },
    wrong={
        "hears itself": Wrong(
            "A spin does not couple to itself: leave j = i out of the sum.", lambda *a: _raced(*a, diagonal=True)
        ),
        "errors of the fit": Wrong(
            "These are the errors on the systems that were fitted. Take the others.", lambda *a: _raced(*a, judged="fitted")
        ),
        "fitted to all": Wrong(
            "You fitted to all systems, those too on which the errors are taken.", lambda *a: _raced(*a, fitted="all")
        ),
        "errors of all": Wrong(
            "Your errors are over all systems; take those that were not fitted.", lambda *a: _raced(*a, judged="all")
        ),
        "with an offset": Wrong(
            "Your blind contestant has an offset too: it was to be a linear map of the fields, and no more.",
            lambda *a: _raced(*a, offset=True),
        ),
        "two numbers for each spin": Wrong(
            "The second contestant has two numbers for all spins together. You fitted two for each.",
            lambda *a: _raced(*a, own=True),
        ),
        "divided by the variance": Wrong(
            "The error is relative to the sum of m^2, without a mean taken off.", lambda *a: _raced(*a, below="variance")
        ),
        "exchanged": Wrong("The blind one comes first.", lambda *a: _raced(*a, turned=True)),
    },
)

# %% [markdown] tags=["by-hand"]
# ## Question 6. What a mixer needs (5 points)
#
# In your plot of question 5, why do the two lines cross, and why does neither contestant win on both sides? Which line would the floor of question 1 bound, and what would it look like here? In question 2, what do readings above and below one say, and why is the error least where the reading is one? A block gets 100 % of the questions with two hops right. Name a measurement that tells whether it walks, and what question 3 says the result would be if it does. When should a network prefer the first kind of law in question 4 although the second contains it? Ten sentences.

# %% [markdown] tags=["teacher"]
# **Rubric.** One point each. The crossing: the blind map learns the couplings that all systems share, and at small λ these are nearly all there is; it cannot know those that change from system to system, which the second reads from the tokens, while that one never learns J0. The floor bounds the blind one from below at every λ; it is zero at λ = 0 and rises with λ, the linear map stays above it since the best answer to the fields is not linear; a contestant that sees the tokens may pass it. Above one the weights are too cold, surer than right, below too hot; at β = 1/σ² the weights are the posterior, a second memory drawn from them is distributed as the true one, so the reading is one, and the posterior mean has the least squared error. Turn the number of steps, and ask for another number of hops: a walker is right where steps equal hops, and its wrong pairs are right on the cycles whose length divides the difference, 1/8 for a difference of one and 1/4 for two or three among eight places, or less by its stumbles. Early in a text: the second kind has k times as many numbers to learn, each from fewer counts, so that it foresees worse while a text is short, if the first kind is true or nearly true.

# %% tags=["teacher"]
QUESTION_6 = ByHand("6", 5)
