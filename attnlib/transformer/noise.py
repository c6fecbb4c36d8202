"""A block that goes on under noise: two films under one noise, whether their law forgets the start, and nearby starts."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._core.checks import check_count, check_floating, check_generator, check_number, check_tensors
from attnlib._core.numerics import widened
from attnlib._core.values import check_finite, check_result, check_visible
from attnlib.transformer.stability import growths
from attnlib.transformer.stack import Stack
from attnlib.transformer.tokens import check_some_token

Map = Callable[[Tensor], Tensor]
"""A step of states ``[texts, n, dim]``."""
Step = Callable[[Tensor, Tensor | None], Tensor]
"""The next state ``[..., texts, n, dim]`` of a state and of noise of that shape."""


@dataclass(frozen=True)
class FilmsUnderNoise:
    """What became of pairs of films under one noise, each ``[pairs]``.

    ``apart``: how far they end from each other, the root of the squared distance over the mean of the squared sizes: 0 is one
    film, about 1.4 two that have nothing to do with each other; mean over noises. ``met``: the share of noises under which that
    is small. ``law``: how far the means of the two laws are apart, in the same unit, and ``law_over_error``: in units of what
    their sampling, or else rounding, makes of it. Both are None without noise.

    >>> starts = torch.randn(2, 3, 4, 8)
    >>> films_under_noise(lambda x: x / 2 + 1, starts, 0.1, steps=40, last=5).met
    tensor([1., 1., 1.])
    """

    apart: Float[Tensor, "pairs"]
    met: Float[Tensor, "pairs"]
    law: Float[Tensor, "pairs"] | None = None
    law_over_error: Float[Tensor, "pairs"] | None = None


def films_under_noise(
    function: Callable[[Tensor], Tensor],
    starts: Float[Tensor, "2 pairs n dim"],
    sigma: float | int,
    *,
    mask: Bool[Tensor, "pairs n"] | None = None,
    films: int = 32,
    steps: int = 300,
    last: int = 100,
    close: float | int = 1e-3,
    generator: torch.Generator | None = None,
) -> FilmsUnderNoise:
    r"""Let an iteration go on under noise from two starts: do films under one noise meet, and does the law forget the start?

    .. math:: x_{t+1} = f\big(x_t + \sigma\, |x_t|\, \xi_t\big), \qquad
        \mathrm{apart} = \sqrt{\frac{2\, |x - y|^2}{|x|^2 + |y|^2}}, \qquad
        \mathrm{law/error} = \sqrt{\frac{\sum_t |\bar x - \bar y|^2}{\sum_t (\mathrm{var}\, x + \mathrm{var}\, y) / h}}

    The noise is Gaussian, new in each step, and on each token of its own root mean square, ``|x_t|``, times ``sigma``. The two
    films of a pair get the same noise: if they meet, the noise alone decides where they are (coupling from the past). Their
    laws may be one although the films do not meet. So the means of the law are taken over one half of the noises, h of them,
    for the first start and over the other half for the second: independent samples, whose means differ by their error where
    the law is one. It is read in the last steps, which depend on each other, so that the ratio has an error of its own.

    Args:
        function: a step of states, ``[texts, n, dim]`` in and out, each text by itself; or a tied :class:`Stack`, of which one
            step is taken, with the mask.
        starts: where the films begin, ``[2, pairs, n, dim]``.
        sigma: the size of the noise, at least 0. Without noise a pair has one film each, and no law.
        mask: ``[pairs, n]``, True for what is a token and no padding, in both texts of a pair. Padding is zero in what a
            function gets, has no noise, and counts nowhere.
        films: how many noises, at least 4.
        steps: how long the films are.
        last: in how many of the last steps the law is read.
        close: films that end closer than this have met.
        generator: of the noise; default one with the seed 0.

    Returns:
        :class:`FilmsUnderNoise`, each ``[pairs]``, without gradients.

    Raises:
        ValueError: starts that are not ``[2, pairs, n, dim]`` or not finite, a stack that is not tied, settings out of range, a
            function that returns another shape or overflows.

    Source: page 8b for two films under one noise and the law; Propp and Wilson 1996 for coupling.

    >>> torch.manual_seed(0)
    <torch...>
    >>> starts = torch.randn(2, 1, 3, 8)
    >>> found = films_under_noise(torch.tanh, starts, 1.0)  # it forgets: films meet, and their laws are one
    >>> found.met, bool(found.law_over_error < 1.5)
    (tensor([1.]), True)
    """
    check_floating(starts=starts)
    if starts.ndim != 4 or starts.shape[0] != 2 or 0 in starts.shape:
        raise ValueError(f"starts has shape {tuple(starts.shape)}; expected [2, pairs, n, dim], each at least 1")
    check_finite(starts=starts)
    sigma, films = check_number("sigma", sigma, least=0), check_count("films", films, 4)
    steps = check_count("steps", steps)
    last, close = check_count("last", last, 1, steps), check_number("close", close, above=0)
    real, drawn = _real(mask, starts), _generator(generator, starts)
    step, half = shaken(function, sigma, real, "starts"), films // 2
    rounding = torch.finfo(starts.dtype).eps ** 2
    x = starts.detach() if real is None else torch.where(real.unsqueeze(-1), starts.detach(), 0.0)
    x = x.unsqueeze(1).expand(-1, films if sigma else 1, -1, -1, -1)
    gap = squared = expected = torch.zeros(starts.shape[1], dtype=torch.float64, device=starts.device)
    with torch.no_grad():
        for t in range(steps):
            x = step(x, torch.randn(x.shape[1:], generator=drawn, dtype=x.dtype, device=x.device).expand(x.shape))
            if sigma and t >= steps - last:
                one, other = x[0, :half].double(), x[1, films - half :].double()
                first, second = one.mean(0), other.mean(0)
                gap = gap + apart(first, second) / last
                squared = squared + (first - second).square().sum((-2, -1))
                means = first.square() + second.square()  # which are rounded: no error is less than that
                expected = expected + ((one.var(0) + other.var(0)) / half + rounding * means).sum((-2, -1))
    between = apart(*x.double())  # [films, pairs]
    ends = between.mean(0), (between < close).double().mean(0)
    told = (*ends, gap, _ratio(squared, expected).sqrt()) if sigma else ends
    return FilmsUnderNoise(*(check_result(one.to(starts.dtype), "starts are") for one in told))


def nearby_starts(
    function: Callable[[Tensor], Tensor],
    start: Float[Tensor, "texts n dim"],
    sigma: float | int = 0,
    *,
    mask: Bool[Tensor, "texts n"] | None = None,
    steps: int = 300,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "steps texts"]:
    r"""How a small difference between two starts grows under one noise, step by step: the film of nearby starts.

    .. math:: g_t = \ln \frac{|J_t\, v_t|}{|v_t|}, \qquad v_{t+1} = J_t\, v_t, \qquad
        J_t = \frac{\partial}{\partial x} f\big(x + \sigma |x| \xi_t\big) \Big|_{x_t}

    Its sum up to t is the logarithm of what is left of the difference; the mean over the later steps is the largest Lyapunov
    exponent, under noise: that of :func:`lyapunov_exponent`, with which it shares the derivative and the vector to begin with.
    Below zero films under one noise meet, if they come near each other.

    Args:
        function: a step, as in :func:`films_under_noise`, that can be differentiated; or a tied :class:`Stack`.
        start: where it begins, ``[texts, n, dim]``.
        sigma: the size of the noise, as there; default none.
        mask: ``[texts, n]``, as there.
        steps: how many.
        generator: of the noise; default one with the seed 0.

    Returns:
        The growth in each step, ``[steps, texts]``, in nats, without gradients. Minus infinity from where a step forgets
        everything.

    Raises:
        ValueError: a start that is not ``[texts, n, dim]`` or not finite, and what :func:`films_under_noise` raises.

    Source: Benettin, Galgani, Giorgilli and Strelcyn 1980; under a noise that both share: page 8b.

    >>> start = torch.ones(1, 2, 4)
    >>> nearby_starts(lambda x: x / 2, start, steps=3)[:, 0]  # ln 1/2 in each step
    tensor([-0.6931, -0.6931, -0.6931])
    """
    check_floating(start=start)
    if start.ndim != 3 or 0 in start.shape:
        raise ValueError(f"start has shape {tuple(start.shape)}; expected [texts, n, dim], each at least 1")
    check_finite(start=start)
    sigma, steps = check_number("sigma", sigma, least=0), check_count("steps", steps)
    real, drawn = _real(mask, start), _generator(generator, start)
    step = shaken(function, sigma, real, "start")
    x = start.detach() if real is None else torch.where(real.unsqueeze(-1), start.detach(), 0.0)

    def moved(flat: Tensor) -> Tensor:
        noise = torch.randn(x.shape, generator=drawn, dtype=x.dtype, device=x.device) if sigma else None
        return step(flat.reshape(x.shape), noise).flatten(1)

    return torch.stack(list(growths(moved, x.flatten(1), steps))).to(start.dtype)


def shaken(function: Map, sigma: float, real: Tensor | None, name: str) -> Step:
    """A step whose input is shaken: each token by sigma times its own root mean square; what is no token stays zero.

    ``real [texts, n]``, None where all are tokens; ``name`` is that of the states which began. Raises ValueError on what is no
    step, or is one of another shape, and on numbers that overflow.
    """
    take = _taken(function)

    def step(x: Tensor, noise: Tensor | None = None) -> Tensor:
        if sigma and noise is not None:
            square = widened(x).square().mean(-1, keepdim=True)
            size = torch.where(square > 0, square, 1.0).sqrt() * (square > 0)  # whose derivative is finite at nothing
            x = check_result(x + (sigma * size * noise).to(x.dtype), f"{name}, function's values or sigma are")
        rows = None if real is None else real.expand(x.shape[:-1]).flatten(0, -2)
        flat = x.flatten(0, -3) if rows is None else torch.where(rows.unsqueeze(-1), x.flatten(0, -3), 0.0)
        made = take(flat, rows)
        if not isinstance(made, Tensor) or made.shape != flat.shape or made.dtype != flat.dtype:
            came = f"{made.dtype} of shape {tuple(made.shape)}" if isinstance(made, Tensor) else f"a {type(made).__name__}"
            raise ValueError(f"function returned {came}; expected {flat.dtype} of shape {tuple(flat.shape)}, as it was given")
        made = made if rows is None else torch.where(rows.unsqueeze(-1), made, 0.0)
        return check_result(made.reshape(x.shape), "function's values are")

    return step


def apart(one: Tensor, other: Tensor) -> Tensor:
    """How far states ``[..., n, dim]`` are apart, in units of their size: 0 to 2."""
    size = (one.square() + other.square()).sum((-2, -1)) / 2
    return _ratio((one - other).square().sum((-2, -1)), size).sqrt()


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    """One over the other; 0 where the first is."""
    return torch.where(part > 0, part / whole, 0.0)


def _taken(function: Map) -> Callable[[Tensor, Tensor | None], Tensor]:
    """A step of states ``[rows, n, dim]`` and of which of their tokens are some."""
    if isinstance(function, Stack):
        if not function.tied:
            came = f"function is a Stack of {len(function.blocks)} blocks of their own"
            raise ValueError(f"{came}; expected one block that is tied, or a function of states")
        return lambda x, rows: function.step(x, 0, mask=None if rows is None else rows.unsqueeze(-2))
    if not callable(function):
        raise ValueError(f"function is a {type(function).__name__}; expected a function of states, or a tied Stack")
    return lambda x, _: function(x)


def _real(mask: Tensor | None, states: Tensor) -> Tensor | None:
    """What is a token, ``[texts, n]`` of states ``[..., texts, n, dim]``."""
    check_visible(**{"starts" if states.ndim == 4 else "start": states})
    if mask is None:
        return None
    check_tensors(mask=mask)
    check_visible(mask=mask)
    shape = tuple(states.shape[-3:-1])
    if mask.dtype != torch.bool or tuple(mask.shape) != shape or mask.device != states.device:
        came = f"mask is {mask.dtype} of shape {tuple(mask.shape)} on {mask.device}"
        raise ValueError(f"{came}; expected booleans {shape} on {states.device}")
    check_some_token(mask)
    return mask


def _generator(generator: torch.Generator | None, beside: Tensor) -> torch.Generator:
    check_generator(generator, beside)
    return torch.Generator(beside.device).manual_seed(0) if generator is None else generator
