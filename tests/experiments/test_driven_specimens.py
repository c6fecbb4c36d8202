"""The recorder of page 7d's networks as driven systems."""

import json

import driven_specimens as script
import pytest
import specimen_arrows as arrows
import specimen_films as films
import specimen_norms as norms
import torch
from examinations import Asked
from helpers.specimen_records import is_whole

from attnlib.course import recorded
from attnlib.course.models.specimens import NETWORKS, specimen, trained_specimen
from attnlib.kinetic import exact_kinetic

SMALL = script.QUICK
RECORD = recorded("driven_specimens")


def network(name):
    torch.manual_seed(1)
    return specimen(name, **SMALL["sizes"]).eval()


@pytest.mark.slow
def test_a_small_record_is_whole(tmp_path, unchecked):
    for name in NETWORKS:
        torch.save(network(name).state_dict(), tmp_path / f"{name}-1.pt")
    target = tmp_path / "driven_specimens.json"
    asked = ["--quick", "--weights", str(tmp_path), "--output", str(target)]
    script.main(asked)
    runs = json.loads(target.read_text(encoding="utf-8"))["runs"]
    assert [(run["network"], run["seed"]) for run in runs] == [(name, 1) for name in NETWORKS]
    for run in runs:
        assert run["before"]["lowest"] == run["arrows"]["lowest"]  # nothing was trained
        assert ("even" in run["arrows"]) == (run["network"] != "causal")
        assert (run["films"] is None) == (run["network"] == "untied")
        assert len(run["norms"]["shaken"]) == len(SMALL["at"])
    before = target.read_text(encoding="utf-8")
    script.main(asked)  # nothing is missing
    assert target.read_text(encoding="utf-8") == before


def test_the_arrow_of_films_is_that_of_all_states():
    """Eight spins with softmax couplings, and eight of which two are filling and turn by chance."""
    J = (1.5 * torch.randn(2, 8, 8, generator=torch.Generator().manual_seed(0))).softmax(-1)
    J[1, 6:], J[1, :, 6:] = 0.0, 0.0
    truth = exact_kinetic(J.double()).entropy_production
    settings = {"films": 400, "before": 50, "frames": 100}
    found = torch.stack([arrows.arrows(J, settings, torch.Generator().manual_seed(seed)) for seed in range(6)])
    error = found.std(0) / 6**0.5
    assert ((found.mean(0) - truth).abs() < 4 * error).all()
    assert (error < 0.01 * truth.clamp(min=0.1)).all()


def test_couplings_are_weights_and_even_ones_come_of_even_scores(unchecked):
    model, asked = network("tied"), Asked("tied", SMALL)
    J, even = arrows.couplings(model, asked), arrows.couplings(model, asked, even=True)
    rows = asked.real[None, :, None].expand(J.shape[:-1])
    for one in (J, even):
        assert torch.allclose(one.sum(-1)[rows], torch.ones(()), atol=1e-5)
        assert (one[~rows] == 0).all()
        assert (one * ~asked.real[None, :, None, None, :]).abs().max() < 1e-6
    pairs = asked.real[None, :, None, :, None] & asked.real[None, :, None, None, :]
    logs = torch.where(pairs, even.clamp(min=1e-30).log(), 0.0)
    turned = logs - logs.mT  # differs by what the rows' norms differ, and by nothing else
    i, j, k = 0, 1, 2
    assert (turned[..., i, j] + turned[..., j, k] + turned[..., k, i]).abs().max() < 1e-4
    assert (logs - logs.mT)[..., i, j].abs().max() > 1e-3


def test_films_from_one_string_stay_one_and_small_differences_grow_by_the_exponent(unchecked):
    model, asked = network("tied"), Asked("tied", SMALL, 2)
    start = torch.where(asked.real[..., None], model.embed(asked.tokens), 0.0).double()
    model.double()
    rate = torch.tensor(films.exponent(model, start, asked.real, 0.0, {"exponent": [0, 12]}, seed=0))
    kept = asked.real[..., None]

    def step(x):
        return torch.where(kept, model.stack.step(x, 0, mask=asked.real[:, None]), 0.0)

    vector = torch.randn(start.flatten(1).shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    near = start + 1e-7 * (vector / vector.norm(dim=-1, keepdim=True)).reshape(start.shape)
    for _ in range(12):
        start, near = step(start), step(near)
    grown = ((near - start).flatten(1).norm(dim=-1) / 1e-7).log() / 12
    assert torch.allclose(grown, rate.double(), atol=1e-4)


def test_pairs_have_one_length(unchecked):
    asked, pairs = films.pairs_of("tied", SMALL)
    assert pairs.shape == (SMALL["pairs"], 2)
    assert (asked.real[pairs[:, 0]] == asked.real[pairs[:, 1]]).all()
    assert (pairs[:, 0] != pairs[:, 1]).all()


def test_a_cold_response_is_a_norm_and_a_warm_one_shrinks(unchecked):
    model, asked = network("untied"), Asked("untied", SMALL)
    norm, x = norms.norms_of(model)[0][2], torch.randn(5, SMALL["sizes"]["dim"])
    assert torch.allclose(norms.Warm(norm, 1e6)(x), norm(x), atol=1e-4)
    u = x - x.mean(-1, keepdim=True)
    k = u.square().mean(-1, keepdim=True)
    q = norms.Warm(norm, 0.7)(x)  # the root of a (1/beta + k a) = 1, which makes the length of a vector spin
    a = (q / u)[:, :1]
    assert torch.allclose(a / 0.7 + k * a**2, torch.ones_like(a), atol=1e-4)
    before = model(asked.tokens, asked.real)
    with norms.with_epsilon(model, [1.0] * 4):
        raised = model(asked.tokens, asked.real)
    with norms.with_temperature(model, [0.5] * 4):
        warm = model(asked.tokens, asked.real)
    assert (raised - before).abs().max() > 0.01 < (warm - before).abs().max()
    assert torch.equal(model(asked.tokens, asked.real), before)  # all is as it was


@pytest.mark.slow
def test_noise_shortens_the_mean_as_its_variance_says(unchecked):
    """Without weights that move: attention whose maps to queries are zero, in many components."""
    torch.manual_seed(1)
    model = specimen("tied", **SMALL["sizes"] | {"dim": 128}).eval()
    with torch.no_grad():
        model.stack.blocks[0].mixer.to_query.weight.zero_()
    found = norms.shaken(model, Asked("tied", SMALL, 3), 0, SMALL | {"draws": 200}, seed=1)
    assert found["measured"] == pytest.approx(found["told"], rel=0.03)
    assert found["within a quarter"] == 1.0
    assert 0 < found["others"] < 0.1


# --- the committed record ---


def test_the_committed_record_has_what_the_script_asks_for():
    is_whole(RECORD, script)
    for run in RECORD["runs"]:
        grids = ("arrow", "lowest", "closed", "participation", "antisymmetric_share", "ablation")
        for name in grids + (("even",) if run["network"] != "causal" else ()):
            assert torch.tensor(run["arrows"][name]).shape == (8, 8)
        assert run["arrows"]["rested"] == 1.0  # no closure is read on its way
        assert (run["films"] is None) == (run["network"] == "untied")
        assert [one["step"] for one in run["norms"]["shaken"]] == script.SETTINGS["at"]
        assert len(run["norms"]["epsilon"]) == len(run["norms"]["temperature"]) == len(script.SETTINGS["shares"])


def test_tied_1_measured_again_from_the_weights_that_ship(unchecked):
    """In half precision: what its norms are worth, its mapper, and arrows to lowest order; films few, so within a tenth."""
    wanted = next(run for run in RECORD["runs"] if (run["network"], run["seed"]) == ("tied", 1))
    model, settings = trained_specimen(recorded("specimen_weights")), script.SETTINGS | {"strings": 40}
    with torch.no_grad():
        J, few = arrows.couplings(model, Asked("tied", script.SETTINGS, 12)), Asked("tied", script.SETTINGS, 12)
        lowest = arrows.arrow_estimate(J).double() * J.shape[-1] / few.real.sum(-1)[:, None]
        again = norms.curves(model, Asked("tied", settings), settings | {"shares": [0.5]})
    torch.testing.assert_close(lowest.mean(1), torch.tensor(wanted["arrows"]["lowest"]).double(), rtol=0.02, atol=1e-4)
    place = settings["shares"].index(0.5)
    assert again["own"] == pytest.approx(wanted["norms"]["own"], rel=0.02)
    for name in ("epsilon", "temperature"):
        assert again[name][0] == pytest.approx(wanted["norms"][name][place], rel=0.5)


@pytest.mark.whole
def test_arrows_of_tied_1_measured_again(unchecked):
    """Every head at every step from films, once more, of the weights that ship."""
    wanted = next(run for run in RECORD["runs"] if (run["network"], run["seed"]) == ("tied", 1))["arrows"]
    found = arrows.arrow_of(trained_specimen(recorded("specimen_weights")), "tied", script.SETTINGS, 1, trained=True)
    for name in ("arrow", "lowest", "closed", "even"):
        torch.testing.assert_close(torch.tensor(found[name]), torch.tensor(wanted[name]), rtol=0.05, atol=1e-3)
    assert found["mapper"]["head"] == wanted["mapper"]["head"]
    assert found["ranks"]["lowest"] == pytest.approx(wanted["ranks"]["lowest"], abs=0.01)
