"""The iteration: mean-field equations solved by damped steps, and the window of eigenvalues in which that works (chapter 4)."""

import math
import warnings
from functools import cache
from typing import Any, ClassVar

import torch
from torch import Tensor

from attnlib._core.convergence import ConvergenceWarning
from attnlib.course.live._draws import words
from attnlib.course.live._figure import Choice, LiveFigure, Number, Whole
from attnlib.mean_field import Binary, Gaussian, Prior
from attnlib.solve import fixed_point

SPINS, STEPS = 8, 60
TOLERANCE, SEEN, EDGE = 1e-6, 1e-9, 1e-9
"""What counts as solved; the residual below which there is only rounding; and what is so near to 1 counts as 1."""

LARGEST_SCALE, SHORTEST_STEP, LONGEST_STEP, LAST_SEED = 2.0, 0.05, 2.0, 999
PRIORS: dict[str, Prior] = {"gaussian": Gaussian(), "binary": Binary()}

SCENES: dict[str, dict[str, Any]] = {
    "calm": {"prior": "gaussian", "scale": 0.5, "step": 1.0, "seed": 29},
    "near the edge": {"prior": "gaussian", "scale": 0.95, "step": 1.0, "seed": 29},
    "past the edge": {"prior": "gaussian", "scale": 1.1, "step": 1.0, "seed": 29},
    "too long a step": {"prior": "gaussian", "scale": 0.8, "step": 1.5, "seed": 29},
    "saved by saturation": {"prior": "binary", "scale": 1.1, "step": 1.0, "seed": 29},
}
"""Five things to see, by name: settings of :class:`Iteration`."""


class Iteration(LiveFigure):
    r"""Turn the scale of the couplings and the length of a step; see whether the mean-field equations are solved.

    Eight spins with random symmetric couplings, whose largest eigenvalue is ``scale``, in random fields. From the answer to the
    fields alone the magnetisations take steps :math:`m \to m + \gamma\, (\langle S \rangle_{Jm + h} - m)`. Near a solution an
    error along an eigenvector of :math:`D^{1/2} J D^{1/2}` with eigenvalue mu is multiplied by :math:`1 - \gamma (1 - \mu)`,
    with ``D`` the variances of the spins: 1 for Gaussian ones, and :math:`1 - m^2` for binary ones. All are smaller than one
    as long as the eigenvalues lie between :math:`1 - 2/\gamma` and 1.

    Traits, all to be set, observed and linked:

    - ``prior``: ``"gaussian"`` or ``"binary"``;
    - ``scale``: the largest eigenvalue of the couplings, from 0 to 2;
    - ``step``: gamma, from 0.05 to 2;
    - ``seed``: of couplings and fields, from 0 to 999.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> said = Iteration("gaussian", 0.5).readout
    >>> round(said["rate"], 4), round(said["measured"], 4), said["evaluations"]
    (0.5, 0.5, 19)
    """

    prior = Choice("gaussian", PRIORS).tag(sync=True)
    scale = Number(0.5, least=0, most=LARGEST_SCALE).tag(sync=True)
    step = Number(1.0, least=SHORTEST_STEP, most=LONGEST_STEP).tag(sync=True)
    seed = Whole(29, least=0, most=LAST_SEED).tag(sync=True)

    constants: ClassVar[dict[str, Any]] = {
        "SPINS": SPINS,
        "STEPS": STEPS,
        "TOLERANCE": TOLERANCE,
        "SEEN": SEEN,
        "EDGE": EDGE,
        "LARGEST_SCALE": LARGEST_SCALE,
        "SHORTEST_STEP": SHORTEST_STEP,
        "LONGEST_STEP": LONGEST_STEP,
        "LAST_SEED": LAST_SEED,
        "SCENES": SCENES,
    }

    def __init__(self, prior: str = "gaussian", scale: float | int = 0.5, step: float | int = 1.0, *, seed: int = 29) -> None:
        super().__init__(prior=prior, scale=scale, step=step, seed=seed)

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.mean_field`.

        ``residuals``, the length of :math:`\langle S \rangle_{Jm + h} - m` before and after each step; ``m`` at the end; the
        ``eigenvalues`` of :math:`D^{1/2} J D^{1/2}` there and the ``factors`` by which a step multiplies an error along each;
        ``rate``, the largest of them, and ``measured``, by what a step did multiply the residual at the end. ``longest``, the
        step below which all factors are smaller than one, 0 where none is short enough. ``evaluations``, how many of the map
        :func:`attnlib.solve.fixed_point` needs, or -1 if 61 do not do.
        """
        J, h = system(self.seed)
        J, prior = self.scale * J, PRIORS[self.prior]

        def image(m: Tensor) -> Tensor:
            return prior.mean((m @ J + h)[..., None])[..., 0]

        m, residuals = prior.mean(h[:, None])[:, 0], []
        for at in range(STEPS + 1):
            error = image(m) - m
            residuals.append(error.norm().item())
            if at < STEPS:
                m = m + self.step * error
        root = prior.covariance((m @ J + h)[:, None])[:, 0, 0].sqrt()
        values = torch.linalg.eigvalsh(root[:, None] * J * root)
        factors = (1 - self.step * (1 - values)).abs()
        start = prior.mean(h[:, None])[:, 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the figure says it
            found = fixed_point(image, start, step=self.step, tolerance=TOLERANCE, max_steps=STEPS + 1, on_failure="warn")
        return {
            "residuals": residuals,
            "m": m.tolist(),
            "eigenvalues": values.tolist(),
            "factors": factors.tolist(),
            "rate": factors.max().item(),
            "measured": measured(residuals),
            "longest": 2 / (1 - values[0].item()) if values[-1] < 1 - EDGE else 0.0,
            "evaluations": int(found.iterations) if found.converged else -1,
        }

    def alt(self) -> str:
        """Settings, the residual at the end, and what theory says of a step, in two sentences."""
        said = self.readout
        return (
            f"Mean-field iteration of {SPINS} {self.prior} spins, largest eigenvalue of the couplings {self.scale:.4g}, step "
            f"{self.step:.4g}: the residual goes from {said['residuals'][0]:.2g} to {said['residuals'][-1]:.2g} in {STEPS} "
            f"steps. By theory a step multiplies the error by at most {said['rate']:.3f}; measured at the end: "
            f"{said['measured']:.3f}."
        )

    def still(self) -> str:
        """The residuals on a logarithmic scale with the theory's line, and the factor of each eigenvalue."""
        said = self.readout
        across = [50 + 4.8 * at for at in range(STEPS + 1)]
        line = [said["residuals"][0] * said["rate"] ** at for at in range(STEPS + 1)]
        dots = "".join(
            f'<circle cx="{_eigen(value):.1f}" cy="{_factor(factor):.1f}" r="5" fill="{colour}"/>'
            for value, factor in zip(said["eigenvalues"], said["factors"], strict=True)
            for colour in ["#d55e00" if factor >= 1 else "#0072b2"]
        )
        vee = "M" + "L".join(
            f"{_eigen(value):.1f} {_factor(abs(1 - self.step * (1 - value))):.1f}" for value in (-2.5, 1 - 1 / self.step, 2.2)
        )
        texts = (
            f"By theory a step multiplies the error by at most {said['rate']:.3f} (dashed); measured: {said['measured']:.3f}.",
            "A still picture. Run the cell, or allow JavaScript, to turn the scale and the step.",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 330" width="720" height="330" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="330" rx="12" fill="#fcfcfa"/>'
            '<text x="50" y="28">residual, from 10000 to 1e-12</text><text x="400" y="28">factor a step, by eigenvalue</text>'
            '<svg x="0" y="36" width="720" height="220" viewBox="0 36 720 220"><g fill="none" stroke-width="2">'
            f'<path d="{_curve(across, said["residuals"])}" stroke="#d55e00"/>'
            f'<path d="{_curve(across, line)}" stroke="#0072b2" stroke-dasharray="6 4"/>'
            f'<path d="{vee}" stroke="#525e6d"/><path d="M400 {_factor(1.0):.1f}h290" stroke="#1d2733" stroke-width="1"/></g>'
            f"{dots}</svg>"
            + "".join(f'<text x="20" y="{290 + 22 * i}">{text}</text>' for i, text in enumerate(texts))
            + "</svg>"
        )


@cache
def system(seed: int) -> tuple[Tensor, Tensor]:
    """Couplings ``[8, 8]`` with a largest eigenvalue of 1 and fields ``[8]``, as ``kit.generator(seed).normal()`` draws."""
    pairs = SPINS * (SPINS - 1) // 2
    uniform = (torch.tensor(words(2 * (pairs + SPINS), seed), dtype=torch.float64) + 0.5) / 2**32
    drawn = (-2 * uniform[::2].log()).sqrt() * (2 * math.pi * uniform[1::2]).cos()
    J = torch.zeros(SPINS, SPINS, dtype=torch.float64)
    J[tuple(torch.triu_indices(SPINS, SPINS, 1))] = drawn[:pairs]
    J = J + J.mT
    return J / torch.linalg.eigvalsh(J)[-1], drawn[pairs:]


def measured(residuals: list[float]) -> float:
    """By what a step multiplied the residual: the mean over the last ten steps before only rounding was left."""
    last = max((at for at, residual in enumerate(residuals) if at and residual > SEEN), default=0)
    first = max(0, last - 10)
    return (residuals[last] / residuals[first]) ** (1 / (last - first)) if last else 0.0


def _eigen(value: float) -> float:
    return 400 + 290 * (value + 2.5) / 4.7


def _factor(factor: float) -> float:
    return 250 - 100 * min(factor, 9.0)


def _curve(across: list[float], heights: list[float]) -> str:
    places = (f"{x:.1f} {56 + 11.5 * (4 - math.log10(min(1e9, max(y, 1e-14)))):.1f}" for x, y in zip(across, heights))
    return "M" + "L".join(places)
