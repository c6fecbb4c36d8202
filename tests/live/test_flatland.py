"""Flatland, the live figure of page 3c, as Python sees it."""

import html
import itertools
import json
import math
import re
import warnings
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from helpers.draw import close, normal

from attnlib import ConvergenceWarning, EnergyAttention, SoftmaxAttention, hopfield_energy
from attnlib.hopfield import find_fixed_points

flatland = pytest.importorskip("attnlib.course.live.flatland", reason="anywidget is not installed: pip install -e .[book]")
Flatland, SCENARIOS = flatland.Flatland, flatland.SCENARIOS
VIEW = "application/vnd.jupyter.widget-view+json"
PLACE = [[0.0, 0.0]]

BAD = [
    ({"memories": []}, "memories has 0 points; expected 1 to 32"),
    ({"memories": PLACE * 33}, "memories has 33 points"),
    ({"queries": PLACE * 13}, "queries has 13 points; expected 0 to 12"),
    ({"memories": [[0.0, 3.01]]}, "memories has the point [0.0, 3.01]; expected two numbers between -3 and 3"),
    ({"memories": [[0.0, math.nan]]}, "memories has the point [0.0, nan]"),
    ({"queries": [[0.0]]}, "queries has the point [0.0]"),
    ({"beta": 0}, "beta is 0.0; expected 0 < beta <= 100"),
    ({"beta": math.nan}, "beta is nan"),
    ({"beta": 101}, "beta is 101"),
    ({"step_size": -0.1}, "step_size is -0.1; expected 0 <= step_size <= 2.5"),
    ({"step_size": 2.6}, "step_size is 2.6"),
    ({"steps": -1}, "steps is -1; expected 0 <= steps <= 100"),
    ({"steps": 101}, "steps is 101"),
    ({"out_map": [1.0, 0.0, 0.0]}, "out_map is [1.0, 0.0, 0.0]; expected four finite numbers"),
    ({"out_map": [1.0, 0.0, 0.0, math.inf]}, "out_map is [1.0, 0.0, 0.0, inf]"),
]


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_the_figure_refuses_and_keeps_what_it_had(settings, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Flatland(**settings)
    figure = Flatland(PLACE, PLACE)
    before = figure.state()
    (name, value), *_ = settings.items()
    with pytest.raises(ValueError, match=re.escape(complaint)):
        setattr(figure, name, value)
    assert figure.state() == before


def test_the_figure_takes_tensors():
    figure = Flatland(torch.tensor([[1.0, 2.0]]), torch.zeros(0, 2))
    assert figure.memories == [[1.0, 2.0]]
    assert figure.readout == {name: [] for name in ("states", "energies", "outputs", "rest", "sharing", "nearest")}
    assert "0 states" in figure.alt()


def test_tokens_move_together_and_the_landscape_with_them():
    """Twelve steps of the figure are twelve layers with a residual, one after the other; with one step it is the module."""
    scene = SCENARIOS["self-attention"] | {"beta": 6.0, "steps": 12, "step_size": 0.3}
    said = Flatland(**scene).readout
    tokens = torch.tensor(scene["memories"], dtype=torch.float64)
    layer = EnergyAttention(2, bare=True, beta=6.0, step_size=0.3)
    for step in range(13):
        close(torch.tensor([way[step] for way in said["states"]], dtype=torch.float64), tokens)
        close(torch.tensor([way[step] for way in said["energies"]]), hopfield_energy(tokens, tokens, beta=6.0).float())
        tokens = layer(tokens[None])[0] if step < 12 else tokens
    near = [[math.dist(one, other) <= 0.1 for other in said["rest"]] for one in said["rest"]]
    assert said["sharing"] == [sum(line) for line in near]
    assert 1 < len({tuple(line) for line in near}) < 10


# Where a second valley appears


def test_two_memories_split_at_the_magnets_critical_point():
    pair = [[1.2, -0.9], [-1.2, 0.9]]
    assert flatland.splitting_beta(pair) == pytest.approx(1 / 2.25, rel=2e-4)
    moved = [[x + 0.7, y + 0.4] for x, y in pair]  # a pull to one side: the second valley comes later, by a fold
    assert flatland.splitting_beta(moved) > 1.05 / 2.25


@pytest.mark.parametrize("length", [0.7, 2.0])
def test_three_memories_split_where_a_single_pattern_appears(length):
    """At 120 degrees they are a Potts model: a pattern appears before the average gives way."""
    angle = 2 * math.pi * torch.arange(3, dtype=torch.float64) / 3
    memory = length * torch.stack([angle.cos(), angle.sin()], -1)
    found = flatland.splitting_beta(memory)
    s = torch.linspace(1e-4, 0.9999, 10_000, dtype=torch.float64)
    appears = (((1 + 2 * s) / (1 - s)).log() / s).min().item()
    assert found == pytest.approx(appears / (1.5 * length**2), rel=3e-4)
    gives_way = 1 / torch.linalg.eigvalsh(torch.cov(memory.T, correction=0))[-1].item()
    assert found < 0.95 * gives_way


@pytest.mark.parametrize("seed", range(4))
def test_below_the_split_a_scan_of_the_whole_plane_finds_one_valley_and_above_it_two(seed):
    memory = normal(3 + 2 * seed, 2, seed=seed).clamp(-3, 3)
    found = flatland.splitting_beta(memory)
    side = torch.linspace(-3, 3, 31, dtype=torch.float64)

    def valleys(beta):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rests = find_fixed_points(torch.cartesian_prod(side, side), memory, beta=beta, max_steps=20_000, on_failure="warn")
        assert rests.converged.float().mean() > 0.99
        return int((rests.curvatures > 0).sum())

    assert [valleys(factor * found) for factor in (0.5, 0.9, 0.99)] == [1, 1, 1]
    assert valleys(1.01 * found) >= 2


@pytest.mark.parametrize("memories", [[[1.0, 2.0]], [[1.0, 2.0]] * 3, [[0.1, 0.0], [0.2, 0.0]]])
def test_memories_that_never_split_on_the_slider(memories):
    assert flatland.splitting_beta(memories) is None


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenes_are_what_the_modules_do(name):
    """The descent and its output are those of EnergyAttention with this map at its end."""
    scene = SCENARIOS[name]
    memory = torch.tensor(scene["memories"], dtype=torch.float64)[None]
    own = "self_attention" in scene
    start = memory if own else torch.tensor(scene["queries"], dtype=torch.float64)[None]
    module = EnergyAttention(2, bare=True, beta=scene["beta"], step_size=scene["step_size"], steps=scene["steps"])
    end = module(start, None if own else memory)[0]
    readout = Flatland(**scene).readout
    close(torch.tensor([way[-1] for way in readout["states"]], dtype=torch.float64), end)
    out_map = torch.tensor(scene.get("out_map", [1.0, 0.0, 0.0, 1.0]), dtype=torch.float64).reshape(2, 2)
    close(torch.tensor(readout["outputs"], dtype=torch.float64), end @ out_map.T)
    if scene["steps"] == 1:
        softmax_attention = SoftmaxAttention(2, bare=True, beta=scene["beta"])
        close(softmax_attention(start, None if own else memory)[0], end)


def test_what_a_scene_shows():
    readouts = {name: Flatland(**scene).readout for name, scene in SCENARIOS.items()}
    ends = {name: torch.tensor([way[-1] for way in readout["states"]]) for name, readout in readouts.items()}
    starts = torch.tensor(SCENARIOS["cold"]["queries"])
    assert len(readouts) == 7
    assert (ends["small steps"] - starts).norm(dim=-1).max() < 0.3
    assert torch.pdist(ends["ten big steps"]).max() < 0.01
    assert set(readouts["hot"]["sharing"]) == {10}
    assert set(readouts["cold"]["sharing"]) == {1}
    assert len(set(readouts["cold"]["nearest"])) > 2
    assert len(readouts["self-attention"]["states"]) == 10


def test_rest_is_not_claimed_where_it_is_not_reached():
    critical = Flatland([[1.0, 0.0], [-1.0, 0.0]], [[0.5, 0.0]], beta=1.0, steps=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert critical.readout["sharing"] == [0]


def test_a_notebook_gets_a_small_page_that_is_the_same_every_time():
    data = [Flatland(**SCENARIOS["with maps"])._repr_mimebundle_()[0] for _ in range(2)]
    assert data[0].pop(VIEW) != data[1].pop(VIEW)
    assert data[0] == data[1]
    largest = Flatland(normal(32, 2).clamp(-3, 3).mul(100).round() / 100, normal(12, 2, seed=1).clamp(-3, 3), beta=100)
    assert len(json.dumps(largest._repr_mimebundle_()[0])) < 60_000
    page = data[0]["text/html"]
    state = json.loads(html.unescape(re.search(r'data-state="([^"]*)"', page)[1]))
    assert state == Flatland(**SCENARIOS["with maps"]).state()
    assert set(re.findall(r"[a-z]+://[^\"'%\s]+", page)) == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_still_picture_is_drawn_from_the_numbers(name):
    figure = Flatland(**SCENARIOS[name])
    picture = ElementTree.fromstring(figure.still())
    space = "{http://www.w3.org/2000/svg}"
    circles = [float(circle.get(name)) for circle in picture.iter(f"{space}circle") for name in ("cx", "cy")]
    starts = figure.memories if figure.self_attention else figure.queries
    assert circles == pytest.approx([z for x, y in starts for z in (60 * (x + 3), 60 * (3 - y))], abs=0.06)
    runs = itertools.chain.from_iterable(
        re.findall(r"h(\d+)", path.get("d")) for path in picture.iter(f"{space}path") if "h" in path.get("d")
    )
    assert sum(map(int, runs)) == 24 * 360  # the rows of the landscape are full
    assert f"beta {figure.beta:.4g}" in figure.alt()


def test_a_descent_that_runs_away_can_be_drawn():
    figure = Flatland([[1.0, 0.0]], [[2.0, 1.0]], step_size=2.5, steps=100)
    assert abs(figure.readout["states"][0][-1][0]) > 1e10
    assert len(figure.still()) < 20_000
