"""Draw the landing page's picture: a Hopfield energy landscape and two queries on their way down to a memory."""

from pathlib import Path

import matplotlib.pyplot as plt
import torch
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from attnlib import descend, hopfield_energy

BETA, STEP_SIZE, STEPS = 7.0, 0.22, 26
MEMORY = torch.tensor([[1.15, 0.3], [-0.95, 0.6], [-0.3, -0.95], [0.95, -0.7]])
QUERY = torch.tensor([[-0.1, 1.12], [0.1, -0.04]])
WIDTH, HEIGHT = 2.1, 1.4
DEPTHS = LinearSegmentedColormap.from_list("depths", ["#0b1f3a", "#17456f", "#3f82a6", "#9cc6cf", "#e6ece3", "#faf5e9"])
CARD = Path(__file__).parents[1] / "book" / "_static" / "card.png"


def energy(state: torch.Tensor) -> torch.Tensor:
    return hopfield_energy(state, MEMORY, beta=BETA)


def draw() -> Figure:
    """A map seen from above: dark is low. The style is the book's, the numbers come from attnlib alone."""
    x, y = torch.meshgrid(torch.linspace(-WIDTH, WIDTH, 421), torch.linspace(-HEIGHT, HEIGHT, 281), indexing="xy")
    height = energy(torch.stack([x, y], -1).reshape(-1, 2)).reshape(x.shape)
    path = descend(energy, QUERY, steps=STEPS, step_size=STEP_SIZE).states
    low, high = float(height.min()), float(height.max())
    levels = low + (high - low) * torch.linspace(0, 1, 23) ** 1.7  # closer together where it is deep

    figure, ax = plt.subplots(figsize=(9, 6))
    figure.subplots_adjust(0, 0, 1, 1)
    shade = torch.linspace(0, 1, 22).tolist()
    ax.contourf(x, y, height, levels=levels, colors=DEPTHS(shade))
    ax.contour(x, y, height, levels=levels[1:-1], colors="#0b1f3a", linewidths=0.5, linestyles="solid", alpha=0.35)
    for walk in path.unbind(1):
        ax.plot(*walk.T, color="white", lw=2.6, marker="o", ms=6.5, mfc="#E69F00", mec="white", mew=1, zorder=3)
        ax.scatter(*walk[0], s=230, color="#E69F00", edgecolor="white", linewidth=2.2, zorder=4)
    ax.scatter(*MEMORY.T, s=330, marker="*", color="white", edgecolor="#0b1f3a", linewidth=1, zorder=5)
    label = {"fontsize": 15, "fontstyle": "italic", "va": "center"}
    ax.annotate("a query", QUERY[0], (16, 4), textcoords="offset points", color="#0b1f3a", **label)
    ax.annotate("a memory", MEMORY[3], (16, -2), textcoords="offset points", color="white", **label)
    ax.set_axis_off()
    ax.set(xlim=(-WIDTH, WIDTH), ylim=(-HEIGHT, HEIGHT))
    return figure


def card() -> Figure:
    """The same map in the shape of the cards that messengers show beside a link, 1200 by 630, with the course's name on it."""
    figure = draw()
    figure.set_size_inches(12, 6.3)
    figure.set_facecolor("#0b1f3a")
    ax = figure.axes[0]
    ax.set_position([0.475, 0, 0.525, 1])
    ax.set(xlim=(-HEIGHT, HEIGHT))
    for label in list(ax.texts):
        label.remove()
    words = {"x": 0.045, "color": "white", "va": "top", "linespacing": 1.25}
    figure.text(y=0.8, s="Attention\nas Physics", fontsize=50, fontweight="bold", **words)
    figure.text(
        y=0.4, s="Attention is the response\nof a physical system to data.\nEvery claim is checked.", fontsize=24, **words
    )
    return figure


if __name__ == "__main__":
    plt.switch_backend("Agg")
    card().savefig(CARD, dpi=100, metadata={"Software": None})
    print(CARD.name, CARD.stat().st_size // 1024, "KB")
