"""Pictures of an examination: one map of heads and steps for each instrument, and the states along the way."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from attnlib._core.extras import extra
from attnlib.transformer.examination import Examination


@dataclass(frozen=True)
class Instrument:
    """A column of the table as it is shown: what it is called, what it says, and the number in the middle of its colours.

    ``reach`` is how far from the middle colours go; what lies beyond looks like the end.
    """

    name: str
    title: str
    says: str
    middle: float | None = None
    reach: float = float("inf")


INSTRUMENTS = (
    Instrument("spread", "Spread / √(2 ln K)", "Below 1 many keys share the weight, above 1 a few hold it.", 1.0),
    Instrument("participation", "Y₂", "The chance that two draws from the weights agree: 1 is one key, 1/K is all alike."),
    Instrument("participation_law", "Y₂ of random energies", "What independent scores of the same spread would give."),
    Instrument("thermometer", "Thermometer U", "1: as sure as right. Above: too cold. Below: too hot.", 1.0, 1.0),
    Instrument("symmetric_share", "Symmetric share", "1: scores with an energy. 0: what draws i to j repels j from i.", 0.5),
    Instrument("store", "Store", "1: what is read is written back as it is."),
    Instrument("walk", "Walk", "1: what is read is written as something else."),
    Instrument("erase", "Erase", "1: what is read is taken away, or nothing is written."),
    Instrument("first_token", "Weight on the first token", "Near 1: the head rests there when it finds nothing."),
    Instrument("arrow", "Arrow, nats a token and step", "0: every token gives what it gets. To lowest order."),
    Instrument("antisymmetric_share", "Antisymmetric share of scores", "0: no arrow to first order. Chance: about 1/2.", 0.5),
    Instrument("ablation", "Cost of its ablation", "What the loss gains where the head says its mean.", 0.0),
)
"""All instruments, in the order in which they are shown."""


def measured(found: Examination) -> list[Instrument]:
    """Those instruments that read something."""
    return [one for one in INSTRUMENTS if found.heads and not found.grid(one.name).isnan().all()]


def overview(found: Examination) -> Any:
    """All instruments in one figure of pyplot's."""
    with extra("Examination.plot"):
        from matplotlib import pyplot
    shown = measured(found)
    more = [_states, _noises] if found.noises else [_states]
    rows = -(-(len(shown) + len(more)) // 2)  # of two maps: of three a phone could not show the words
    figure = pyplot.figure(figsize=(5.0, 1.9 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, squeeze=False).flatten()
    for place, (one, ax) in enumerate(zip(shown, axes, strict=False)):
        _map(ax, found.grid(one.name), one, ticks=6)
        if place % 2:  # the steps are those of the map on its left
            ax.set_ylabel("")
            ax.tick_params(axis="y", labelleft=False)
        if place + 2 < len(shown):
            ax.set_xlabel("")
    for draw, ax in zip(more, axes[len(shown) :], strict=False):
        draw(ax, found)
    for ax in axes[len(shown) + len(more) :]:
        ax.set_axis_off()
    return figure


def map_of(found: Examination, one: Instrument) -> str:
    """The map of one instrument as SVG."""
    return _svg(lambda ax: _map(ax, found.grid(one.name), one))


def states_of(found: Examination) -> str:
    """What became of the states, as SVG."""
    return _svg(lambda ax: _states(ax, found))


def noises_of(found: Examination) -> str:
    """Where films under noise end, as SVG."""
    return _svg(lambda ax: _noises(ax, found))


def alternative(grid: Tensor, one: Instrument) -> str:
    """What the map shows, for someone who does not see it."""
    places = [(value, step + 1, head + 1) for step, row in enumerate(grid.tolist()) for head, value in enumerate(row)]
    seen = [place for place in places if place[0] == place[0]]
    low, high = min(seen), max(seen)
    return (
        f"{one.title}, {grid.shape[0]} steps by {grid.shape[1]} heads: mean {sum(v for v, _, _ in seen) / len(seen):.3g}; "
        f"largest {high[0]:.3g} at step {high[1]}, head {high[2]}; smallest {low[0]:.3g} at step {low[1]}, head {low[2]}."
    )


def _map(ax: Any, grid: Tensor, one: Instrument, ticks: int = 8) -> None:
    finite = grid[grid.isfinite()]
    low, high = (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 1.0)
    beyond = "neither"
    if one.middle is not None:
        reach = min(max(high - one.middle, one.middle - low, 1e-6), one.reach)
        beyond = "max" if high > one.middle + reach else "neither"
        low, high = one.middle - reach, one.middle + reach
    colours = "cividis" if one.middle is None else "PuOr"
    steps, heads = grid.shape
    extent = (0.5, heads + 0.5, steps + 0.5, 0.5)
    image = ax.imshow(grid.numpy(), cmap=colours, vmin=low, vmax=high, aspect="auto", extent=extent, interpolation="nearest")
    ax.set_title(one.title, fontsize=9)
    ax.set_xlabel("head", fontsize=8)
    ax.set_ylabel("step", fontsize=8)
    for axis, count in ((ax.xaxis, heads), (ax.yaxis, steps)):
        axis.set_ticks(range(1, count + 1, -(-count // ticks)))
    ax.tick_params(labelsize=8)
    ax.grid(visible=False)
    ax.figure.colorbar(image, ax=ax, extend=beyond).ax.tick_params(labelsize=8)


def _states(ax: Any, found: Examination) -> None:
    steps = [row.step for row in found.states]
    for name, marker in (("change", "o"), ("cosine", "s")):
        ax.plot(
            steps,
            [float("nan") if (y := getattr(row, name)) is None else y for row in found.states],
            marker=marker,
            markersize=4,
            label=name,
        )
    ax.set_xticks(range(0, len(steps), -(-len(steps) // 8)))
    ax.set_title("The states", fontsize=9)
    ax.set_xlabel("step", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.legend(fontsize=8)


def _noises(ax: Any, found: Examination) -> None:
    """Sizes side by side, whatever lies between them."""
    places = range(len(found.noises))
    for name, label, marker in (("apart", "apart", "o"), ("met", "share met", "s"), ("law_over_error", "law / error", "^")):
        read = [float("nan") if (y := getattr(row, name)) is None else y for row in found.noises]
        ax.plot(places, read, marker=marker, markersize=4, label=label)
    ax.set_xticks(places, [f"{row.sigma:.3g}" for row in found.noises])
    ax.set_title("Films under noise", fontsize=9)
    ax.set_xlabel("noise, of a token's size", fontsize=8)
    ax.set_ylim(bottom=0)
    ax.tick_params(labelsize=8)
    ax.legend(fontsize=8)


def _svg(draw: Callable[[Any], None]) -> str:
    """What a function draws on axes, as SVG with the same bytes each time."""
    with extra("Examination.page"):
        import matplotlib
        from matplotlib.figure import Figure
    with matplotlib.rc_context({"svg.hashsalt": "attnlib", "figure.facecolor": "white", "axes.facecolor": "white"}):
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        draw(figure.subplots())
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()
