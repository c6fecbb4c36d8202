"""Films under noise against answers that are known: linear maps and their stationary law, a chaotic map, differences."""

import math

import pytest
import torch
from helpers.draw import close, normal

from attnlib import SoftmaxAttention
from attnlib.transformer import Block, Stack, films_under_noise, lyapunov_exponent, nearby_starts

LONG = 1e5
"""The last component of each token, which a map sets again: it alone makes the noise's size, so that this does not change."""
N, D = 2, 4
FREE = N * (D - 1)
SCALE = D**0.5 / LONG
"""The sigma at which the noise on a component has the size one."""


def set_again(change):
    """A map of the free components of a text, ``[texts, 6]``, with the last component of each token set again."""

    def function(x):
        free = change(x[..., :-1].flatten(1)).unflatten(-1, (N, D - 1))
        return torch.cat([free, torch.full_like(x[..., :1], LONG)], -1)

    return function


def begin(*free):
    """Starts with these free components, ``[..., 6]``."""
    free = free[0].unflatten(-1, (N, D - 1))
    return torch.cat([free, torch.full_like(free[..., :1], LONG)], -1)


def linear(radius):
    """A matrix with this spectral radius, its largest eigenvalues a pair that turns by a quarter."""
    basis = normal(FREE, FREE, seed=3)
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    return basis @ torch.block_diag(radius * turn, torch.diag(normal(4, seed=4).tanh() * radius / 2)) @ torch.linalg.inv(basis)


def stationary(A, s):
    """The covariance of x -> A (x + s noise), of the linear equations C = A (C + s^2) A^T written out."""
    whole = torch.eye(FREE**2, dtype=torch.float64) - torch.kron(A, A)
    return torch.linalg.solve(whole, s**2 * (A @ A.mT).flatten()).reshape(FREE, FREE)


# Nearby starts


@pytest.mark.parametrize("sigma", [0, 0.5])
@pytest.mark.slow
def test_the_growth_of_a_linear_map_is_that_of_its_powers(sigma):
    A = linear(0.9)
    found = nearby_starts(set_again(lambda u: u @ A.mT), begin(normal(3, FREE)), sigma * SCALE, steps=400)
    assert found.shape == (400, 3)
    close(
        found[200:].mean(0), torch.full((3,), math.log(0.9), dtype=torch.float64), atol=1e-4
    )  # four turns are the fourth power
    close(found[-1] + found[-2] + found[-3] + found[-4], torch.full((3,), 4 * math.log(0.9), dtype=torch.float64), atol=1e-5)


def test_without_noise_its_mean_is_the_exponent_and_under_noise_it_is_what_two_films_do():
    W = 1.5 * normal(8, 8)
    mixed = lambda x: torch.tanh((x + x.mean(-2, keepdim=True)) @ W.mT)  # noqa: E731
    start = normal(2, 3, 8, seed=1)
    flat = lambda z: mixed(z.unflatten(-1, (3, 8))).flatten(1)  # noqa: E731
    close(nearby_starts(mixed, start, steps=9).mean(0), lyapunov_exponent(flat, start.flatten(1), steps=9, burn_in=0))

    found = nearby_starts(mixed, start, 0.3, steps=7, generator=torch.Generator().manual_seed(5))
    first = torch.randn(2, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x, generator = start, torch.Generator().manual_seed(5)
    y = x + 1e-8 * (first / first.norm(dim=-1, keepdim=True)).unflatten(-1, (3, 8))
    for growth in found:
        noise = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        before = (y - x).flatten(1).norm(dim=-1)
        x, y = (mixed(z + 0.3 * z.square().mean(-1, keepdim=True).sqrt() * noise) for z in (x, y))
        close(growth, ((y - x).flatten(1).norm(dim=-1) / before).log(), atol=1e-4)


def test_what_forgets_everything_is_minus_infinity_and_nothing_has_a_derivative():
    start = torch.zeros(1, 2, 3).double()
    assert (nearby_starts(lambda x: 0 * x, start + 1, 0.5, steps=3) == -math.inf).all()
    close(nearby_starts(lambda x: x / 2, start, 0.5, steps=3)[:, 0], torch.full((3,), math.log(0.5), dtype=torch.float64))


# Two films under one noise


@pytest.mark.parametrize("sigma", [0, 0.5])
def test_films_of_a_linear_map_keep_their_difference_whatever_the_noise(sigma):
    A, free = linear(0.9), normal(2, 3, FREE)
    found = films_under_noise(
        set_again(lambda u: u @ A.mT), begin(free), sigma * SCALE, films=5, steps=20, last=3, close=2.2e-6
    )
    left = ((free[0] - free[1]) @ torch.linalg.matrix_power(A, 20).mT).norm(dim=-1) / (LONG * N**0.5)
    close(found.apart / left, torch.ones(3).double(), atol=1e-5)
    close(found.met, (left < 2.2e-6).double())
    assert 0 < found.met.mean() < 1
    assert (found.law is None) == (found.law_over_error is None) == (sigma == 0)


def test_the_law_of_a_linear_map_is_the_gaussian_of_the_lyapunov_equation():
    """Its sampling error is that of the covariance that solves C = A (C + s^2) A^T, and it forgets where it began."""
    A, films = linear(0.8), 200
    starts = begin(normal(2, 40, FREE))
    found = films_under_noise(set_again(lambda u: u @ A.mT), starts, 0.5 * SCALE, films=films, steps=70, last=30)
    error = (2 * stationary(A, 0.5).trace() / (films // 2)).sqrt() / (LONG * N**0.5)
    told = found.law_over_error.square()  # one on average, if the law is one
    assert abs(told.mean() - 1) < 4 * told.std() / 40**0.5
    assert abs(found.law.square().mean().sqrt() / error - 1) < 0.1
    close(found.met, torch.ones(40).double())


def test_a_law_that_remembers():
    """Nothing is lost and nothing pulls back: the mean stays where it was, the variance is that of a walk."""
    free = torch.stack([torch.zeros(3, FREE), torch.full((3, FREE), 40.0)]).double()
    found = films_under_noise(set_again(lambda u: u), begin(free), SCALE, films=64, steps=25, last=1)
    gap = 40 * FREE**0.5
    close(found.apart * LONG * N**0.5 / gap, torch.ones(3).double(), atol=1e-3)
    error = (2 * FREE * 25 / 32) ** 0.5
    assert ((found.law * LONG * N**0.5 / gap - 1).abs() < 4 * error / gap).all()
    assert ((found.law_over_error / (gap / error) - 1).abs() < 0.2).all()


def test_one_law_though_films_do_not_meet():
    """Twice a number, without its whole part: the exponent is ln 2, two films are as far apart as two uniform numbers."""
    function = set_again(lambda u: (2 * u).remainder(1))
    starts = begin(normal(2, 30, FREE).sigmoid())
    found = films_under_noise(function, starts, 0.1 * SCALE, films=32, steps=80, last=20)
    squared = (found.apart * LONG * N**0.5).square().mean() / FREE
    assert found.met.max() == 1  # in units of the long component, everything is near
    assert abs(squared - 1 / 6) < 0.02
    told = found.law_over_error.square()
    assert abs(told.mean() - 1) < 4 * told.std() / 30**0.5
    close(nearby_starts(function, starts[0], 0.1 * SCALE, steps=30)[5:], torch.full((25, 30), math.log(2)).double(), atol=1e-6)


def test_noise_is_new_each_time_and_the_two_films_share_it():
    seen = []

    def function(x):
        seen.append(x.clone())
        return torch.ones_like(x)

    films_under_noise(function, torch.ones(2, 3, 4, 200).double(), 0.5, films=6, steps=3, last=1)
    noise = torch.stack(seen).unflatten(1, (2, 6, 3)) - 1  # [steps, 2, films, pairs, n, dim]
    close(noise[:, 0], noise[:, 1])
    each = noise[:, 0].flatten(0, -2)
    close((each @ each.mT / 200 - 0.25 * torch.eye(len(each)).double()).abs().max() < 0.1, torch.tensor(True))
    one = seen[0][0] - 1
    doubled = []
    start = torch.ones(2, 3, 4, 200).double() * torch.tensor([1.0, 2.0, 3.0, 4.0]).double()[:, None]
    films_under_noise(lambda x: doubled.append(x.clone()) or x, start, 0.5, films=6, steps=1, last=1)
    close(doubled[0][0] / torch.tensor([1.0, 2.0, 3.0, 4.0]).double()[:, None] - 1, one)  # each token by its own size


# Tied blocks


def block(norm="after"):
    torch.manual_seed(0)
    return Block(SoftmaxAttention(8, heads=2), norm=norm, feed_forward=6).double().eval()


@pytest.mark.parametrize("norm", ["before", "after"])
def test_a_tied_stack_is_its_step(norm):
    stack, starts = Stack(block(norm), steps=3), normal(2, 1, 4, 8)
    settings = {"films": 4, "steps": 5, "last": 2}
    found, step = (films_under_noise(f, starts, 0.2, **settings) for f in (stack, stack.blocks[0]))
    close(torch.stack([*vars(found).values()]), torch.stack([*vars(step).values()]))
    growth, step = (nearby_starts(f, starts[0], 0.2, steps=4) for f in (stack, stack.blocks[0]))
    close(growth, step)


def test_padding_counts_nowhere():
    stack, starts, settings = Stack(block()), normal(2, 2, 5, 8), {"films": 4, "steps": 4, "last": 2}
    mask = torch.tensor([[True, True, True, False, False], [True, False, True, True, True]])
    spoiled = torch.where(mask[..., None], starts, 1e3)
    for sigma in (0, 0.3):
        found = [vars(films_under_noise(stack, x, sigma, mask=mask, **settings)).values() for x in (starts, spoiled)]
        close(*(torch.stack([one for one in each if one is not None]) for each in found))
        close(*(nearby_starts(stack, x[0], sigma, mask=mask, steps=3) for x in (starts, spoiled)))
    alone = films_under_noise(stack, starts[:, :1, :3], 0, steps=4, last=2)
    close(films_under_noise(stack, spoiled, 0, mask=mask, **settings).apart[:1], alone.apart)
    seen = []
    films_under_noise(lambda x: seen.append(x) or x, spoiled, 0.3, mask=mask, **settings)
    assert all((x.unflatten(0, (2, 4, 2))[~mask.expand(2, 4, 2, 5)] == 0).all() for x in seen)


def test_single_precision_says_the_same():
    stack, starts = Stack(block()), normal(2, 2, 4, 8)
    wide = films_under_noise(stack, starts, 0, steps=6, last=1)
    found = films_under_noise(stack.float(), starts.float(), 0, steps=6, last=1)
    assert found.apart.dtype == torch.float32
    close(found.apart.double(), wide.apart, atol=1e-5)
    assert films_under_noise(stack, starts.float(), 0.1, films=4, steps=6, last=2).law.dtype == torch.float32


def test_nothing_is_left_in_what_it_was_given():
    stack, starts = Stack(block()), normal(2, 1, 4, 8, grad=True)
    found = films_under_noise(stack, starts, 0.2, films=4, steps=3, last=2)
    assert not any(one.requires_grad for one in vars(found).values())
    assert not nearby_starts(stack, starts[0], 0.2, steps=2).requires_grad


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"starts": torch.ones(3, 1, 2, 8)}, r"starts has shape \(3, 1, 2, 8\); expected \[2, pairs, n, dim\]"),
        (
            {"function": Stack([block(), block()])},
            "function is a Stack of 2 blocks of their own; expected one block that is tied",
        ),
        ({"function": 3}, "function is a int; expected a function of states, or a tied Stack"),
        ({"function": lambda x: x[..., :1]}, r"function returned torch.float32 of shape \(8, 2, 1\); expected .* \(8, 2, 8\)"),
        ({"function": lambda x: x.double()}, "function returned torch.float64"),
        ({"function": lambda x: 1e30 * x}, "starts, function's values or sigma are too large"),
        ({"sigma": -1}, "sigma is -1; expected a finite number of at least 0"),
        ({"films": 3}, "films is 3; expected an integer of at least 4"),
        ({"last": 9}, "last is 9; expected an integer of at least 1, at most 5"),
        ({"close": 0}, "close is 0; expected a finite number above 0"),
        (
            {"mask": torch.ones(1, 3, dtype=torch.bool)},
            r"mask is torch.bool of shape \(1, 3\) on cpu; expected booleans \(1, 2\)",
        ),
        ({"mask": torch.zeros(1, 2, dtype=torch.bool)}, "mask leaves no token of a text"),
    ],
)
def test_what_is_refused(change, sentence):
    settings = {"function": torch.tanh, "starts": torch.ones(2, 1, 2, 8), "sigma": 0.5, "films": 4, "steps": 5, "last": 2}
    with pytest.raises(ValueError, match=sentence):
        films_under_noise(**settings | change)


@pytest.mark.usefixtures("unchecked")
def test_what_nearby_starts_refuse():
    with pytest.raises(ValueError, match=r"start has shape \(2, 8\); expected \[texts, n, dim\]"):
        nearby_starts(torch.tanh, torch.ones(2, 8))
    with pytest.raises(ValueError, match=r"function returned torch.float32 of shape \(1, 2, 1\)"):
        nearby_starts(lambda x: x[..., :1], torch.ones(1, 2, 8))
