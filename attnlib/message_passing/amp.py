"""Approximate message passing: a signal from noisy linear measurements, and the term that remembers the previous iterate."""

from contextlib import nullcontext

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import check_choice, check_count, check_number
from attnlib._core.convergence import OnFailure, report_failure
from attnlib._core.numerics import kept
from attnlib._core.transforms import in_forward_mode, no_derivatives
from attnlib._core.values import check_result, looking, refuted, settled, through_steps
from attnlib.mean_field import Prior
from attnlib.message_passing.measurement import Measurement, Memory
from attnlib.message_passing.records import AMPPath, AMPRecord


def amp(
    A: Float[Tensor, "*batch m n"],
    y: Float[Tensor, "*batch m"],
    prior: Prior,
    *,
    onsager: Memory = "previous",
    tolerance: float | int | None = None,
    max_steps: int = 200,
    on_failure: OnFailure = "error",
) -> AMPRecord:
    r"""Estimate a signal x from measurements ``y = A x + noise`` by approximate message passing.

    .. math:: r^t = x^t + A^T z^t, \qquad x^{t+1} = \eta(r^t), \qquad
        z^{t+1} = y - A x^{t+1} + \frac nm \langle \eta'(r^t) \rangle\, z^t

    A has independent entries of variance ``1/m``. The denoiser ``eta`` is the posterior mean of a component that is seen with
    Gaussian noise of variance ``tau2 = |z|^2 / m``: the response of a single spin of the prior to the field ``r / tau2`` with
    ``V = -1 / tau2``. The last term is Onsager's; it multiplies the residual of the *previous* iterate, and makes ``r`` the
    signal plus Gaussian noise that does not remember A. With ``"same"`` it multiplies the residual that is being computed,
    which has the same fixed points and is the first guess of everyone; it does not settle where this one does. Derivatives are
    those of the fixed point, by the implicit function theorem: they store no steps.

    In forward mode and under the transforms of ``torch.func`` an x and y of up to 512 numbers are found first and then
    followed. With more, and where no value can be seen (compiling), all ``max_steps`` are made, nothing is raised, and
    derivatives go through the steps.

    Args:
        A: ``[*batch, m, n]``, finite, entries of variance near ``1/m``.
        y: ``[*batch, m]``, finite.
        prior: what each component is, one with one component such as ``Binary()`` or ``Sparse(0.1)``.
        onsager: ``"previous"`` (default), ``"same"`` or ``"none"``.
        tolerance: a sample is done when the root mean square of a change of x is at most this times one plus that of x; default
            the dtype's precision to the power 2/3, 4e-11 in float64.
        max_steps: steps allowed.
        on_failure: a sample that does not settle is an ``"error"`` (default), or ``"warn"``, and the last x that was finite is
            returned, with ``converged`` False.

    Returns:
        :class:`AMPRecord`.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, a prior that is none or has more components.
        ConvergenceError: a sample does not settle.

    Source: Donoho, Maleki and Montanari 2009; with the denoiser of a prior, Bayati and Montanari 2011.

    >>> generator = torch.Generator().manual_seed(0)
    >>> x = torch.randn(100, generator=generator).sign()
    >>> A = torch.randn(80, 100, generator=generator) / 80**0.5
    >>> from attnlib.mean_field import Binary
    >>> found = amp(A, A @ x + 0.2 * torch.randn(80, generator=generator), Binary())
    >>> (found.x.sign() == x).all()
    tensor(True)
    """
    measure = Measurement.of(A, y, prior, onsager)
    check_choice("on_failure", on_failure, ("error", "warn"))
    max_steps = check_count("max_steps", max_steps)
    eps = torch.finfo(measure.y.dtype).eps
    tolerance = check_number("tolerance", eps ** (2 / 3) if tolerance is None else tolerance, least=eps)
    with working(measure.y):
        x, z = held = measure.start()
        done = torch.zeros_like(x[..., 0], dtype=torch.bool)
        iterations = torch.zeros_like(done, dtype=torch.int64)
        residual = torch.full_like(x[..., 0], torch.finfo(x.dtype).max)
        through = through_steps(x.shape[-1] + z.shape[-1])
        with nullcontext() if through else no_derivatives():
            for _ in range(max_steps):
                after, rest = measure.step(x, z)
                iterations = iterations + ~done
                sound = (torch.isfinite(after).all(-1) & torch.isfinite(rest).all(-1))[..., None]
                moved = (after - x).detach().square().mean(-1).sqrt()
                x, z = torch.where(sound, after, x), torch.where(sound, rest, z)
                going = ~done & sound[..., 0]
                residual = torch.where(going, moved, residual)
                held = torch.where(going[..., None], x, held[0]), torch.where(going[..., None], z, held[1])
                done = done | (going & (moved <= tolerance * (1 + x.detach().square().mean(-1).sqrt())))
                if not through:
                    x, z = held
                    if settled(done):
                        break
        if through:
            x, z = (kept(value, moving, done[..., None]) for value, moving in zip(held, (x, z), strict=True))
        elif torch.is_grad_enabled() or in_forward_mode():
            x, z = measure.attached(x, z, max_steps, on_failure)
        found = AMPRecord(
            check_result(x.to(A.dtype), "A or y are"),
            check_result(measure.noise(z).to(A.dtype), "A or y are"),
            residual.to(A.dtype).clamp(max=torch.finfo(A.dtype).max),
            iterations,
            done,
        )
    if looking() and refuted(lambda: done.all()):
        failed = int((~done).sum())
        report_failure(
            f"{failed} of {done.numel()} samples did not settle in {max_steps} steps: the signal still moves by "
            f"{residual.max():.2g}; expected at most {tolerance:.2g} times one plus its size",
            iterations=max_steps,
            residual=residual.max().item(),
            on_failure=on_failure,
        )
    return found


def amp_path(
    A: Float[Tensor, "*batch m n"],
    y: Float[Tensor, "*batch m"],
    prior: Prior,
    *,
    steps: int = 20,
    onsager: Memory = "previous",
) -> AMPPath:
    """All iterates of :func:`amp`, for a figure or a comparison with :func:`state_evolution`; it stops at nothing.

    Args:
        A, y, prior, onsager: as for :func:`amp`.
        steps: how many, at least 1.

    Returns:
        :class:`AMPPath`, ``[*batch, steps + 1, n]``.

    Raises:
        ValueError: as :func:`amp`; also an iterate that overflows.

    >>> from attnlib.mean_field import Binary
    >>> path = amp_path(torch.eye(2), torch.tensor([0.5, -2.0]), Binary(), steps=3)
    >>> path.x.shape, path.tau2.shape
    (torch.Size([4, 2]), torch.Size([4]))
    """
    measure, steps = Measurement.of(A, y, prior, onsager), check_count("steps", steps)
    with working(measure.y):
        states = [measure.start()]
        for _ in range(steps):
            states.append(measure.step(*states[-1]))
        x = torch.stack([x for x, _ in states], -2)
        tau2 = torch.stack([measure.noise(z) for _, z in states], -1)
    names = "A or y, or the iterates of what does not settle, are"
    return AMPPath(check_result(x.to(A.dtype), names), check_result(tau2.to(A.dtype), names))
