"""The checkers are checked: each accepts what is right, in float64 and float32, and rejects each named mistake by its name.

The file is long because it writes out the answers, right and wrong, that readers and reviewers tried.
"""

import gc
import json
import math
import re

import course
import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, nll_loss, scaled_dot_product_attention

from attnlib.attention import Mixer
from attnlib.course import check
from attnlib.course.data.hops import informed_guess, wrong_hops_score
from attnlib.course.exercises import Exercise, Mistake, Verdict, _check, exercises, verdict
from attnlib.course.exercises._check import PAGES
from attnlib.course.exercises._compare import agrees, tolerance
from attnlib.course.exercises._exercise import Misuse
from attnlib.course.exercises._parts import Parts
from attnlib.free_energy import (
    coupling_response,
    field_couplings,
    saddle_gradient,
    saddle_hessian,
    saddle_point,
    spherical_point,
)
from attnlib.kinetic import closure_step, moments_step, transition_matrix
from attnlib.transformer import Block, mixer, register, registry, thermometer

KNOWN = [f"{page}.{number}" for page in PAGES for number in exercises(page)]
DTYPES = [torch.float64, torch.float32]
STUB = "not yet. It returns nothing: replace the dots."


@pytest.fixture(autouse=True, scope="module")
def _built_once():
    """What an exercise's inputs and mistakes come to is computed once for all answers: each of them gets copies.

    The garbage collector does not look through all that is there already: parts that a reader keeps make it run.
    """
    built, build = {}, _check._Trial

    def once(title, exercise):
        if id(exercise) not in built:
            built[id(exercise)] = build(title, exercise)  # which keeps the exercise, so that no other gets its id
        return built[id(exercise)]

    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_check, "_Trial", once)
        yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _registered_as_before(monkeypatch):
    """Contestants that an answer registers are forgotten afterwards."""
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))


def find(id):
    page, _, number = id.partition(".")
    return exercises(page)[number]


NAMED = [(id, name) for id in KNOWN for name in find(id).mistakes]
ALTERNATIVES = [(id, k) for id in KNOWN for k in range(len(find(id).alternatives))]


def to(argument, dtype):
    real = isinstance(argument, Parts) or (isinstance(argument, torch.Tensor) and argument.is_floating_point())
    return argument.to(dtype) if real else argument


def computed_in(dtype, function):
    return lambda *arguments: function(*(to(a, dtype) for a in arguments)).to(dtype)


# What is right is accepted.


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("id", KNOWN)
def test_reference_is_accepted(id, dtype):
    assert verdict(id, computed_in(dtype, find(id).reference)) == Verdict(True, "right.")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("id", "k"), ALTERNATIVES)
def test_an_alternative_is_accepted(id, k, dtype):
    assert verdict(id, computed_in(dtype, find(id).alternatives[k])).right


@pytest.mark.sweep(0.4)
@pytest.mark.parametrize("id", KNOWN)
def test_float64_numbers_returned_as_float32_are_right_and_nothing_is_said(id, capsys):
    check(id, lambda *arguments: find(id).reference(*arguments).float())
    assert capsys.readouterr().out == f"exercise {id}: right.\n"


def published():
    """Stub, committed output and published solution of each exercise, from the notebooks."""
    found = {}
    for path in sorted((course.ROOT / "notebooks").glob("*.ipynb")):
        id = None
        for cell in json.loads(path.read_text())["cells"]:
            source = "".join(cell["source"])
            if called := re.search(r'^check\("([\w.]+)", (\w+)\)$', source, re.MULTILINE):
                id = called[1]
                found[id] = (called[2], "".join(cell["outputs"][0]["text"]), None)
            elif id and (code := re.search(r"<summary>Solution</summary>\s+```python\n(.*?)```", source, re.DOTALL)):
                found[id] = (*found[id][:2], code[1])
    return found


PUBLISHED = published()


def test_every_exercise_has_a_stub_and_a_solution_in_a_notebook():
    assert set(PUBLISHED) == set(KNOWN)
    assert all(solution for _, _, solution in PUBLISHED.values())


@pytest.mark.parametrize("id", PUBLISHED)
def test_published_solution_is_accepted_and_the_stub_prints_what_is_committed(id, capsys):
    name, output, solution = PUBLISHED[id]
    check(id, lambda *_: None)
    assert capsys.readouterr().out == output == f"exercise {id}: {STUB}\n"
    scope = {"torch": torch, "math": math}
    exec(solution, scope)
    assert verdict(id, scope[name]).message == "right."
    assert verdict(id, computed_in(torch.float32, scope[name])).message == "right."


def one_pass_variance(scores, beta):
    scores = scores.float()
    p = torch.softmax(beta * scores, -1)
    return -beta * ((p * scores**2).sum(-1) - (p * scores).sum(-1) ** 2)


def bisection(scores):
    scores = scores.float()
    low, high = scores.amin(-1, keepdim=True) - 1, scores.amax(-1, keepdim=True)
    for _ in range(40):
        middle = (low + high) / 2
        enough = (scores - middle).clamp(min=0).sum(-1, keepdim=True) > 1
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    return (scores - low).clamp(min=0)


def by_index(scores, values):
    top, total, weighted = -math.inf, 0.0, torch.zeros(values.shape[-1])
    for k in range(len(scores)):
        new = max(top, scores[k].max().item())
        factors = torch.exp(scores[k] - new)
        total = math.exp(top - new) * total + factors.sum()
        weighted = math.exp(top - new) * weighted + factors @ values[k]
        top = new
    return weighted / total


def merged_at_the_end(scores, values):
    found = [(torch.logsumexp(s, -1), torch.softmax(s, -1) @ v) for s, v in zip(scores, values)]
    share = torch.softmax(torch.stack([f for f, _ in found]), -1)
    return share @ torch.stack([average for _, average in found])


def by_shape(scores, values):
    top = torch.full((), -1e30, dtype=scores.dtype)
    total, weighted = torch.zeros_like(top), values.new_zeros(values.shape[-1])
    for k in range(scores.shape[0]):
        s, v = scores[k], values[k]
        new = torch.maximum(top, s.max())
        total = total * torch.exp(top - new) + torch.exp(s - new).sum()
        weighted = weighted * torch.exp(top - new) + torch.exp(s - new) @ v
        top = new
    return weighted / total


def by_log_partition(scores, values):
    log_Z, average = torch.tensor(-torch.inf), 0.0
    for s, v in zip(scores, values):
        here = torch.logsumexp(s, 0)
        both = torch.logaddexp(log_Z, here)
        average = torch.exp(log_Z - both) * average + torch.exp(here - both) * (torch.softmax(s, 0) @ v)
        log_Z = both
    return average


def key_by_key(scores, values):
    top, total, weighted = scores[0][0], 0.0, 0.0  # a view, which keeps the first part alive
    for s, v in zip(scores, values):
        for one, value in zip(s, v):
            new = max(top, one)
            total = total * torch.exp(top - new) + torch.exp(one - new)
            weighted = weighted * torch.exp(top - new) + torch.exp(one - new) * value
            top = new
    return weighted / total


def in_cycles(scores, values):
    """Right, but every part lies in a cycle of references, which only the garbage collector finds."""

    def parts():
        for s, v in zip(scores, values):
            cycle = [s, v]
            cycle.append(cycle)
            yield cycle

    log_Z, average = torch.tensor(-torch.inf), 0.0
    for s, v, _ in parts():
        both = torch.logaddexp(log_Z, torch.logsumexp(s, 0))
        average = torch.exp(log_Z - both) * average + torch.exp(s - both) @ v
        log_Z = both
    return average


def features(x, w):
    return (x @ w.T - x.square().sum(-1, keepdim=True) / 2).exp() / len(w) ** 0.5


def lowest(query, key, value, mask):
    scores = query @ key.T / query.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), -1) @ value


def shifted(state, memory, beta):
    scores = beta * state @ memory.T
    top = scores.amax(-1, keepdim=True)
    return state.square().sum(-1) / 2 - (top[:, 0] + (scores - top).exp().sum(-1).log()) / beta


def masked_energy(fill):
    def answer(state, memory, mask, beta):
        scores = (beta * state @ memory.T).masked_fill(~mask, fill)
        return state.square().sum(-1) / 2 - torch.logsumexp(scores, -1) / beta

    return answer


def filled(number):
    """2b.3 as its solution has it, with another score for the padding."""

    def padded(query, key, value, length):
        scores = query @ key.T / query.shape[-1] ** 0.5
        scores[:, length:] = number
        return torch.softmax(scores, dim=-1) @ value

    return padded


def pair_by_pair(state, J, h):
    n = len(h)
    pairs = sum(J[i, j] * state[:, i] * state[:, j] for i in range(n) for j in range(i))
    return -pairs - (state * h).sum(-1)


def echo_by_echo(m, J, h, beta):
    field = [beta * (J[i] @ m + h[i]) for i in range(len(m))]
    echo = [sum(beta**2 * J[i, j] ** 2 * (1 - m[j] ** 2) for j in range(len(m))) for i in range(len(m))]
    return torch.stack([torch.tanh(f - V * own) for f, V, own in zip(field, echo, m)])


def newton(J, c, beta):
    V = torch.zeros_like(c)
    for _ in range(20):
        chi = torch.linalg.inv(torch.diag(V + 1 / c) - beta * J)
        V = V + torch.linalg.solve(chi**2, chi.diagonal() - c)
    return V


def by_autograd(chi, m, g):
    """From chi and m back to the system, and through its solution."""
    inverse = torch.linalg.inv(chi)
    J = torch.diag(inverse.diagonal()) - inverse
    h = inverse @ m
    z = inverse.diagonal()
    slope = torch.func.jacrev(lambda h: saddle_gradient(z, (J + J.mT) / 2, h))(h)
    by_z = torch.func.jacrev(lambda z: torch.linalg.solve(torch.diag(z) - J, h))(z)
    moved = -torch.linalg.solve(saddle_hessian(z, (J + J.mT) / 2, h), slope.flatten(1)).unflatten(1, h.shape)
    return chi @ g + torch.einsum("ia,iak,kjb->jb", g, by_z, moved)


def crossing_by_slopes(lam, first, second):
    lam, first, second = (torch.log10(t) for t in (lam, first, second))
    for k in range(len(lam) - 1):
        if (first[k] > second[k]) != (first[k + 1] > second[k + 1]):
            slopes = [(line[k + 1] - line[k]) / (lam[k + 1] - lam[k]) for line in (first, second)]
            return 10 ** (lam[k] + (second[k] - first[k]) / (slopes[0] - slopes[1]))


def a_mixer_of_its_own(name, x, beta, mask):
    class Member(Mixer):
        has_weights = False

        def mix(self, heads):
            chances = torch.sigmoid(self.scale * heads.query @ heads.key.mT)
            chances = torch.where(heads.mask, chances, 0.0)
            return chances / chances.sum(-1, keepdim=True) @ heads.value

    def make(dim, scale):
        made = Member(dim, bare=True)
        made.scale = scale
        return made

    register(name, make)
    return Block(mixer(name, x.shape[-1], scale=beta), norm=None)(x, mask=mask)


def noise_by_bisection(falling, K):
    low, high = torch.full_like(K, 1e-3), torch.full_like(K, 1e3)
    for _ in range(100):
        middle = (low * high).sqrt()
        above = falling(middle) > K.log()
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    return middle


def factor_by_newton(weights, targets):
    b = torch.ones((), dtype=weights.dtype, requires_grad=True)
    for _ in range(60):
        p = weights**b / (weights**b).sum(-1, keepdim=True)
        gap = (p.square().sum(-1) - p[range(len(p)), targets]).mean()
        (slope,) = torch.autograd.grad(gap, b)
        b = (b - gap / slope).clamp(b / 2, 2 * b).detach().requires_grad_()
    return b


def recounted(states, k, alpha):
    s, rows = states.tolist(), []
    for t in range(len(s) - 1):
        followed = [s[j + 1] for j in range(t) if s[j] == s[t]]
        rows.append([(followed.count(c) + alpha) / (len(followed) + k * alpha) for c in range(k)])
    return torch.tensor(rows)


def followers(states, k, beta):
    s, rows = states.tolist(), []
    for i in range(len(s)):
        followed = [s[j] for j in range(1, i + 1) if s[j - 1] == s[i]]
        counts = torch.tensor([s[: i + 1].count(c) + (math.exp(beta) - 1) * followed.count(c) for c in range(k)])
        rows.append(counts / counts.sum())
    return torch.stack(rows)


def swept_by_exponentials(J, x, b, start, u):
    s = torch.zeros_like(start)  # later spins have no part in it
    for i in range(len(J)):
        h = x[i] + (s * J[i]).sum(-1)
        s[:, i] = 2.0 * (u[:, i] * ((b * h).exp() + (-b * h).exp()) < (b * h).exp()) - 1
    return s


def step_by_step_back(J, x, b, noise):
    for back in range(1, len(noise)):
        up, down = torch.ones_like(x), -torch.ones_like(x)
        for k in reversed(range(back)):
            up, down = (torch.where(noise[k] < torch.sigmoid(2 * b * (x + J @ s)), 1.0, -1.0).to(s) for s in (up, down))
        if torch.equal(up, down):
            return up
    raise AssertionError("they do not meet")


def repeated_stein(J, a, b):
    """Stein's equation by repeating it."""
    C = torch.zeros_like(J)
    for _ in range(3000):
        C = torch.diag(a) @ J @ C @ J.T @ torch.diag(a) + torch.diag(a) / b
    return C


RIGHT = {
    "1.1 in one pass, float32": ("1.1", one_pass_variance),
    "1.3 by index": ("1.3", by_index),
    "1.3 merged at the end": ("1.3", merged_at_the_end),
    "1.3 by shape, from -1e30": ("1.3", by_shape),
    "1.3 by log-partitions": ("1.3", by_log_partition),
    "1.3 key by key": ("1.3", key_by_key),
    "1.3 in cycles": ("1.3", in_cycles),
    "1.3 in float32": ("1.3", lambda s, v: by_index(s.float(), v.float())),
    "1.3 row by row": ("1.3", lambda s, v: merged_at_the_end((s[k, :] for k in range(s.size(0))), v)),
    "1.5 by bisection, float32": ("1.5", bisection),
    "2a.1 with the lowest number": ("2a.1", lowest),
    "2b.3 with the lowest number": ("2b.3", filled(torch.finfo(torch.float32).min)),
    "2c.5 with -w": ("2c.5", lambda x, w: features(x, -w)),
    "2c.5 in another order": ("2c.5", lambda x, w: features(x, w.flip(0))),
    "2c.5 with other signs": ("2c.5", lambda x, w: -features(x, w)),
    "3b.1 with the largest score taken out": ("3b.1", shifted),
    "3b.2 by the slope": ("3b.2", lambda s, x, b, g: s - g * (s - torch.softmax(b * s @ x.T, -1) @ x)),
    "3b.5 by distances": ("3b.5", lambda s, x, b: torch.softmax(-b * torch.cdist(s, x) ** 2 / 2, -1) @ x),
    "3d.1 with the lowest number": ("3d.1", masked_energy(torch.finfo(torch.float32).min)),
    "4a.1 pair by pair": ("4a.1", pair_by_pair),
    "4a.2 in a loop": ("4a.2", echo_by_echo),
    "4a.3 by solving": (
        "4a.3",
        lambda m, V, J, b: torch.linalg.solve(torch.diag(V + 1 / (1 - m * m)) - b * J, torch.eye(len(m)).to(J)),
    ),
    "4a.4 by the length": ("4a.4", lambda b: 2 * b / (1 + (1 + 4 * b.norm(dim=-1, keepdim=True) ** 2 / b.shape[-1]).sqrt())),
    "4a.5 by Newton's method": ("4a.5", newton),
    "5a.1 by Cholesky": (
        "5a.1",
        lambda z, J, h, b: (
            b * z.sum() / 2
            - torch.linalg.cholesky(torch.diag(z) - J).diagonal().log().sum()
            + b / 2 * torch.einsum("ia,ij,ja", h, torch.linalg.inv(torch.diag(z) - J), h) / h.shape[1]
        ),
    ),
    "5a.2 by the gradient": ("5a.2", lambda z, J, h, b: 1 - 2 / b * saddle_gradient(z, J, h, beta=b)),
    "5a.3 by autograd": ("5a.3", lambda z, J, h, b: torch.func.jacfwd(lambda z: saddle_gradient(z, J, h, beta=b))(z)),
    "5a.4 by the package": ("5a.4", lambda J, h, b: saddle_point(J, h, beta=b).z),
    "5b.1 by choosing": (
        "5b.1",
        lambda beta, g: torch.stack([1 / beta + beta * g**2, torch.full_like(beta, 2 * g)])[
            (beta * g >= 1).long(), range(len(beta))
        ],
    ),
    "5b.2 by a matrix": ("5b.2", lambda v, z, b: torch.linalg.inv(torch.diag(z - v)).diagonal() / b / v.numel()),
    "5b.3 by the package": ("5b.3", lambda J, b: spherical_point(J, torch.zeros(1, len(J), 1).to(J), beta=b).z[0]),
    "5b.4 by angles": ("5b.4", lambda X, J: (J * (0.5 - X.acos() / math.pi)).sum()),
    "5c.1 by powers": (
        "5c.1",
        lambda z, J, h, terms: sum(torch.linalg.matrix_power(J / z[:, None], k) for k in range(terms)) @ (h / z[:, None]),
    ),
    "5c.2 by the package": ("5c.2", lambda h, g: field_couplings(h, form="softmax", strength=g)),
    "5c.3 by the package": ("5c.3", lambda h, pairs, g: coupling_response(h, pairs, strength=g)),
    "5c.4 by autograd": ("5c.4", by_autograd),
    "3a.3 in integers": ("3a.3", lambda s, w: find("3a.3").reference(s, w).long()),
    "7a.1 by pairs": (
        "7a.1",
        lambda m: ((m[:, :, None] - m[:, None]) ** 2).sum((1, 2)).mean() / (2 * m.shape[1] * (m.shape[1] - 1)) / (m * m).mean(),
    ),
    "7a.2 by a mask": (
        "7a.2",
        lambda x, J, lam, g: torch.where(
            torch.eye(len(x)).bool(), 0.0, (1 - lam) ** 0.5 * J + (lam / x.numel()) ** 0.5 * g * (x @ x.T)
        ),
    ),
    "7a.4 by the slopes": ("7a.4", crossing_by_slopes),
    "7a.5 by the class of attention": ("7a.5", a_mixer_of_its_own),
    "7b.1 by distances": ("7b.1", lambda q, x, s: torch.softmax(-(torch.cdist(q, x) ** 2) / (2 * s**2), -1) @ x),
    "7b.2 by the package": ("7b.2", lambda p, t: thermometer(p[None], t[None]).ratio),
    "7b.3 by bisection": ("7b.3", lambda K, d: noise_by_bisection(lambda s: torch.log1p(s**-2) * d / 2, K)),
    "7b.4 shifted by the largest of all": (
        "7b.4",
        lambda s: (s - (top := s.amax(-1, keepdim=True).clamp(min=0))).exp() / ((-top).exp() + (s - top).exp().sum(-1, True)),
    ),
    "7b.5 by Newton's method": ("7b.5", factor_by_newton),
    "7c.2 by the package": (
        "7c.2",
        lambda k, T, n: torch.tensor([[wrong_hops_score(a, b, n) for b in T.tolist()] for a in k.tolist()]),
    ),
    "7c.3 by a loop over all": ("7c.3", recounted),
    "7c.4 by counts": ("7c.4", followers),
    "7c.5 by visiting all": (
        "7c.5",
        lambda n: torch.tensor([[informed_guess(2, back=back, places=k) for back in (0, 1)] for k in n.tolist()]),
    ),
    "8a.1 by the package": ("8a.1", lambda J, x, b: transition_matrix(J, x, beta=b)),
    "8a.1 by both spins": (
        "8a.1",
        lambda J, x, b: torch.stack(
            [
                torch.outer(*(torch.stack([1 - up, up]) for up in torch.sigmoid(2 * b * (x + J @ s)).flip(0))).flatten()
                for s in torch.tensor([[-1, -1], [1, -1], [-1, 1], [1, 1]]).to(J)
            ]
        ),
    ),
    "8a.2 by half the antisymmetric parts": (
        "8a.2",
        lambda J, C, b: b / 2 * torch.einsum("ij,ij", J - J.T, C[1] - C[1].T),
    ),
    "8a.3 as truth values": ("8a.3", lambda J: (J - J.transpose(1, 2)).abs().sum((1, 2)) > 1e-5),
    "8a.4 without means": (
        "8a.4",
        lambda P, law, s, h, b, lag: (
            b * torch.einsum("a,ab,bi,aj->ij", law, torch.linalg.matrix_power(P, lag), s, s)
            - b * torch.einsum("a,ab,bi,aj->ij", law, torch.linalg.matrix_power(P, lag + 1), s, torch.tanh(b * h))
        ),
    ),
    "8b.1 by exponentials": ("8b.1", swept_by_exponentials),
    "8b.2 by Phi": (
        "8b.2",
        lambda d, g, z, w: torch.stack(
            [(w * (g * z).tanh() * (2 * torch.special.ndtr(z * (one / (1 - one)).sqrt()) - 1)).sum() for one in d]
        ),
    ),
    "8b.3 a step further each time": ("8b.3", step_by_step_back),
    "8b.4 by a power": (
        "8b.4",
        lambda J, b: torch.linalg.matrix_power((b * J.abs()).tanh(), 64).trace() ** (1 / 64),
    ),
    "8c.2 by the package": ("8c.2", lambda m, C, J, x, b: torch.cat(moments_step(m, C, J, x, beta=b, gain="limit")[:2], 1)),
    "8c.3 by the package": (
        "8c.3",
        lambda m, J, x, b: closure_step(m, torch.diag(1 - m**2), J, x, beta=b, closure="tap")[0],
    ),
    "8c.5 by repeating": ("8c.5", lambda J, a, b: repeated_stein(J, a, b)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_other_right_answers_are_accepted(name):
    id, answer = RIGHT[name]
    assert verdict(id, answer).message == "right."


# What is wrong is rejected, by name.


@pytest.mark.sweep(0.3)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("id", "name"), NAMED)
def test_wrong_answer_is_rejected_by_name(id, name, dtype):
    mistake = find(id).mistakes[name]
    assert verdict(id, computed_in(dtype, mistake.answer)) == Verdict(False, f"not yet. {mistake.message}", name)


@pytest.mark.parametrize("id", KNOWN)
def test_every_exercise_names_at_least_two_mistakes_with_distinct_messages(id):
    messages = [m.message for m in find(id).mistakes.values()]
    assert len(set(messages)) == len(messages) >= 2


def from_zero(scores, values):
    top, total, weighted = torch.tensor(0.0), 0.0, 0.0
    for s, v in zip(scores, values):
        new = torch.maximum(top, s.max())
        total = torch.exp(top - new) * total + torch.exp(s - new).sum()
        weighted = torch.exp(top - new) * weighted + torch.exp(s - new) @ v
        top = new
    return weighted / total


def two_loops(scores, values):
    top = max(s.max() for s in scores)
    total = sum(torch.exp(s - top).sum() for s in scores)
    return sum(torch.exp(scores[k] - top) @ values[k] for k in range(len(scores))) / total


def attention(query, key, value, mask, root=None, fill=-math.inf, dim=-1):
    scores = query @ key.T / (root or query.shape[-1]) ** 0.5
    return torch.softmax(scores.masked_fill(~mask, fill), dim) @ value


def sweeps(times):
    def answer(state, weights):
        for _ in range(times):
            for k in range(len(state)):
                if felt := (weights[k] @ state).item():
                    state[k] = math.copysign(1, felt)
        return state

    return answer


def one_more(query, key, beta, step_size, steps):
    for _ in range(steps + 1):
        query = query + step_size * (torch.softmax(beta * query @ key.T, -1) @ key - query)
    return query


def zero_diagonal(memory):
    scores = memory @ memory.T
    return scores.diagonal() - (scores - torch.diag(scores.diagonal())).amax(-1)


def over_tokens(x):
    return (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()


def factor_by_log_loss(weights, targets):
    b = torch.ones((), dtype=weights.dtype, requires_grad=True)
    for _ in range(40):
        (slope,) = torch.autograd.grad(cross_entropy(b * weights.log(), targets), b, create_graph=True)
        (curvature,) = torch.autograd.grad(slope, b)
        b = (b - slope / curvature).clamp(b / 2, 2 * b).detach().requires_grad_()
    return b


def walked(tied=True, carried=False):
    def answer(state, key, value, maps, beta, steps):
        for t in range(steps):
            read = torch.softmax(beta * state @ key.T, -1) @ value
            led = torch.einsum("nc,dc->nd", read, maps[0 if tied else t % len(maps)])
            state = state + led if carried else led
        return state

    return answer


def multiples(k, T, n):
    apart = [[abs(a - b) for b in T.tolist()] for a in k.tolist()]
    return torch.tensor([[sum(length % a == 0 for length in range(1, n + 1)) / n if a else 1.0 for a in row] for row in apart])


def recounted_bare(states, k):
    rows = []
    for t in range(len(states) - 1):
        followed = states[1 : t + 1][states[:t] == states[t]]
        rows.append(followed.bincount(minlength=k) / len(followed) if len(followed) else torch.full((k,), math.nan))
    return torch.stack(rows).double()


def unigram(states, k, alpha):
    rows = [states[: t + 1].bincount(minlength=k) + alpha for t in range(len(states) - 1)]
    return torch.stack([row / row.sum() for row in rows]).double()


REVIEWED = [
    (
        "8b.1",
        "parallel or reversed",
        lambda J, x, b, s, u: torch.where(u < torch.sigmoid(2 * b * (x + s @ J.T)), 1.0, -1.0).to(s),
    ),
    ("8b.2", "difference of the fields", lambda d, g, z, w: g * (2 * d / torch.pi) ** 0.5),
    ("8b.2", "independent fields", lambda d, g, z, w: ((g * z).tanh() * torch.erf(z / 2**0.5) * w).sum().expand(len(d))),
    ("8b.4", "no tanh", lambda J, b: torch.linalg.eigvals(b * J.abs()).abs().max()),
    ("1.3", "starts at zero", from_zero),
    ("1.3", "all at once", lambda s, v: torch.softmax(s.flatten(), 0) @ v.flatten(0, 1)),
    ("1.3", "all at once", lambda s, v: torch.einsum("pm,pmc->c", torch.exp(s - s.max()), v)),
    ("1.3", "all at once", lambda s, v: torch.logsumexp(s, 0)),
    ("1.3", "all at once", lambda s, v: 2 * s),
    ("1.3", "all at once", lambda s, v: torch.softmax(torch.cat(list(s)), 0) @ torch.cat(list(v))),
    ("1.3", "all at once", lambda s, v: torch.softmax(torch.cat([x for x in s]), 0) @ torch.cat(list(v))),  # noqa: C416
    ("1.3", "all at once", lambda s, v: torch.softmax(torch.cat([*s]), 0) @ torch.cat([v[k] for k in range(len(v))])),
    ("1.3", "second pass", two_loops),
    ("2a.1", "inverted mask", lambda q, k, v, a: attention(q, k, v, ~a)),
    ("2a.1", "-1e9", lambda q, k, v, a: attention(q, k, v, a, fill=-1e9)),
    ("2a.1", "-1e9", lambda q, k, v, a: torch.softmax(q @ k.T / q.shape[-1] ** 0.5 - 1e9 * ~a, -1) @ v),
    ("2a.1", "number of keys", lambda q, k, v, a: attention(q, k, v, a, root=len(k))),
    ("2a.1", "wrong axis", lambda q, k, v, a: attention(q, k, v, a, dim=0)),
    ("2a.1", "wrong axis", lambda q, k, v, a: attention(q, k, v, a, fill=-1e30, dim=0)),
    ("2a.4", "beta squared", lambda d, n, b: torch.sigmoid(b**2 * d / 2 - math.log(n))),
    ("2a.5", "no root", lambda q, k: 1 / (q @ k.T).var(-1, correction=0).mean()),
    ("2a.5", "variance", lambda q, k: (q @ k.T).var(-1, correction=0).mean()),
    ("2b.1", "number of queries", lambda s, b: b * s.std(-1, correction=0) / (2 * math.log(len(s))) ** 0.5),
    ("2b.1", "sample deviation", lambda s, b: b * s.std(-1) / (2 * math.log(s.shape[-1])) ** 0.5),
    ("2b.1", "no threshold", lambda s, b: (b * s).std(-1, correction=0)),
    ("2b.1", "no logarithm", lambda s, b: b * s.std(-1, correction=0) / (2 * s.shape[-1]) ** 0.5),
    ("2b.1", "variance", lambda s, b: b**2 * s.var(-1, correction=0) / (2 * math.log(s.shape[-1])) ** 0.5),
    ("2b.1", "divided by beta", lambda s, b: s.std(-1, correction=0) / (b * (2 * math.log(s.shape[-1])) ** 0.5)),
    ("2b.1", "all queries at once", lambda s, b: b * s.std(correction=0).repeat(len(s)) / (2 * math.log(s.shape[-1])) ** 0.5),
    ("2b.2", "swapped maps", lambda q, k, a, b, v: torch.tanh((q @ b.T)[:, None] + k @ a.T) @ v),
    ("2b.3", "inverted mask", lambda q, k, v, n: torch.softmax(q @ k[n:].T / q.shape[-1] ** 0.5, -1) @ v[n:]),
    ("2b.3", "no scale", lambda q, k, v, n: torch.softmax(q @ k[:n].T, -1) @ v[:n]),
    ("2b.3", "-1e9", filled(-1e9)),
    ("2b.3", "-1e9", filled(-1e4)),
    ("2b.3", "-1e9", filled(-100.0)),
    ("2b.3", "-1e9", filled(-20.0)),
    ("2b.3", "-1e9", lambda q, k, v, n: torch.softmax(q @ k.T / 2 - 1e9 * (torch.arange(len(k)) >= n), -1) @ v),
    ("2c.2", "number of heads", lambda q, k, v, h: per_head(q, k, v, h, h**0.5)),
    ("2c.4", "wrap-around", lambda s, t: cross_entropy(s, torch.cat([t[1:], t[:1]]))),
    ("2c.5", "sum, with -w", lambda x, w: features(x, -w) * len(w) ** 0.5),
    ("2c.5", "no length, with -w", lambda x, w: torch.exp(-x @ w.T) / len(w) ** 0.5),
    ("3a.3", "two sweeps", sweeps(2)),
    ("3a.3", "until nothing changes", sweeps(20)),
    ("3b.1", "overflow", lambda s, x, b: s.square().sum(-1) / 2 - (b * s @ x.T).exp().sum(-1).log() / b),
    ("3b.2", "exchanged", lambda s, x, b, g: s + (1 - g) * (torch.softmax(b * s @ x.T, -1) @ x - s)),
    ("3b.2", "size ignored", lambda s, x, b, g: torch.nn.functional.scaled_dot_product_attention(s, x, x, scale=b)),
    ("3b.5", "beta on one term", lambda s, x, b: torch.softmax(b * s @ x.T - (x * x).sum(-1) / 2, -1) @ x),
    ("3c.1", "zero diagonal", zero_diagonal),
    ("3c.3", "appearance", lambda r: 2.7456435767327245 / (1.5 * r * r)),
    ("3d.1", "-1e9", masked_energy(-1e9)),
    ("3d.2", "one step more", one_more),
    ("4a.1", "plus signs, pairs twice", lambda s, J, h: torch.einsum("ki,ij,kj->k", s, J, s) + s @ h),
    ("4a.1", "pairs twice", lambda s, J, h: -torch.einsum("ki,ij,kj->k", s, J, s) - s @ h),
    ("4a.2", "no reaction", lambda m, J, h, b: (b * (h + J @ m)).tanh()),
    (
        "5a.2",
        "not divided by D",
        lambda z, J, h, b: (
            torch.linalg.solve(torch.diag(z) - J, h).pow(2).sum(1) + torch.linalg.inv(torch.diag(z) - J).diag() / b
        ),
    ),
    ("5a.4", "at beta one", lambda J, h, b: saddle_point(J, h).z),
    ("4a.2", "own variance", lambda m, J, h, b: torch.tanh(b * (J @ m + h) - b**2 * (J**2).sum(1) * (m - m**3))),
    ("4a.3", "prior's variance", lambda m, V, J, b: torch.linalg.inv(torch.diag(V) + torch.eye(len(m)).to(J) - b * J)),
    ("4a.3", "single sites", lambda m, V, J, b: torch.diag_embed(1 - m**2)),
    ("4a.4", "hard norm", lambda b: torch.nn.functional.rms_norm(b, b.shape[-1:], eps=0.0)),
    ("4a.4", "not divided by D", lambda b: 2 * b / (1 + (1 + 4 * (b * b).sum(-1, keepdim=True)).sqrt())),
    ("4a.5", "Onsager's", lambda J, c, b: ((b * J) ** 2 * c).sum(-1)),
    ("7a.1", "variance of m", lambda m: m.reshape(-1, m.shape[-1]).var(0).mean() / (m**2).mean()),
    ("7a.1", "variance over fields", lambda m: torch.var(m, 0).mean() / (m**2).mean()),
    ("7a.1", "biased", lambda m: ((m - m.mean(1, keepdim=True)) ** 2).mean() / (m**2).mean()),
    ("7a.1", "square of the mean", lambda m: (m.mean(1) ** 2).mean() / (m**2).mean()),
    ("7a.3", "over tokens", lambda x, A: torch.stack([x + A @ over_tokens(x), over_tokens(x + A @ x)])),
    ("7a.5", "softmax", lambda n, x, b, m: x + scaled_dot_product_attention(x, x, x, attn_mask=m, scale=b)),
    ("7b.1", "sigma", lambda q, x, s: torch.softmax(s * q @ x.T, 1) @ x),
    ("7b.1", "one over sigma", lambda q, x, s: torch.softmax((q / s) @ x.T, 1) @ x),
    ("7b.1", "half", lambda q, x, s: torch.softmax(q @ x.T / (2 * s * s), 1) @ x),
    ("7b.1", "distance without half", lambda q, x, s: torch.softmax(-(torch.cdist(q, x) ** 2) / s**2, 1) @ x),
    ("7b.1", "divided by sqrt(d)", lambda q, x, s: scaled_dot_product_attention(q / s, x / s, x)),
    ("7b.2", "largest weight", lambda p, t: p.max(1).values.mean() / p.gather(1, t[:, None]).mean()),
    ("7b.2", "mean of ratios", lambda p, t: ((p * p).sum(1) / p.gather(1, t[:, None])[:, 0]).mean()),
    ("7b.2", "entropy", lambda p, t: torch.special.entr(p).sum(1).mean() / nll_loss(p.log(), t)),
    ("7b.3", "gaussian, query without noise", lambda K, d: (d / (2 * K.log())).sqrt().sqrt()),
    ("7b.3", "gaussian scores", lambda K, d: noise_by_bisection(lambda s: d * (1 + s**2) / s**4 / 2, K)),
    ("7b.3", "large noise", lambda K, d: torch.sqrt(d / torch.log(K**2))),
    ("7b.4", "shifted without the ghost", lambda s: (z := (s - s.amax(1, True)).exp()) / (1 + z.sum(1, True))),
    ("7b.4", "overflow", lambda s: torch.exp(s) / (1 + torch.exp(s).sum(-1, keepdim=True))),
    ("7b.5", "log loss", factor_by_log_loss),
    ("7c.1", "residual carried", walked(carried=True)),
    ("7c.1", "untied", walked(tied=False)),
    ("7c.2", "multiples", multiples),
    ("7c.3", "not smoothed", lambda s, k, a: recounted_bare(s, k)),
    ("7c.3", "unigram", unigram),
    ("8a.1", "J transposed", lambda J, x, b: transition_matrix(J.T, x, beta=b)),
    ("8a.1", "site by site", lambda J, x, b: transition_matrix(J, x, beta=b, updates="single")),
    ("8a.2", "equal times", lambda J, C, b: b * (J * C[0]).sum() - b * (J.T * C[0]).sum()),
    ("8a.3", "normal", lambda J: torch.tensor([float((a @ a.T - a.T @ a).norm() > 1e-6) for a in J]).to(J)),
    (
        "8a.4",
        "symmetric couplings",
        lambda P, law, s, h, b, lag: (
            b * (torch.linalg.matrix_power(P, lag) @ s - torch.linalg.matrix_power(P, lag + 2) @ s).T @ (law[:, None] * s)
        ),
    ),
    ("8c.1", "many components", lambda k, b, d: 2 * b / (1 + (1 + (2 * b) ** 2 * k) ** 0.5)),
    ("8c.3", "the mean before", lambda m, J, x, b: torch.tanh(b * (x + J @ m) - b**2 * m * (J**2 @ (1 - m**2)))),
    (
        "8c.4",
        "norm before the sum",
        lambda p, v: v + torch.nn.functional.rms_norm(p @ torch.nn.functional.rms_norm(v, v.shape[1:]), v.shape[1:]),
    ),
    (
        "8c.5",
        "inverse of the doubled graph",
        lambda J, a, b: torch.linalg.solve(torch.diag(1 / a) - J @ torch.diag(a) @ J, torch.eye(len(J)).to(J)) / b,
    ),
]


def per_head(query, key, value, heads, divisor):
    chunks = zip(*(t.chunk(heads, -1) for t in (query, key, value)))
    return torch.cat([torch.softmax(q @ k.T / divisor, -1) @ v for q, k, v in chunks], -1)


@pytest.mark.sweep(0.3)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("id", "name", "answer"), REVIEWED)
def test_mistakes_that_a_reviewer_made_have_a_name(id, name, answer, dtype):
    assert verdict(id, computed_in(dtype, answer)).mistake == name


@pytest.mark.sweep(0.4)
@pytest.mark.parametrize("id", KNOWN)
def test_a_stub_an_error_and_a_wrong_shape_get_an_answer(id):
    reference = find(id).reference

    def broken(*arguments):
        raise RuntimeError("my bug\nand where it comes from")

    def messages(answer):
        found = verdict(id, answer)
        assert not found.right
        assert found.mistake is None
        return found.message

    assert messages(lambda *a: None) == STUB
    assert messages(lambda *a: ...) == STUB
    assert messages(broken) == "not yet. It raised RuntimeError: my bug"
    assert "was expected" in messages(lambda *a: torch.zeros(2, 3, 5, 7))
    assert "a float; a tensor was expected" in messages(lambda *a: 1.0)
    assert "pass the function, without calling it" in messages(torch.zeros(2))
    assert "largest deviation" in messages(lambda *a: reference(*a) + 0.1)


@pytest.mark.sweep(0.4)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("id", KNOWN)
def test_nan_and_infinity_are_refused_where_the_reference_is_finite(id, dtype):
    for bad in (math.nan, math.inf):

        def spoiled(*arguments, bad=bad):
            result = find(id).reference(*arguments).to(dtype).clone()
            result.view(-1)[-1] = bad
            return result

        assert "NaN or infinite" in verdict(id, spoiled).message


@pytest.mark.sweep(0.4)
@pytest.mark.parametrize("id", KNOWN)
def test_float64_stays_tight(id):
    answer = lambda *arguments: find(id).reference(*arguments) * (1 + 1e-5)  # noqa: E731
    found = verdict(id, answer)
    assert not found.right
    assert "right in single precision only" in found.message
    assert verdict(id, lambda *arguments: answer(*arguments).float()).right


def test_half_precision_is_accepted_where_it_can_tell_right_from_wrong():
    assert verdict("1.4", computed_in(torch.float16, find("1.4").reference)).right
    assert verdict("1.4", computed_in(torch.bfloat16, find("1.4").mistakes["no beta"].answer)).mistake == "no beta"
    assert verdict("3c.2", lambda memory: find("3c.2").reference(memory).half()).right  # torch has no half eigenvalues
    coarse = verdict("3c.3", computed_in(torch.float16, find("3c.3").reference))
    assert coarse == Verdict(False, "not yet. It returns torch.float16, too coarse to tell right from wrong here.")


# The rule.


def test_tolerance_of_a_dtype_is_two_thirds_of_its_digits():
    assert tolerance(torch.float64) == tolerance(torch.int64) == tolerance(torch.bool) == 1e-6
    assert tolerance(torch.float32) == pytest.approx(2.4e-5, rel=0.02)
    assert tolerance(torch.float16) == pytest.approx(1e-2, rel=0.02)


def test_what_rounding_costs_the_reference_is_allowed_four_times():
    exact, rough = torch.tensor([1.0, 100.0]).double(), torch.tensor([1.01, 100.0]).double()
    for deviation, fits in ((0.039, True), (-0.039, True), (0.041, False)):
        assert agrees(exact + torch.tensor([deviation, 0.0]), torch.float32, exact, rough) == fits


def test_infinities_must_stand_where_they_belong():
    exact = torch.tensor([1.0, -math.inf, math.nan]).double()
    assert agrees(exact, torch.float64, exact, exact)
    for wrong in ([1.0, math.inf, math.nan], [1.0, 5.0, math.nan], [1.0, -math.inf, 0.0], [math.nan, -math.inf, math.nan]):
        assert not agrees(torch.tensor(wrong).double(), torch.float64, exact, exact)


def test_an_answer_cannot_spoil_the_inputs():
    reference = find("3b.1").reference

    def greedy(state, memory, beta):
        answer = reference(state, memory, beta)
        state.zero_()
        return answer

    assert verdict("3b.1", greedy).right


def test_not_even_whole_numbers_that_two_inputs_share():
    shared = torch.arange(3)
    twice = Exercise(lambda x: 2 * x, lambda: [(shared,), (shared,)], {})
    assert verdict(twice, lambda x: x.mul_(2)).right


def test_what_overflows_in_float32_only_keeps_its_name():
    scores = [(torch.full((2,), size, dtype=torch.float64),) for size in (100.0, 1000.0)]
    plain = Mistake("Take off the largest score first.", lambda s: s.exp().sum().log())
    sums = Exercise(lambda s: torch.logsumexp(s, -1), lambda: scores, {"overflow": plain})
    for dtype in DTYPES:
        assert verdict(sums, computed_in(dtype, plain.answer)).mistake == "overflow"


def test_what_a_dtype_cannot_hold_counts_as_zero():
    tiny, zero = torch.tensor([1e-60], dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    assert agrees(zero, torch.float32, tiny, tiny)
    assert not agrees(zero, torch.float64, tiny, tiny)


def test_an_answer_may_carry_a_graph():
    assert verdict("1.4", lambda s, b: find("1.4").reference(s.requires_grad_(), b)).right


# Parts that arrive one by one.


def parts():
    return Parts(torch.arange(12.0).view(3, 4))


def test_parts_tell_their_shape_and_come_in_order():
    stream = parts()
    assert (len(stream), stream.shape, stream.size(), stream.size(1), stream.ndim) == (3, (3, 4), (3, 4), 4, 2)
    assert (stream.dtype, stream.double().dtype, stream.device.type) == (torch.float32, torch.float64, "cpu")
    assert stream.new_zeros(2).tolist() == [0, 0]
    assert stream[0].sum() == stream[0, :].sum() == 6
    assert [part.tolist() for part in stream] == torch.arange(12.0).view(3, 4).tolist()
    assert stream[-1, 1] == 9
    assert "tensor" in repr(stream)
    with pytest.raises(IndexError):
        stream[3]


USES = {
    "method": lambda p: p.max(),
    "column": lambda p: p[:, 0],
    "slice": lambda p: p[1:],
    "function": lambda p: torch.exp(p),
    "product": lambda p: p * 2,
    "difference": lambda p: 2 - p,
    "sign": lambda p: -p,
    "numpy": lambda p: np.asarray(p),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_parts_are_not_seen_all_at_once(use):
    with pytest.raises(Misuse, match="all at once"):
        use(parts())


def test_parts_come_once():
    stream = parts()
    assert len(list(stream)) == 3
    with pytest.raises(Misuse, match="second pass"):
        stream[0]


def four():
    return Parts(torch.arange(16.0).view(4, 4))


def test_parts_are_not_kept():
    with pytest.raises(Misuse, match="all at once"):
        list(four())
    with pytest.raises(Misuse, match="all at once"):
        [part[1:] for part in four()]  # a view keeps the whole part
    stream = four()
    first = stream[0]
    assert [stream[k].sum().item() + 0 * stream[k][0].item() for k in range(1, 4)] == [22, 38, 54]  # one may be kept
    assert first.sum() == 6


@pytest.mark.parametrize("collects", [True, False])
def test_parts_in_a_cycle_of_references_are_not_kept(collects):
    (gc.enable if collects else gc.disable)()
    try:
        assert all(verdict("1.3", answer).right for answer in (in_cycles, by_index, key_by_key, by_log_partition))
    finally:
        gc.enable()


# An exercise of one's own.


def vectors():
    return [(torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64),)]


def own(**changes):
    parts = {
        "reference": lambda a: torch.linalg.eigh(a).eigenvectors[:, -1],
        "inputs": vectors,
        "mistakes": {"smallest": Mistake("Take the last one.", lambda a: torch.linalg.eigh(a).eigenvectors[:, 0])},
        "title": "softest direction",
        "compare_as": torch.abs,
    }
    return Exercise(**(parts | changes))


def test_check_takes_an_exercise_of_ones_own(capsys):
    assert check(own(), lambda a: -torch.linalg.eigh(a).eigenvectors[:, 1]) is None
    check(own(title=""), lambda a: torch.linalg.eigh(a).eigenvectors[:, 0])
    assert capsys.readouterr().out == "exercise softest direction: right.\nexercise: not yet. Take the last one.\n"


def test_an_alternative_counts_on_all_inputs_or_not_at_all():
    ones = [(torch.ones(2, dtype=torch.float64),), (2 * torch.ones(2, dtype=torch.float64),)]
    root = own(reference=torch.sqrt, alternatives=(lambda x: -x.sqrt(),), compare_as=None, inputs=lambda: ones, mistakes={})
    assert verdict(root, lambda x: -x.sqrt()).right
    assert not verdict(root, lambda x: x.sqrt() * (1 if x[0] == 1 else -1)).right


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": list}, r"inputs of exercise softest direction are empty; expected at least one tuple"),
        ({"inputs": lambda: [torch.eye(2)]}, r"an input of exercise softest direction is a Tensor; expected a tuple"),
        ({"reference": lambda a: 1.0}, r"the reference of exercise softest direction returns a float; expected a tensor"),
        ({"reference": lambda a, b: a}, r"the reference of exercise softest direction raises TypeError.*expected a tensor"),
        ({"alternatives": (lambda a: None,)}, r"an alternative of exercise .* returns a NoneType; expected a tensor"),
        (
            {"mistakes": {"sign": Mistake("", lambda a: -torch.linalg.eigh(a).eigenvectors[:, -1])}},
            r"the mistake 'sign' of exercise softest direction returns right numbers on all inputs; expected an input",
        ),
        (
            {"mistakes": {"zero": Mistake("", lambda a: 0 * a[0]), "nothing": Mistake("", lambda a: torch.zeros(2))}},
            r"the mistake 'nothing' of .* returns the numbers of 'zero' on all inputs; expected an input that tells",
        ),
        (
            {"inputs": lambda: [(parts(),)], "reference": lambda p: p[0], "mistakes": {"sum": Mistake("", lambda p: p.sum(0))}},
            r"the mistake 'sum' of .* is recognised as 'all at once'; expected its own name",
        ),
    ],
)
def test_an_exercise_that_cannot_tell_right_from_wrong_is_an_error(changes, message):
    with pytest.raises(ValueError, match=message):
        verdict(own(**changes), lambda a: a)


def test_a_verdict_serves_a_grader():
    found = verdict(own(), lambda a: torch.linalg.eigh(a).eigenvectors[:, 0])
    assert (found.right, found.message, found.mistake) == (False, "not yet. Take the last one.", "smallest")


def test_check_prints_one_line_and_returns_nothing(capsys):
    assert check("3b.1", find("3b.1").reference) is None
    assert capsys.readouterr().out == "exercise 3b.1: right.\n"


@pytest.mark.parametrize("id", ["3b.99", "99.1", "3b"])
def test_unknown_exercise(id):
    for function in (check, verdict):
        with pytest.raises(ValueError, match="expected one of"):
            function(id, lambda: None)
