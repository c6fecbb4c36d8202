"""The drawings that pages share: what they put on the axes, and what they refuse."""

import matplotlib as mpl
import pytest
import torch

mpl.use("Agg")
import matplotlib.pyplot as plt

from attnlib.course import plots
from attnlib.course.data import Pair

PAIR = Pair(("guten", "Tag"), ("good", "day", "."), frozenset({(0, 0), (1, 1)}))


@pytest.fixture(autouse=True)
def closed():
    """Neither figures nor the style are left to tests that follow."""
    with mpl.rc_context():
        yield
    plt.close("all")


def test_panels_stand_below_each_other_and_have_a_label_each():
    """As wide as any figure of the style: its words are as large on a phone."""
    plots.use_style()
    figure, axes = plots.panels("width", "error", "spread", "BLEU", height=2)
    assert figure.get_size_inches().tolist() == [plt.figure().get_figwidth(), 6]
    figure.canvas.draw()
    boxes = [ax.get_position() for ax in axes]
    assert boxes[0].y0 > boxes[1].y1 > boxes[1].y0 > boxes[2].y1
    assert max(box.x0 for box in boxes) == pytest.approx(min(box.x0 for box in boxes))
    assert [ax.get_ylabel() for ax in axes] == ["error", "spread", "BLEU"]
    assert [ax.get_xlabel() for ax in axes] == ["", "", "width"]
    axes[0].set(xlim=(2, 5), ylim=(3, 4))
    assert axes[2].get_xlim() == (2, 5)
    assert axes[2].get_ylim() != (3, 4)
    assert len(plots.panels("width", "error")[1]) == 1


def test_panels_share_across_and_up_only_if_asked():
    _, (upper, lower) = plots.panels("width", "error", "spread", sharex=False, sharey=True)
    upper.set(xlim=(2, 5), ylim=(3, 4))
    assert upper.get_xlabel() == lower.get_xlabel() == "width"
    assert lower.get_xlim() != (2, 5)
    assert lower.get_ylim() == (3, 4)


def test_ticks_are_the_values_and_no_others():
    _, (left, right) = plots.panels("width", "error", "spread", sharex=False)
    for ax in (left, right):
        ax.loglog([32, 256], [0.05, 0.4])
    untouched = right.get_yticks().tolist()
    plots.ticks(left, (32, 64), (0.05, 0.4))
    plots.ticks(right, (32, 64, 128))
    assert [text.get_text() for text in left.get_yticklabels()] == ["0.05", "0.4"]
    assert left.get_yticks(minor=True).tolist() == []
    assert right.get_xticks().tolist() == [32, 64, 128]
    assert right.get_yticks().tolist() == untouched


def test_an_alignment_has_a_cell_for_each_weight_and_a_ring_for_each_link():
    weights = torch.rand(3, 2, generator=torch.Generator().manual_seed(0))
    _, (left, right) = plt.subplots(1, 2)
    plots.alignment(left, weights, PAIR)
    plots.alignment(right, weights, PAIR, rings=False)
    assert torch.equal(torch.tensor(left.images[0].get_array().data), weights)
    assert sorted(zip(*left.lines[0].get_data(), strict=True)) == [(0, 0), (1, 1)]
    assert [text.get_text() for text in left.get_yticklabels()] == ["good", "day", "."]
    assert not right.lines


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="ylabels is empty"):
        plots.panels("width")
    with pytest.raises(ValueError, match=r"weights has shape \(2, 3\); expected \(3, 2\)"):
        plots.alignment(plt.gca(), torch.zeros(2, 3), PAIR)
    with pytest.raises(ValueError, match=r"expected .left, right, bottom, top. with left < right"):
        plots.grid((1.0, 0.0, 0.0, 1.0))
