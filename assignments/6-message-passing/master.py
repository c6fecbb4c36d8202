# %% [markdown]
# # Assignment 6. Messages and beliefs
#
# Nodes ask and are answered, spins on a tree tell each other what they know, a hidden chain is read forwards and backwards, and a signal comes out of noisy sums. You write the messages, and measure what a memory of one step is worth.
#
# - Write your code in place of the dots. Keep the names of the functions and the order of their arguments.
# - Below each answer a check tries it on a few numbers and says what probably went wrong. You are graded on other numbers.
# - Only the functions count. You may add cells and helpers anywhere. The package `attnlib` is not there when you are graded.
# - Run everything from the top before you hand in: *Runtime, Restart and run all*. Hand in this one file.
#
# 25 points. Numbers arrive as float64 tensors, edges as whole numbers.

# %%
import math

import torch

# %% tags=["teacher"]
from classroom.question import ByHand, Case, Draw, Question, Wrong

# %% [markdown]
# ## Question 1. Crowds on a graph (4 points)
#
# Each node stands for a crowd of equal members: `counts [n]` says how many. An edge from $j$ to $i$, a column of `edges [2, E]` with sources above targets, lets node $i$ hear every member of $j$:
#
# $$ \mathrm{out}_i = \frac{\sum_{j \to i} c_j\, e^{\beta\, q_i \cdot k_j}\, v_j}{\sum_{j \to i} c_j\, e^{\beta\, q_i \cdot k_j}}. $$
#
# With `query [n, d]`, `key [n, d]`, `value [n, c]`, return `[n, c]`. No edge is there twice. A crowd may be empty: nobody hears it. A node that hears nobody gets zeros. Scores may be millions.


# %% tags=["answer"]
def gather(query, key, value, edges, counts, beta):
    """What each node hears from the crowds that point at it, [n, c]."""
    # solution
    source, target = edges
    scores = beta * (query[target] * key[source]).sum(-1) + counts[source].log()
    top = scores.new_full((len(query),), -math.inf).scatter_reduce(0, target, scores, "amax")
    top = torch.where(top.isfinite(), top, 0.0)
    weights = (scores - top[target]).exp()
    total = torch.zeros_like(top).index_add(0, target, weights)
    told = torch.zeros_like(value).index_add(0, target, weights[:, None] * value[source])
    return told / torch.where(total > 0, total, 1.0)[:, None]
    # end


# %% tags=["teacher"]
def _crowds(draw, n, more, quiet=False, size=1.0):
    """A ring with more edges. Where it is quiet node 0 has no edge, node 1 is empty, and node 2 hears only node 1."""
    pairs = {(i, (i + 1) % n) for i in range(n)} | {(j % n, (3 * j + 2) % n) for j in range(more)}
    if quiet:
        pairs = {(j, i) for j, i in pairs if i not in (0, 2)} | {(1, 2), (1, 4)}
    counts = 1 + (3 * draw(n).abs()).floor()
    counts[1] = 0 if quiet else counts[1] + 2
    edges = torch.tensor(sorted(pairs)).T
    return size * draw(n, 3), draw(n, 3), draw(n, 2), edges, counts, draw.number(0.4, 0.8)


def _dense(q, k, v, edges, counts, beta, turned=False, prior=torch.log, rest=0.0):
    """As the reference, by a matrix; rest is what nodes get that hear nobody."""
    mask = torch.zeros(len(q), len(q)).bool()
    mask[tuple(edges if turned else edges.flip(0))] = True
    scores = (beta * q @ k.T + prior(counts)).masked_fill(~mask, -math.inf)
    return torch.where(scores.isfinite().any(1, keepdim=True), scores.softmax(1) @ v, rest)


def _one_softmax(q, k, v, edges, counts, beta):
    p = (beta * (q[edges[1]] * k[edges[0]]).sum(-1) + counts[edges[0]].log()).softmax(0)
    return torch.zeros_like(v).index_add(0, edges[1], p[:, None] * v[edges[0]])


def _unshifted(q, k, v, edges, counts, beta):
    p = counts[edges[0]] * (beta * (q[edges[1]] * k[edges[0]]).sum(-1)).exp()
    total = torch.zeros(len(q)).double().index_add(0, edges[1], p)
    told = torch.zeros_like(v).index_add(0, edges[1], p[:, None] * v[edges[0]])
    return torch.where(total[:, None] == 0, 0.0, told / total[:, None])


def _rounded(system):
    return tuple(x.mul(100).round() / 100 if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in system)


_LOUD = ("everyone is heard", "long vectors")
QUESTION_1 = Question(
    "1",
    gather,
    shown=[_rounded(_crowds(Draw(1), 5, 6, quiet=True)), _rounded(_crowds(Draw(2), 4, 3, size=1e6))],
    cases={
        "everyone is heard": Case(2, lambda draw: [_crowds(draw, 6, 9), _crowds(draw, 9, 20)]),
        "long vectors": Case(1, lambda draw: [_crowds(draw, 7, 12, size=1e6)]),
        "empty crowds and silence": Case(1, lambda draw: [_crowds(draw, 8, 16, quiet=True)]),
    },
    wrong={
        "no counts": Wrong(
            "Attention sees proportions, not numbers: a crowd of ten counts ten times. Multiply its weight, or add the logarithm of its number to the score.",
            lambda q, k, v, e, c, b: _dense(q, k, v, e, c, b, prior=lambda c: 0 * c),
            right_in=("long vectors",),
        ),
        "number added": Wrong(
            "What is added to a score multiplies the weight by its exponential: add the logarithm of the number.",
            lambda q, k, v, e, c, b: _dense(q, k, v, e, c, b, prior=lambda c: c),
            right_in=("long vectors",),
        ),
        "edges turned": Wrong(
            "Your messages run against the arrows: the first row of edges holds those who speak.",
            lambda q, k, v, e, c, b: _dense(q, k, v, e, c, b, turned=True),
        ),
        "one softmax": Wrong(
            "The weights of each node sum to one by themselves; yours do over all edges together.", _one_softmax
        ),
        "no shift": Wrong(
            "The exponential overflows. Take the largest score of each node off first.",
            _unshifted,
            right_in=("everyone is heard", "empty crowds and silence"),
        ),
        "silence is no number": Wrong(
            "A node that hears nobody divides zero by zero. It gets zeros.",
            lambda q, k, v, e, c, b: _dense(q, k, v, e, c, b, rest=math.nan),
            right_in=_LOUD,
        ),
        "empty crowds speak": Wrong(
            "An empty crowd is not heard: the logarithm of its number is minus infinity, as in a mask.",
            lambda q, k, v, e, c, b: _dense(q, k, v, e, c, b, prior=lambda c: c.clamp(min=1).log()),
            right_in=_LOUD,
        ),
    },
)

# %% [markdown]
# ## Question 2. All states of a tree (4 points)
#
# Spins $s_i = \pm 1$ with the weight $\exp\big(\sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i\big)$. The couplings `J [n, n]`, symmetric, form a tree: from each spin one path of couplings that are not zero leads to each other spin. Return $\ln Z$, the logarithm of the sum of all $2^n$ weights, a tensor without axes. There may be hundreds of spins, and couplings and fields of 40.
#
# A message is a field, and it also has a size. What happens to the sum when you sum over a spin at the end of a branch?


# %% tags=["answer"]
def log_partition(J, h):
    """The logarithm of the partition function of spins on a tree, a number."""

    # solution
    def log_two_cosh(x):
        return torch.logaddexp(x, -x)

    parent, order = {0: 0}, [0]
    for i in order:
        for j in J[i].nonzero().flatten().tolist():
            if j not in parent:
                parent[j] = i
                order.append(j)
    field, total = list(h), 0.0
    for i in reversed(order[1:]):
        up, down = log_two_cosh(J[i, parent[i]] + field[i]), log_two_cosh(J[i, parent[i]] - field[i])
        total = total + (up + down) / 2
        field[parent[i]] = field[parent[i]] + (up - down) / 2
    return total + log_two_cosh(field[0])
    # end


# %% tags=["teacher"]
def _tree(draw, n, coupling=1.0, field=1.0, least=0.3):
    """A tree in which each spin hangs on one of the four before it."""
    J = torch.zeros(n, n).double()
    strengths = draw.spins(n) * coupling * (least + draw(n).abs().clamp(max=2))
    for i in range(1, n):
        J[i, int(draw.number(max(0, i - 4), i))] = strengths[i]
    return J + J.T, draw.spins(n) * field * (least + draw(n).abs())


def _summed(J, h, sizes=True, direct=False, atanh=False, two=True):
    """ln Z, the last spins first: each hangs on an earlier one."""
    field, total = h.clone(), torch.zeros(()).double()
    one = (lambda x: x.exp() + (-x).exp()) if direct else (lambda x: torch.logaddexp(x, -x))
    Z = torch.ones(()).double()
    for i in range(len(h) - 1, 0, -1):
        k = int(J[i, :i].abs().argmax())
        up, down = one(J[i, k] + field[i]), one(J[i, k] - field[i])
        Z, size = Z * (up * down).sqrt(), (up + down) / 2
        u = (up / down).log() / 2 if direct else (up - down) / 2
        field[k] += torch.atanh(J[i, k].tanh() * field[i].tanh()) if atanh else u
        total = total + size * sizes
    last = one(field[0])
    return (Z * last).log() if direct else total + last - (0 if two else len(h) * math.log(2))


def _every_belief(J, h):
    u = torch.zeros_like(J)
    for _ in range(len(h)):
        known = (h[:, None] + u.sum(0)[:, None]) - u.T
        u = (torch.logaddexp(J + known, -J - known) - torch.logaddexp(J - known, known - J)) / 2
    field = h + u.sum(0)
    return torch.logaddexp(field, -field).sum()


_FEW, _MANY, _STRONG = "few spins", "hundreds of spins", "strong couplings and fields"
QUESTION_2 = Question(
    "2",
    log_partition,
    shown=[_rounded(_tree(Draw(1), 5)), _rounded(_tree(Draw(2), 24, 20, 1, 2)), _rounded(_tree(Draw(3), 4, 20, 20, 1.5))],
    cases={
        _FEW: Case(2, lambda draw: [_tree(draw, 7), _tree(draw, 10)]),
        _MANY: Case(1, lambda draw: [_tree(draw, 150, 2.5, 1.0, 2.0)]),
        _STRONG: Case(1, lambda draw: [_tree(draw, 6, 15.0, 15.0, 1.5)]),
    },
    wrong={
        "direction only": Wrong(
            "You pass fields on and forget their size: each sum over a spin also leaves a factor that does not depend on its neighbour.",
            lambda J, h: _summed(J, h, sizes=False),
        ),
        "every belief": Wrong(
            "You add up the sums of all single spins, each in the field of all its messages. Every coupling is in there twice, once at each end.",
            _every_belief,
        ),
        "pairs twice": Wrong("Each pair counts once: the sum runs over i < j.", lambda J, h: _summed(2 * J, h)),
        "no two": Wrong(
            "Two states of a spin sum to 2 cosh: you left out the 2 of each spin.", lambda J, h: _summed(J, h, two=False)
        ),
        "no logarithms": Wrong(
            "Z overflows with many spins. Add logarithms up, also for cosh: logaddexp(x, -x).",
            lambda J, h: _summed(J, h, direct=True),
            right_in=(_FEW, _STRONG),
        ),
        "artanh of one": Wrong(
            "In double precision tanh(20) is 1, and its artanh infinite. The same message is half of ln 2cosh(J + x) minus ln 2cosh(J - x).",
            lambda J, h: _summed(J, h, atanh=True),
            right_in=(_FEW, _MANY),
        ),
    },
)

# %% [markdown]
# ## Question 3. Moves that were made (4 points)
#
# A hidden state walks: `start [k]` are the chances of the first state, `moves [k, k]` those of a move from row to column. At each time $t$ something is seen, and `seen [steps, k]` holds how likely that was under each state.
#
# Return how often each move was made, on average over all walks, given *everything* that was seen: $\sum_t P(x_t = i, x_{t+1} = j \mid \text{all})$, `[k, k]`. It sums to `steps - 1`. There may be 500 steps.


# %% tags=["answer"]
def moves_made(start, moves, seen):
    """Expected number of moves between each pair of states, given all that was seen, [k, k]."""
    # solution
    forward = [start * seen[0] / (start @ seen[0])]
    for likely in seen[1:]:
        now = (forward[-1] @ moves) * likely
        forward.append(now / now.sum())
    backward, made = torch.ones_like(start), torch.zeros_like(moves)
    for t in range(len(seen) - 2, -1, -1):
        later = seen[t + 1] * backward
        pairs = forward[t][:, None] * moves * later
        made = made + pairs / pairs.sum()
        backward = moves @ later / later.sum()
    return made
    # end


# %% tags=["teacher"]
def _chain(draw, k, steps):
    return draw(k).softmax(0), (1.5 * draw(k, k)).softmax(1), 0.05 * (1.5 * draw(steps, k)).softmax(1)


def _passed(start, moves, seen, scaled=True):
    """Messages forwards and backwards, [steps, k] each."""
    ahead, back = [start * seen[0]], [torch.ones_like(start)]
    for one in seen[1:]:
        now = (ahead[-1] @ moves) * one
        ahead.append(now / now.sum() if scaled else now)
    for one in seen[1:].flip(0):
        now = moves @ (one * back[0])
        back.insert(0, now / now.sum() if scaled else now)
    return torch.stack(ahead), torch.stack(back)


def _made(start, moves, seen, later=1, symbol=1, scaled=True):
    ahead, back = _passed(start, moves, seen, scaled)
    pairs = ahead[:-1, :, None] * moves * (seen[1:, None] ** symbol) * back[1:, None] ** later
    return (pairs / pairs.sum((1, 2), keepdim=True)).sum(0)


def _apart(start, moves, seen):
    ahead, back = _passed(start, moves, seen)
    each = ahead * back / (ahead * back).sum(1, keepdim=True)
    return each[:-1].T @ each[1:]


def _thousandths(system):
    return tuple((x * 1000).round() / 1000 for x in system)


QUESTION_3 = Question(
    "3",
    moves_made,
    shown=[_thousandths(_chain(Draw(1), 3, 5)), _thousandths(_chain(Draw(2), 2, 260))],
    cases={
        "a few steps": Case(2, lambda draw: [_chain(draw, 3, 6), _chain(draw, 4, 12)]),
        "500 steps": Case(2, lambda draw: [_chain(draw, 3, 500)]),
    },
    wrong={
        "no look back": Wrong(
            "What was seen later counts too: you stop at the time of the move. Multiply by the message that comes back.",
            lambda s, m, e: _made(s, m, e, later=0),
        ),
        "states apart": Wrong(
            "You multiplied the chances of two states as if they were independent. They are joined by the move between them.",
            _apart,
        ),
        "next symbol left out": Wrong(
            "What is seen at the end of the move is missing: the message that comes back to a state holds only what is seen after it.",
            lambda s, m, e: _made(s, m, e, symbol=0),
        ),
        "turned": Wrong("Rows are where a move begins; yours are where it ends.", lambda s, m, e: _made(s, m, e).T),
        "chances": Wrong(
            "You made the rows sum to one: those are the next moves of the learning rule. The numbers of moves were asked for.",
            lambda s, m, e: _made(s, m, e) / _made(s, m, e).sum(1, keepdim=True),
        ),
        "no scale": Wrong(
            "After hundreds of steps the product of all chances is zero in double precision. Normalise each message, or work with logarithms.",
            lambda s, m, e: _made(s, m, e, scaled=False),
            right_in=("a few steps",),
        ),
    },
)

# %% [markdown]
# ## Question 4. Experiment: what is a memory worth? (4 points)
#
# A signal `x [n]` of $\pm 1$ is seen in fewer noisy sums than it has components: $y = A x + \text{noise}$, `A [m, n]` with entries of variance $1/m$, `y [m]`. Start at the estimate $\hat x = 0$ with the residual $z = y$, and repeat `steps` times
#
# $$ \tau^2 = \frac{|z|^2}m, \qquad \hat x \leftarrow \tanh \frac{\hat x + A^T z}{\tau^2}, \qquad z \leftarrow y - A \hat x + \Big[ \frac nm \Big\langle \frac{1 - \hat x^2}{\tau^2} \Big\rangle z \Big] $$
#
# where $\langle \cdot \rangle$ is the mean over components, with the new $\hat x$ and the $\tau^2$ that made it, and $z$ in the brackets is the residual of the step before. Do it with the brackets, which are Onsager's memory, and without.
#
# Return the mean squared error of $\hat x$ before the first step and after each: `[steps + 1, 2]`, with memory first.


# %% tags=["answer"]
def errors(A, y, x, steps):
    """Mean squared errors with memory and without, before and after each step, [steps + 1, 2]."""
    # solution
    columns = []
    for memory in (1.0, 0.0):
        guess, z = torch.zeros_like(x), y
        column = [(guess - x).square().mean()]
        for _ in range(steps):
            tau2 = z.square().mean()
            guess = torch.tanh((guess + A.T @ z) / tau2)
            z = y - A @ guess + memory * (1 - guess.square()).sum() / tau2 / len(y) * z
            column.append((guess - x).square().mean())
        columns.append(torch.stack(column))
    return torch.stack(columns, -1)
    # end


# %% tags=["teacher"]
def _sums(draw, n, m, noise, steps):
    A, x = draw(m, n) / m**0.5, draw.spins(n)
    return A, A @ x + noise**0.5 * draw(m), x, steps


def _path(A, y, x, steps, sizes=(1.0, 0.0), same=False, slope=1, ratio=True, judged=lambda e, x: (e - x).square().mean()):
    """As the reference; sizes are those of the memory in the columns."""
    table = []
    for size in sizes:
        guess, z, found = torch.zeros_like(x), y, [judged(torch.zeros_like(x), x)]
        for _ in range(steps):
            tau2 = (z @ z) / len(z)
            guess = torch.tanh((guess + z @ A) / tau2)
            left, b = y - A @ guess, (1 - guess**2).mean() / tau2**slope * (len(x) / len(y) if ratio else 1)
            z = left + size * b * (left if same else z)
            found.append(judged(guess, x))
        table.append(torch.stack(found))
    return torch.stack(table, 1)


QUESTION_4 = Question(
    "4",
    errors,
    shown=[_sums(Draw(4), 8, 6, 0.3, 3)],
    cases={
        "little noise": Case(2, lambda draw: [_sums(draw, 120, 80, 0.2, 5)]),
        "more noise": Case(2, lambda draw: [_sums(draw, 90, 70, 0.5, 6)]),
    },
    wrong={
        "swapped": Wrong("The columns are swapped: with memory first.", lambda A, y, x, n: _path(A, y, x, n, (0.0, 1.0))),
        "sign": Wrong("The memory is added to the residual.", lambda A, y, x, n: _path(A, y, x, n, (-1.0, 0.0))),
        "no ratio": Wrong(
            "The mean slope stands with n/m, the components for each sum.", lambda A, y, x, n: _path(A, y, x, n, ratio=False)
        ),
        "no temperature in the slope": Wrong(
            "The slope of tanh(r / tau^2) by r has a 1/tau^2.", lambda A, y, x, n: _path(A, y, x, n, slope=0)
        ),
        "same time": Wrong(
            "Your memory is of the new residual. It remembers the one before.", lambda A, y, x, n: _path(A, y, x, n, same=True)
        ),
        "wrong signs": Wrong(
            "You counted wrong signs; the mean squared error was asked for.",
            lambda A, y, x, n: _path(A, y, x, n, judged=lambda e, x: (e * x <= 0).double().mean()),
        ),
        "start left out": Wrong("The first row is the error before the first step.", lambda A, y, x, n: _path(A, y, x, n)[1:]),
    },
)

# %% [markdown]
# ## Question 5. The error, before you run it (4 points)
#
# With memory, $\hat x + A^T z$ is for large $n$ the signal plus Gaussian noise of variance $\tau^2$, and
#
# $$ \tau_t^2 = \sigma^2 + \frac nm\, \mathrm{mse}_t, \qquad \mathrm{mse}_{t+1} = \mathbb E \Big[ \Big( \tanh \frac{x + \tau_t Z}{\tau_t^2} - x \Big)^2 \Big] $$
#
# with $Z$ standard normal, $x = \pm 1$ with equal chances, and the $\mathrm{mse}_0$ of the estimate zero. From `ratio` $= n/m$, `noise` $= \sigma^2$ and `steps` return $\mathrm{mse}_0, \mathrm{mse}_1, \dots$: `[steps + 1]`. All are numbers; return float64. Take a sum over a thousand evenly spaced $Z$ between $-8$ and $8$, not random ones.


# %% tags=["answer"]
def predicted(ratio, noise, steps):
    """Mean squared errors that state evolution predicts, [steps + 1]."""
    # solution
    Z = torch.linspace(-8, 8, 2001, dtype=torch.float64)
    chance = torch.softmax(-Z.square() / 2, 0)
    mse = [torch.ones((), dtype=torch.float64)]
    for _ in range(steps):
        tau2 = noise + ratio * mse[-1]
        mse.append(chance @ (torch.tanh((1 + tau2.sqrt() * Z) / tau2) - 1).square())
    return torch.stack(mse)
    # end


# %% tags=["show"]
generator = torch.Generator().manual_seed(0)
n, m, noise = 600, 400, 0.25
x = torch.where(torch.rand(n, generator=generator) < 0.5, -1.0, 1.0).double()
A = torch.randn(m, n, dtype=torch.float64, generator=generator) / m**0.5
y = A @ x + noise**0.5 * torch.randn(m, dtype=torch.float64, generator=generator)
table, line = errors(A, y, x, 10), predicted(n / m, noise, 10)
if all(isinstance(found, torch.Tensor) and len(found) == 11 for found in (table, line)):
    import matplotlib.pyplot as plt

    plt.plot(table, "o", label=["with memory", "without"])
    plt.plot(line, "k", label="predicted")
    plt.xlabel("step")
    plt.ylabel("mean squared error")
    plt.legend()
    plt.show()


# %% tags=["teacher"]
def _evolved(ratio, noise, steps, start=1.0, power=2, spread=1, say="mse", width=1.0):
    """As the reference, by another rule; by symmetry the mean of (tanh - 1)^2 is that of 1 - tanh where all is right."""
    Z = (torch.arange(-900, 901).double()) / 100
    chance, mse, taus = torch.softmax(-Z * Z / 2, 0), [torch.tensor(start).double()], []
    for _ in range(steps + 1):
        taus.append(noise + ratio * mse[-1])
        tau = taus[-1] ** 0.5
        mse.append(chance @ (torch.tanh((1 + width * tau**spread * Z) / tau**power) - 1) ** 2)
    return torch.stack(taus if say == "tau" else mse[:-1])


QUESTION_5 = Question(
    "5",
    predicted,
    shown=[(1.5, 0.25, 4)],
    cases={
        "a few steps": Case(2, lambda draw: [(draw.number(1.3, 1.7), draw.number(0.25, 0.35), 4)]),
        "more measurements than components": Case(1, lambda draw: [(draw.number(0.5, 0.7), draw.number(0.4, 0.5), 5)]),
        "many steps": Case(1, lambda draw: [(draw.number(1.2, 1.4), draw.number(0.4, 0.5), 30)]),
    },
    wrong={
        "root in the denoiser": Wrong(
            "Divide by the variance tau^2 inside tanh, not by tau.", lambda r, s, n: _evolved(r, s, n, power=1)
        ),
        "variance for spread": Wrong(
            "The noise is tau times Z: tau^2 is its variance.", lambda r, s, n: _evolved(r, s, n, spread=2)
        ),
        "ratio upside down": Wrong(
            "The error comes back with n/m, components for each sum: fewer sums make more noise.",
            lambda r, s, n: _evolved(1 / r, s, n),
        ),
        "noise squared": Wrong("noise is the variance already: do not square it.", lambda r, s, n: _evolved(r, s * s, n)),
        "starts at the truth": Wrong(
            "The estimate zero misses a signal of plus and minus one by 1: that is where the errors start.",
            lambda r, s, n: _evolved(r, s, n, start=0.0),
        ),
        "effective noise": Wrong("Those are the tau^2. Return the errors.", lambda r, s, n: _evolved(r, s, n, say="tau")),
        "mean noise": Wrong(
            "You put in the mean of Z, which is zero. Average the squared error over Z.",
            lambda r, s, n: _evolved(r, s, n, width=0.0),
        ),
    },
)

# %% [markdown] tags=["by-hand"]
# ## Question 6. Where the analogy ends (5 points)
#
# A row of attention can be read as one exact message. What has to be true of the keys, of the noise and of their chances, and what do the counts of question 1 change in that reading? In question 2, what would go wrong if a spin told each neighbour also what that neighbour has told it, and does a layer of attention on a graph do better? In your plot of question 4, at which step do the two columns part, and why not before? What does the memory take off, and what stands in its place in a transformer block? Name one thing that a belief holds and the output of attention does not. Ten sentences.

# %% [markdown] tags=["teacher"]
# **Rubric.** One point each. The reading: a query is one of the keys plus Gaussian noise of variance $1/\beta$, keys are chosen with chances proportional to $e^{\beta |k|^2/2}$; the counts multiply these chances, a mask is the count zero. The echo: a spin would hear its own field again as news, $1/(1 - t^2)$ too much on one bond with $t = \tanh J$; attention excludes nothing on the way back, so in the second round a node hears itself. The columns part at step 2: the memory enters the residual after the first estimate, so the first estimate is the same. It takes off what the estimate itself has put into the residual, and makes what is left Gaussian noise that the prediction knows; a transformer block has nothing there, its residual branch adds the estimate back and takes off no echo. A belief is a distribution, with its uncertainty; attention passes a mean on (or: a joint distribution of states).

# %% tags=["teacher"]
QUESTION_6 = ByHand("6", 5)
