"""What an examination found: a row for each head at each step, a row for each state, and what is made of them."""

import csv
import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_kind


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
class Examination:
    """What :func:`attnlib.transformer.examine` found.

    ``heads`` and ``states``: a row for each head at each step and for each state. ``loss``: that of the model as it is, None
    where there was none. ``lyapunov``: the largest exponent of a tied block, in nats a step, mean over texts; None otherwise.

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

    def table(self) -> list[dict[str, float | int | None]]:
        """The heads as rows, numbers by name, as a data frame takes them. Without the eigenvalues."""
        rows = [dataclasses.asdict(row) for row in self.heads]
        return [{name: number for name, number in row.items() if name != "eigenvalues"} for row in rows]

    def grid(self, name: str) -> Float[Tensor, "steps heads"]:
        """One column of the table as ``[steps, heads]``, NaN where a step has no such head. Raises ValueError on its name."""
        names = [field.name for field in dataclasses.fields(HeadReading) if field.name != "eigenvalues"]
        if name not in names:
            raise ValueError(f"name is {name!r}; expected one of {', '.join(names)}")
        steps = max((row.step for row in self.states), default=0)
        found = torch.full((steps, max((row.head for row in self.heads), default=0)), torch.nan, device="cpu")
        for row in self.heads:
            number = getattr(row, name)
            found[row.step - 1, row.head - 1] = torch.nan if number is None else number
        return found

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, one line for each head at each step. Raises ValueError on a path that is none."""
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"path is a {type(path).__name__}; expected a path")
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [f.name for f in dataclasses.fields(HeadReading) if f.name != "eigenvalues"])
            writer.writeheader()
            writer.writerows(self.table())

    def plot(self) -> Any:
        """A figure of matplotlib with a map of each instrument, heads across, steps down.

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
