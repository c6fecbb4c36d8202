"""The score lab from Python: its draws, its numbers against definitions, what it refuses, what a notebook is given."""

import html
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from helpers.draw import close

pytest.importorskip("anywidget", reason="anywidget is not installed: pip install -e .[book]")

import traitlets

from attnlib.course.live import FigureError, ScoreLab
from attnlib.softmax import freezing_width

SIXTY_KB = 60_000
BAD = [
    ({"dimension": 1}, "dimension is 1; expected an integer from 2 to 512"),
    ({"dimension": 513}, "dimension is 513"),
    ({"count": 1}, "count is 1; expected an integer from 2 to 512"),
    ({"count": 513}, "count is 513"),
    ({"correlation": -0.01}, "correlation is -0.01; expected 0 <= correlation <= 1"),
    ({"correlation": 1.01}, "correlation is 1.01"),
    ({"correlation": math.nan}, "correlation is nan"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": 2**31}, "seed is 2147483648"),
]
CASES = [
    {},
    {"dimension": 512, "count": 512, "scaled": True},
    {"dimension": 512, "count": 300, "correlation": 1, "seed": 9},
    {"dimension": 2, "count": 2, "correlation": 0.3, "seed": 5},
    {"dimension": 37, "count": 100, "correlation": 0.7, "scaled": True, "seed": 2},
]


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_refuses_and_keeps_the_old_value(settings, complaint):
    with pytest.raises(FigureError, match=re.escape(complaint)) as refused:
        ScoreLab(**settings)
    assert isinstance(refused.value, ValueError)
    figure = ScoreLab(8, 9, 0.5, scaled=True, seed=4)
    (name, value), *_ = settings.items()
    with pytest.raises(FigureError, match=re.escape(complaint)):
        setattr(figure, name, value)
    assert figure.state() == {"correlation": 0.5, "count": 9, "dimension": 8, "scaled": True, "seed": 4}


@pytest.mark.parametrize(("name", "value"), [("dimension", 2.5), ("count", "many"), ("scaled", "yes"), ("seed", 0.5)])
def test_refuses_other_kinds(name, value):
    with pytest.raises(traitlets.TraitError, match=name):
        setattr(ScoreLab(), name, value)


def test_what_comes_back_from_the_browser_is_taken():
    figure = ScoreLab()
    figure.set_state({"dimension": 16, "count": 7, "correlation": 1, "scaled": True, "seed": 3})
    assert figure.state() == {"correlation": 1.0, "count": 7, "dimension": 16, "scaled": True, "seed": 3}


# The draw


def test_a_smaller_draw_is_the_beginning_of_a_larger_one():
    query, key = ScoreLab(512, 512, seed=6).draw()
    narrow, few = ScoreLab(16, 9, seed=6).draw()
    assert torch.equal(narrow, query[:, :16])
    assert torch.equal(few, key[:9, :16])
    assert not torch.equal(ScoreLab(16, 9, seed=7).draw()[1], few)


def test_a_figure_does_not_change_the_draw_of_the_next():
    plain = ScoreLab(16, 9, seed=6).draw()[1]
    bound = ScoreLab(16, 9, 1, seed=6)
    close(bound.draw()[1][0], bound.draw()[0][0], atol=0)
    assert torch.equal(ScoreLab(16, 9, seed=6).draw()[1], plain)


def test_entries_are_independent_normal_numbers():
    """Four standard errors each, for 262,144 numbers of one seed."""
    _, key = ScoreLab(512, 512, seed=1).draw()
    error = 4 / math.sqrt(key.numel())
    assert abs(key.mean()) < error
    assert abs(key.var() - 1) < math.sqrt(2) * error
    assert abs(key.pow(4).mean() - 3) < math.sqrt(96) * error
    assert abs((key[:, 1:] * key[:, :-1]).mean()) < error
    assert abs((key[1:] * key[:-1]).mean()) < error
    distance = (key.flatten().sort().values - torch.special.ndtri((torch.arange(key.numel()) + 0.5) / key.numel())).abs()
    assert distance[1000:-1000].max() < 0.06


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.6, 1.0])
def test_the_marked_key_has_the_correlation_and_its_score_the_moments(correlation):
    """300 draws of one seed each: mean and variance within four standard errors of d rho and d (1 + rho^2)."""
    width, draws = 24, 300
    figures = [ScoreLab(width, 2, correlation, seed=seed) for seed in range(draws)]
    found = [(figure.readout, torch.cat([figure.draw()[0], figure.draw()[1][:1]])) for figure in figures]
    said = found[0][0]
    scores = torch.tensor([readout["scores"][0] for readout, _ in found], dtype=torch.float64)
    assert said["marked_law"] == pytest.approx(width * correlation, abs=1e-12)
    assert said["marked_sigma"] ** 2 == pytest.approx(width * (1 + correlation**2), abs=1e-9)
    assert abs(scores.mean() - said["marked_law"]) < 4 * said["marked_sigma"] / math.sqrt(draws)
    assert scores.var().item() == pytest.approx(said["marked_sigma"] ** 2, rel=4 * math.sqrt(3 / draws))
    measured = torch.corrcoef(torch.cat([pair for _, pair in found], -1))[0, 1].item()
    assert measured == pytest.approx(correlation, abs=4 / math.sqrt(width * draws))


# The numbers


@pytest.mark.parametrize("settings", CASES)
def test_readout_against_definitions(settings):
    figure = ScoreLab(**settings)
    said, (query, key) = figure.readout, figure.draw()
    root = math.sqrt(figure.dimension)
    scores = torch.einsum("d,kd->k", query[0], key) / (root if figure.scaled else 1)
    law = torch.distributions.Categorical(logits=scores)
    tight = {"rel": 1e-9, "abs": 1e-11}
    assert said["scores"] == pytest.approx(scores.tolist(), **tight)
    assert said["weights"] == pytest.approx(law.probs.tolist(), **tight)
    assert said["entropy"] == pytest.approx(law.entropy().item(), abs=1e-7)
    assert said["entropy_ratio"] * math.log(figure.count) == pytest.approx(said["entropy"], **tight)
    assert 1 / said["effective_keys"] == pytest.approx(said["participation"], **tight)
    assert said["participation"] == pytest.approx((law.probs @ law.probs).item(), **tight)
    assert figure.count ** said["liquid"] == pytest.approx(said["effective_keys"], **tight)
    assert said["largest"] == max(said["weights"])
    assert said["rank"] == sorted(said["scores"], reverse=True).index(said["scores"][0]) + 1
    others = scores[1:]
    assert said["mean"] == pytest.approx(others.sum().item() / len(others), **tight)
    assert said["sigma"] ** 2 == pytest.approx((others**2).mean().item() - said["mean"] ** 2, rel=1e-9, abs=1e-9)
    assert said["sigma_law"] == pytest.approx(1 if figure.scaled else root, **tight)
    assert said["sigma_query"] == pytest.approx(query.square().sum().sqrt().item() * said["sigma_law"] / root, **tight)
    assert math.exp(said["sigma_c"] ** 2 / 2) == pytest.approx(figure.count, **tight)
    assert sum(said["counts"]) == figure.count - 1
    edges = said["sigma_law"] / 2 * (said["first_bin"] + torch.arange(len(said["counts"]) + 1, dtype=torch.float64))
    assert said["counts"] == torch.histogram(others, edges).hist.tolist()
    assert edges[0] <= min(scores.min(), -4 * said["sigma_law"])
    assert edges[-1] >= max(scores.max(), 4 * said["sigma_law"], said["marked_law"] + said["marked_sigma"])


@pytest.mark.slow
def test_the_spread_is_what_theory_expects():
    """Over 80 draws the mean square of the others' scores is the width, and that of one draw the query's square."""
    found = [ScoreLab(32, 33, seed=seed).readout for seed in range(80)]
    squares = torch.tensor([said["sigma"] ** 2 + said["mean"] ** 2 for said in found])
    given = torch.tensor([said["sigma_query"] ** 2 for said in found])
    assert squares.mean().item() == pytest.approx(32, rel=4 * math.sqrt((2 / 32 + 2 / 32) / 80))
    assert (squares / given - 1).abs().max() < 5 * math.sqrt(2 / 32)
    means = torch.tensor([said["mean"] for said in found])
    assert means.square().mean().sqrt().item() == pytest.approx(found[0]["mean_error"], rel=4 / math.sqrt(2 * 80))


def test_unscaled_attention_freezes_at_twice_the_logarithm_and_scaled_attention_does_not():
    assert freezing_width(500) == pytest.approx(ScoreLab(8, 500).readout["sigma_c"] ** 2)
    narrow, wide = ([ScoreLab(width, 500, seed=seed).readout["liquid"] for seed in range(9)] for width in (2, 200))
    narrow, wide = (sum(shares) / 9 for shares in (narrow, wide))
    assert narrow > 0.7 > 0.2 > wide
    wide = [ScoreLab(512, 64, scaled=scaled).readout["effective_keys"] for scaled in (False, True)]
    assert wide[0] < 2 < 20 < wide[1]


# What a notebook is given


@pytest.mark.parametrize("settings", CASES)
def test_a_notebook_gets_a_small_page_that_is_the_same_every_time(settings):
    figure = ScoreLab(**settings)
    data, metadata = figure._repr_mimebundle_()
    data = data | metadata
    assert len(json.dumps(data)) < SIXTY_KB
    assert data["text/html"] == ScoreLab(**settings).page()
    assert re.fullmatch(r"ScoreLab\(correlation=.*, count=\d+, dimension=\d+, scaled=\w+, seed=\d\)", data["text/plain"])
    assert json.loads(html.unescape(re.search(r'data-state="([^"]*)"', data["text/html"])[1])) == figure.state()
    assert set(re.findall(r"https?://[^\"'%\s]+", data["text/html"])) == {"http://www.w3.org/2000/svg"}  # a name, not a place


@pytest.mark.parametrize("settings", CASES)
def test_the_still_picture_is_drawn_from_the_same_numbers(settings):
    figure = ScoreLab(**settings)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    words = " ".join(text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text"))
    assert f"by theory {said['sigma_law']:.2f}; freezing at {said['sigma_c']:.2f}" in words
    assert f"keys {said['effective_keys']:.2f} of {figure.count}" in words
    paths = {path.get("fill"): path.get("d") for path in drawn.iter("{http://www.w3.org/2000/svg}path")}
    tall = [float(height) for height in re.findall(r"v-([\d.]+)h", paths["#0072b2"])]
    reach = 2 * 40 / said["sigma_law"]  # of the axis, in bins
    counts = [n for i, n in enumerate(said["counts"]) if n and abs(said["first_bin"] + i + 0.5) + 0.4 <= reach]
    assert [height / tall[0] for height in tall] == pytest.approx([count / counts[0] for count in counts], rel=0.15)
    largest = sorted(said["weights"], reverse=True)[:32]
    heights = [float(height) / 144 for height in re.findall(r"v-([\d.]+)h", paths["#d55e00"])]
    assert heights == pytest.approx([weight / said["largest"] for weight in largest], abs=0.001)
    green = re.findall(r"v-([\d.]+)h", paths["#009e73"])
    assert len(green) == (said["rank"] <= 32)
    assert f"{said['largest']:.2f}" in figure.alt()
    assert html.escape(figure.alt()) in page
