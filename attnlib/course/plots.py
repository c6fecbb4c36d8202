"""Figures of the course: one style sheet, and the few drawings that several pages share. Needs ``attnlib[book]``."""

import sys
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.extras import extra
from attnlib.course.data import Pair

with extra("attnlib.course.plots"):
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"
"""The colours of the style sheet's cycle, in its order: Okabe and Ito's palette, which the colour-blind can tell apart."""


def use_style() -> None:
    """Switch matplotlib to the style sheet of the course (``attnlib/course/plots.mplstyle``).

    In a notebook pictures get twice the pixels, for dense screens, and say how large they are to be shown.

    >>> use_style()
    >>> plt.rcParams["axes.prop_cycle"].by_key()["color"][0] == BLUE
    True
    """
    plt.style.use("attnlib.course.plots")
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        from matplotlib_inline.config import InlineBackend

        InlineBackend.instance(parent=ipython.get_ipython()).figure_formats = {"retina"}


def panels(
    xlabel: str, *ylabels: str, height: float | int = 2.5, sharex: bool = True, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Axes below each other, as wide as any figure, so that a phone shows their words: one for each label of y.

    Takes the height of each in inches. They share the quantity across, whose label stands below the last, unless ``sharex`` is
    false: then each bears it. Raises ValueError without a label of y.

    >>> figure, (upper, lower) = panels("training step", "loss", "entropy over ln T")
    >>> lower.get_xlabel(), upper.get_ylabel()
    ('training step', 'loss')
    >>> plt.close(figure)
    """
    if not ylabels:
        raise ValueError("ylabels is empty; expected a label for each of the panels")
    size = plt.rcParams["figure.figsize"][0], height * len(ylabels)
    figure, axes = plt.subplots(len(ylabels), figsize=size, sharex=sharex, sharey=sharey, squeeze=False)
    for ax, ylabel in zip(axes[:, 0], ylabels, strict=True):
        ax.set(xlabel="" if sharex and ax is not axes[-1, 0] else xlabel, ylabel=ylabel)
    return figure, list(axes[:, 0])


def ticks(ax: Axes, x: Sequence[float | int] = (), y: Sequence[float | int] = ()) -> None:
    """Mark these values of a logarithmic axis, written as plain numbers, and no others; an axis without values stays as it is.

    >>> figure, ax = plt.subplots()
    >>> _ = ax.loglog([32, 256], [0.05, 0.4])
    >>> ticks(ax, x=(32, 64, 128, 256))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['32', '64', '128', '256']
    >>> plt.close(figure)
    """
    for axis, values in ((ax.xaxis, x), (ax.yaxis, y)):
        if len(values):
            axis.set_ticks(values, [f"{value:g}" for value in values])
            axis.set_ticks([], minor=True)


def grid(
    extent: tuple[float, float, float, float], resolution: int = 120
) -> tuple[Float[Tensor, "points 2"], Float[Tensor, "x"], Float[Tensor, "y"]]:
    """Points of a rectangle: all of them ``[resolution ** 2, 2]`` with y as the slow index, and the values of x and of y.

    The extent is ``(left, right, bottom, top)``. Raises ValueError unless left < right and bottom < top.

    >>> points, x, y = grid((-1.0, 1.0, 0.0, 1.0), resolution=3)
    >>> points.shape, x, y
    (torch.Size([9, 2]), tensor([-1.,  0.,  1.]), tensor([0.0000, 0.5000, 1.0000]))
    """
    left, right, bottom, top = extent
    if not (left < right and bottom < top):
        raise ValueError(f"extent is {extent}; expected (left, right, bottom, top) with left < right and bottom < top")
    x, y = torch.linspace(left, right, resolution), torch.linspace(bottom, top, resolution)
    rows, columns = torch.meshgrid(y, x, indexing="ij")
    return torch.stack([columns.flatten(), rows.flatten()], dim=-1), x, y


def landscape(
    ax: Axes,
    energy: Callable[[Float[Tensor, "points 2"]], Float[Tensor, "points"]],
    extent: tuple[float, float, float, float] = (-3, 3, -3, 3),
    *,
    levels: int = 22,
    resolution: int = 120,
) -> None:
    """Fill the axes with the contours of an energy over the plane, dark where it is low.

    Takes an energy of points ``[points, 2]`` to ``[points]``. The levels lie closer together near the bottom, where the
    valleys are. Raises ValueError as :func:`grid`.

    >>> from attnlib import hopfield_energy
    >>> memory = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    >>> figure, ax = plt.subplots()
    >>> landscape(ax, lambda points: hopfield_energy(points, memory, beta=4), (-2.0, 2.0, -2.0, 2.0), resolution=20)
    >>> [round(edge) for edge in ax.get_xlim()]
    [-2, 2]
    >>> plt.close(figure)
    """
    points, x, y = grid(extent, resolution)
    with torch.no_grad():
        values = energy(points).reshape(resolution, resolution)
    low, high = values.min(), values.max()
    steps = low + (high - low) * torch.linspace(0, 1, levels) ** 1.7
    colors = plt.get_cmap("Blues_r")(torch.linspace(0.3, 1, levels - 1).numpy())  # light enough for black marks
    ax.contourf(x, y, values, levels=steps, colors=colors)
    ax.contour(x, y, values, levels=steps, colors="white", linewidths=0.5, linestyles="solid", alpha=0.7)
    ax.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
    ax.grid(visible=False)


def path(ax: Axes, states: Float[Tensor, "steps n 2"], *, color: str = RED, label: str | None = None) -> None:
    """Draw trajectories in the plane, ``[steps, n, 2]``: an open circle at the start, a dot at each step.

    >>> from attnlib import descend
    >>> walk = descend(lambda state: state.square().sum(-1) / 2, torch.tensor([[2.0, 1.0]]), steps=4, step_size=0.5)
    >>> figure, ax = plt.subplots()
    >>> path(ax, walk.states)
    >>> len(ax.lines)  # the track, and the circle at its start
    2
    >>> plt.close(figure)
    """
    for index, track in enumerate(states.detach().unbind(1)):
        ax.plot(*track.T, "-o", color=color, markersize=3.5, linewidth=1.3, label=label if index == 0 else None)
        ax.plot(*track[0], "o", color="white", markeredgecolor=color, markersize=7)


def alignment(ax: Axes, weights: Float[Tensor, "n m"], pair: Pair, *, rings: bool = True) -> None:
    """Draw attention weights ``[n, m]`` between the words of a pair, dark where they are large.

    Words of the target go down, words of the source across; rings mark the pair's own links, unless ``rings`` is false. Raises
    ValueError for weights that are not one for each pair of words.

    >>> pair = Pair(("guten", "Tag"), ("good", "day"), frozenset({(0, 0), (1, 1)}))
    >>> figure, ax = plt.subplots()
    >>> alignment(ax, torch.tensor([[0.9, 0.1], [0.2, 0.8]]), pair)
    >>> [label.get_text() for label in ax.get_xticklabels()], len(ax.lines[0].get_xdata())
    (['guten', 'Tag'], 2)
    >>> plt.close(figure)
    """
    shape = len(pair.target), len(pair.source)
    if tuple(weights.shape) != shape:
        raise ValueError(f"weights has shape {tuple(weights.shape)}; expected {shape}, one for each word of both sentences")
    ax.imshow(weights.detach(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    if rings and pair.alignment:
        rows, columns = zip(*sorted(pair.alignment), strict=True)
        ax.plot(columns, rows, "o", markerfacecolor="none", markeredgecolor=RED, markersize=6)
    ax.set_xticks(range(shape[1]), pair.source, rotation=90)
    ax.set_yticks(range(shape[0]), pair.target)
    ax.grid(visible=False)
