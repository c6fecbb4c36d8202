"""Films of driven spins: sampled steps, films that share their noise, and exact samples of the stationary law."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import check_count, check_flag, check_floating, check_generator, check_number
from attnlib._core.systems import System
from attnlib._core.values import check_signs, check_visible, refuted
from attnlib.kinetic.given import check_beside, checked


def film(
    J: Float[Tensor, "n n"],
    x: Float[Tensor, "..."] | None = None,
    *,
    beta: float | int = 1.0,
    steps: int,
    start: Float[Tensor, "*films n"] | None = None,
    shared: bool = False,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "frames *films n"]:
    r"""Films of driven spins that all move at once, frame by frame.

    .. math:: s_i(t + 1) = \mathrm{sign}\Big(\frac{1 + \tanh \beta h_i(t)}{2} - u_i(t)\Big), \qquad h(t) = x + J s(t)

    The u are uniform. Films that share them, started apart, differ from then on only by where they began: do they meet?

    Args:
        J: couplings ``[n, n]``, ``J[i, j]`` how spin i feels spin j; need not be symmetric.
        x: drive, broadcast to ``[n]``; default none.
        beta: inverse temperature, a number above 0.
        steps: how many steps to take.
        start: the first frames, ``[*films, n]``, of plus and minus ones; default one film, drawn.
        shared: give all films the same noise; default each its own.
        generator: of the noise, on the device of J.

    Returns:
        Frames, ``[steps + 1, *films, n]``, the start first. No gradient passes through.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, a start of other numbers, settings out of range.

    Source: Derrida 1987 for films that share their noise.

    >>> frames = film(torch.eye(3), beta=20.0, steps=2, start=torch.tensor([1.0, -1.0, 1.0]))  # cold, each follows itself
    >>> frames[2]
    tensor([ 1., -1.,  1.])
    """
    system = _one(J, x, beta)
    steps = check_count("steps", steps)
    check_flag(shared=shared)
    check_generator(generator, J)
    with torch.no_grad(), working(J):
        s = _started(J, system, start, generator)
        frames = [s]
        for _ in range(steps):
            s = _moved(system, s, _noise(system, s.shape[-1:] if shared else s.shape, generator))
            frames.append(s)
        return torch.stack(frames).to(J.dtype)


def from_the_past(
    J: Float[Tensor, "n n"],
    x: Float[Tensor, "..."] | None = None,
    *,
    beta: float | int = 1.0,
    samples: int,
    most: int = 2**16,
    generator: torch.Generator | None = None,
) -> tuple[Float[Tensor, "samples n"], Int[Tensor, "samples"]]:
    r"""Exact samples of the stationary law of spins that are coupled positively, by coupling from the past.

    With couplings that are nowhere negative, films which share their noise stay in order: where one began above another it
    stays above. So two films, from all up and from all down, enclose every other. They are started further and further back,
    always with the noise of the frames that come after, until they have met by the present: then every film of the infinite
    past has, and where they stand is a draw from the law itself, with no burn-in and no error. Attention weights are such
    couplings.

    Args:
        J: couplings ``[n, n]``, none below 0; need not be symmetric.
        x: drive, broadcast to ``[n]``; default none.
        beta: inverse temperature, a number above 0.
        samples: how many to draw, each on its own.
        most: how far back to go at most.
        generator: of the noise, on the device of J.

    Returns:
        Samples ``[samples, n]``, and how many steps back each had to be started, ``[samples]``, a power of two.

    Raises:
        ValueError: shapes that do not fit, non-finite or negative couplings, settings out of range; films that have not met
            within ``most`` steps, as happens to cold spins.

    Source: Propp and Wilson 1996.

    >>> drawn, back = from_the_past(torch.tensor([[1.0]]), beta=0.5, samples=20_000)
    >>> drawn.mean().abs() < 0.03, back.min()
    (tensor(True), tensor(1))
    """
    system = _one(J, x, beta)
    samples, most = check_count("samples", samples), check_count("most", most)
    check_generator(generator, J)
    if refuted(lambda: (J >= 0).all()):
        raise ValueError("J has entries below 0; expected none: films that share their noise would not stay in order")
    with torch.no_grad(), working(J):
        found, back = system.fields.new_zeros(samples, system.n), torch.zeros(samples, dtype=torch.int64, device=J.device)
        seed = int(torch.randint(2**62, (), generator=generator, device=J.device))
        own, left, steps = torch.Generator(J.device), torch.arange(samples, device=J.device), 1
        ends = torch.tensor([1.0, -1.0], dtype=system.fields.dtype, device=J.device)[:, None, None]
        while len(left):
            if steps > most:
                raise ValueError(
                    f"{len(left)} of {samples} films have not met within most, {most} steps; expected more, or warmer spins"
                )
            both = ends.expand(2, len(left), system.n)
            for ago in range(steps, 0, -1):  # a step's noise is drawn again whenever it is passed: nothing is kept
                noise = _noise(system, (samples, system.n), own.manual_seed(seed + ago))
                both = _moved(system, both, noise[left])
            met = (both[0] == both[1]).all(-1)
            back[left], found[left[met]] = steps, both[0, met]
            left, steps = left[~met], 2 * steps
        return found.to(J.dtype), back


def ordered_sweep(
    J: Float[Tensor, "n n"],
    x: Float[Tensor, "..."] | None = None,
    *,
    beta: float | int = 1.0,
    samples: int,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "samples n"]:
    r"""Exact samples of spins that each feel only those before them: one sweep in their order, from any start.

    .. math:: p(s) = \prod_i \frac{e^{\beta s_i h_i}}{2 \cosh \beta h_i}, \qquad h_i = x_i + \sum_{j < i} J_{ij} s_j

    A belief net, whose normaliser is one. It is the stationary law of updates one by one in this order, and not that of updates
    all at once: generation and layers are two dynamics of the same couplings.

    Args:
        J: couplings ``[n, n]``, zero on the diagonal and above.
        x: drive, broadcast to ``[n]``; default none.
        beta: inverse temperature, a number above 0.
        samples: how many to draw.
        generator: of the draws, on the device of J.

    Returns:
        ``[samples, n]``. No gradient passes through.

    Raises:
        ValueError: as :func:`film`, and couplings on the diagonal or above it.

    Source: Neal 1992 for sigmoid belief nets.

    >>> drawn = ordered_sweep(torch.tensor([[0.0, 0.0], [1.0, 0.0]]), beta=20.0, samples=100)
    >>> (drawn[:, 0] == drawn[:, 1]).all()
    tensor(True)
    """
    system = _one(J, x, beta)
    samples = check_count("samples", samples)
    check_generator(generator, J)
    if refuted(lambda: not J.triu().any()):
        raise ValueError("J couples spins to themselves or to later ones; expected zeros on the diagonal and above")
    with torch.no_grad(), working(J):
        s = system.fields.new_zeros(samples, system.n)
        noise = _noise(system, (samples, system.n), generator)
        for i in range(system.n):
            felt = s @ system.couplings[i] + system.fields[i]
            s[:, i] = _turned(felt, noise[:, i])
        return s.to(J.dtype)


def _one(J: Tensor, x: Tensor | None, beta: float | int) -> System:
    """Couplings without batch axes, and a number for beta."""
    check_floating(J=J)
    check_visible(J=J)
    beta = check_number("beta", beta, above=0)
    if J.ndim > 2:
        raise ValueError(f"J has shape {tuple(J.shape)}; expected [n, n]: films are of one system")
    return checked(J, x, beta)


def _started(J: Tensor, system: System, start: Tensor | None, generator: torch.Generator | None) -> Tensor:
    """The first frame: as given, or drawn."""
    if start is None:
        return _turned(torch.zeros_like(system.fields), _noise(system, (system.n,), generator))
    check_beside(J, start=start)
    if start.ndim < 1 or start.shape[-1] != system.n:
        raise ValueError(f"start has shape {tuple(start.shape)}; expected [*films, {system.n}]")
    check_signs("start", start)
    return start.to(system.fields.dtype)


def _noise(system: System, shape: tuple[int, ...] | torch.Size, generator: torch.Generator | None) -> Tensor:
    """Uniform numbers, the same in every precision."""
    like = system.fields
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=like.device)


def _moved(system: System, s: Tensor, noise: Tensor) -> Tensor:
    """One step of all spins."""
    return _turned(s @ system.couplings.mT + system.fields, noise)


def _turned(felt: Tensor, noise: Tensor) -> Tensor:
    """Up with probability ``(1 + tanh felt) / 2``: the more so the larger the field, for any one number."""
    return torch.where(noise < torch.sigmoid(2 * felt.double()), 1.0, -1.0).to(felt.dtype)
