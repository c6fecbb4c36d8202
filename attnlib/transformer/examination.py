"""What an examination found: rows for heads, states, norms and noises, and what is made of them."""

import csv
import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_choice, check_kind


@dataclass(frozen=True)
class HeadReading:
    """What the instruments read at one head in one step; steps, blocks and heads are counted from 1. None: not to be had.

    ``spread`` and ``spread_deviation``: of beta times the scores, in units of ``sqrt(2 ln K)``, mean and standard deviation
    over queries, each with its own number K of keys. ``participation`` and ``participation_deviation``: of ``Y2``, the sum of
    the squared weights; ``participation_law``: what Gaussian scores of the same spreads would give. ``thermometer`` and
    ``thermometer_error``: above one too cold, below too hot. ``symmetric_share``, ``store``, ``walk``, ``erase``,
    ``value_size``: of the maps alone. ``first_token``: the mean weight on it, of all others. ``arrow``: nats for each token and
    step, to lowest order; ``antisymmetric_share``: of the scores. ``ablation``: what the loss gains where the head is replaced
    by its mean. ``eigenvalues``: of the value map, largest first.

    >>> HeadReading(step=2, block=2, head=1, spread=0.8).spread
    0.8
    """

    step: int
    block: int
    head: int
    spread: float | None = None
    spread_deviation: float | None = None
    participation: float | None = None
    participation_deviation: float | None = None
    participation_law: float | None = None
    thermometer: float | None = None
    thermometer_error: float | None = None
    symmetric_share: float | None = None
    store: float | None = None
    walk: float | None = None
    erase: float | None = None
    value_size: float | None = None
    first_token: float | None = None
    arrow: float | None = None
    antisymmetric_share: float | None = None
    ablation: float | None = None
    eigenvalues: tuple[complex, ...] = ()


@dataclass(frozen=True)
class StateReading:
    """One state: before the first step (0) and after each.

    ``change``: the mean over tokens of the length of the step over the length of what was there; None at 0. ``cosine``: the
    mean over pairs of tokens of a text. ``length``: the mean of the tokens' root mean squares.

    >>> StateReading(step=1, change=0.5, cosine=0.1, length=1.0).change
    0.5
    """

    step: int
    change: float | None
    cosine: float
    length: float


@dataclass(frozen=True)
class NormReading:
    r"""One norm in one step: what its epsilon is worth beside what comes to it. Steps and blocks are counted from 1.

    .. math:: \mathrm{share} = \Big\langle \frac{\epsilon}{k + \epsilon} \Big\rangle, \qquad
        T = \frac{1}{\beta} = \frac{\epsilon}{\sqrt{\langle k \rangle + \epsilon}}

    ``norm``: "mixer" or "feed_forward", what it belongs to in the block. ``variance``: the mean over tokens of k, the variance
    of a token's components for a layer norm, their mean square for one without a mean (``torch.nn.RMSNorm``). ``epsilon``: what
    is added to it. ``share``: the mean over tokens of what it makes of the sum. Without it the output has one length; with it
    the length follows that of the input, at this rate: ``d ln |out| / d ln |in|``, without the shift.

    ``temperature``: of vector spins, whose mean is their field over ``1 / (2 beta) + sqrt(k + 1 / (4 beta^2))``. For a mean
    token that is what the norm divides by, so that the share is the temperature in units of it.

    Source: the norm as the response of a vector spin: Bal 2021, Transformers Are Secretly Collectives of Spin Systems; the
    temperature solves ``epsilon = sqrt(k + T^2 / 4) T + T^2 / 2``, page 8c.

    >>> NormReading(step=1, block=1, norm="mixer", variance=1.0, epsilon=1e-5, share=1e-5, temperature=1e-5).share
    1e-05
    """

    step: int
    block: int
    norm: str
    variance: float
    epsilon: float
    share: float
    temperature: float


@dataclass(frozen=True)
class NoiseReading:
    """A tied block that goes on under noise: means over pairs of starts of what :func:`films_under_noise` finds.

    ``sigma``: the noise on each token, in its own root mean square. ``exponent``: the rate at which a small difference grows,
    of :func:`nearby_starts`, nats a step. ``apart``: how far two films under one noise end from each other, in
    units of their size; ``met``: the share of films that ended closer than a thousandth. ``law``: how far the means of two laws
    are apart, and ``law_over_error`` the same in units of its sampling error: near one, the law has forgotten where it began.
    Both are None without noise.

    >>> NoiseReading(sigma=1.0, exponent=-0.05, apart=0.0, met=1.0).met
    1.0
    """

    sigma: float
    exponent: float
    apart: float
    met: float
    law: float | None = None
    law_over_error: float | None = None


Rows = Literal["heads", "states", "norms", "noises"]
"""The tables of an examination."""


@dataclass(frozen=True)
class Examination:
    """What :func:`attnlib.transformer.examine` found.

    ``heads`` and ``states``: a row for each head at each step and for each state. ``loss``: that of the model as it is, None
    where there was none. ``lyapunov``: the largest exponent of a tied block, in nats a step, mean over texts; None otherwise.
    ``norms``: a row for each norm of a block at each step. ``noises``: a row for each size of noise that was asked for.

    >>> from attnlib.attention import SoftmaxAttention
    >>> from attnlib.transformer import Block, Embedding, LanguageModel, Stack, examine
    >>> model = LanguageModel(Embedding(20, 8), Stack([Block(SoftmaxAttention(8, heads=2)) for _ in range(3)]))
    >>> found = examine(model, torch.tensor([[3, 1, 4, 1, 5]]))
    >>> len(found.heads), len(found.states), found.grid("spread").shape
    (6, 4, torch.Size([3, 2]))
    """

    heads: tuple[HeadReading, ...]
    states: tuple[StateReading, ...]
    loss: float | None = None
    lyapunov: float | None = None
    norms: tuple[NormReading, ...] = ()
    noises: tuple[NoiseReading, ...] = ()

    def table(self, rows: Rows = "heads") -> list[dict[str, Any]]:
        """Rows, numbers by name, as a data frame takes them: of the heads, without the eigenvalues, or of another table.

        Raises ValueError on a table that there is not.
        """
        columns = _columns(rows)
        return [{name: getattr(row, name) for name in columns} for row in getattr(self, rows)]

    def grid(self, name: str) -> Float[Tensor, "steps heads"]:
        """One column of the table as ``[steps, heads]``, NaN where a step has no such head. Raises ValueError on its name."""
        names = _columns("heads")
        if name not in names:
            raise ValueError(f"name is {name!r}; expected one of {', '.join(names)}")
        steps = max((row.step for row in self.states), default=0)
        found = torch.full((steps, max((row.head for row in self.heads), default=0)), torch.nan, device="cpu")
        for row in self.heads:
            number = getattr(row, name)
            found[row.step - 1, row.head - 1] = torch.nan if number is None else number
        return found

    def to_csv(self, path: str | os.PathLike[str], rows: Rows = "heads") -> None:
        """Write a table to a file, by default a line for each head at each step.

        Raises ValueError on a path that is none, and on a table that there is not.
        """
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"path is a {type(path).__name__}; expected a path")
        columns = _columns(rows)
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(self.table(rows))

    def plot(self) -> Any:
        """A figure of matplotlib with a map of each instrument, heads across, steps down; then the states, and the noises.

        Raises ModuleNotFoundError where matplotlib is missing.
        """
        from attnlib.transformer.pictures import overview

        return overview(self)

    def page(self, title: str = "Examination") -> str:
        """One page of HTML with tables and pictures, that needs nothing else; it carries the title.

        Raises ModuleNotFoundError where matplotlib is missing, ValueError on a title that is no text.
        """
        check_kind("title", title, str, "a text")
        from attnlib.transformer.report import page

        return page(self, title)

    def _repr_html_(self) -> str:
        """The tables, for a notebook."""
        from attnlib.transformer.report import tables

        return tables(self)


KINDS: dict[str, type] = {"heads": HeadReading, "states": StateReading, "norms": NormReading, "noises": NoiseReading}
"""What a row of each table is."""


def _columns(rows: Rows) -> list[str]:
    """The names of a table's columns; raise where there is no such table."""
    check_choice("rows", rows, tuple(KINDS))
    return [field.name for field in dataclasses.fields(KINDS[rows]) if field.name != "eigenvalues"]
