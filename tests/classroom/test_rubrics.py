"""Numbers in rubrics are what a student reads from the curve that is plotted."""

import math
import re

import build_assignments
import pytest
import torch
from classroom.master import Master

(FIRST,) = (Master.read(path) for path in build_assignments.masters() if path.parent.name == "1-softmax")
FIGURE = next(cell.source for cell in FIRST.cells if "show" in cell.tags and "collapse" in cell.source)
RUBRIC = re.search(
    r"\$Y_2 = 1/2\$: ([\d.]+); a largest weight of one half.* would be ([\d.]+);"
    r" \$Y_2\$ at the dashed line, ([\d.]+), is ([\d.]+)\)"
    r".*ln 4096\} = ([\d.]+)\$ only .* largest slope falls from ([\d.]+) to ([\d.]+)\)",
    FIRST.text,
)


def means(draws, spreads, what):
    """The mean over rows of a number that weights have, at each spread, ``[k]``."""
    return torch.stack([what(torch.softmax(spread * draws, -1)).mean() for spread in spreads])


def participation(weights):
    return weights.square().sum(-1)


def crossing(spreads, curve, level):
    """Where a rising curve first reaches a level, on a straight line between two spreads."""
    after = int((curve >= level).nonzero()[0])
    share = (level - curve[after - 1]) / (curve[after] - curve[after - 1])
    return (spreads[after - 1] + share * (spreads[after] - spreads[after - 1])).item()


def test_read_from_the_curve_of_question_four():
    half, largest, dashed, there = map(float, RUBRIC.groups()[:4])
    draws_of_the_figure, spreads_of_the_figure = FIGURE.splitlines()[:2]
    space = {"torch": torch}
    exec(f"{draws_of_the_figure}\n{spreads_of_the_figure}", space)
    draws, spreads = space["draws"], space["sigmas"]
    curve = means(draws, spreads, participation)
    assert dashed == round(math.sqrt(2 * math.log(draws.shape[-1])), 2)
    assert crossing(spreads, curve, 0.5) == pytest.approx(half, abs=0.03)
    assert crossing(spreads, means(draws, spreads, lambda weights: weights.amax(-1)), 0.5) == pytest.approx(largest, abs=0.05)
    on_the_line = means(draws, torch.tensor([dashed], dtype=torch.float64), participation).item()
    assert on_the_line == pytest.approx(there, abs=0.01)


@pytest.mark.slow
def test_of_more_keys():
    """Slopes between spreads a fifth apart: with so many rows each is known to 0.002."""
    moved, *steepest = map(float, RUBRIC.groups()[4:])
    assert moved == round(math.sqrt(2 * math.log(4096)), 2)
    spreads = torch.arange(1.4, 4.6, 0.2)
    for keys, expected in zip((64, 4096), steepest, strict=True):
        draws = torch.randn(4_000, keys, generator=torch.Generator().manual_seed(1))
        slopes = means(draws, spreads, participation).diff() / spreads.diff()
        assert slopes.max().item() == pytest.approx(expected, abs=0.01)
