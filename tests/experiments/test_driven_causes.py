"""What is changed in a driven network to tell causes from what goes with them."""

import json

import driven_causes as script
import pytest
import specimen_norms as norms
import torch
from examinations import Asked
from helpers.specimen_records import is_whole

from attnlib.course import recorded
from attnlib.course.models.specimens import NETWORKS, specimen, trained_specimen
from attnlib.kinetic import exact_kinetic

SMALL = script.QUICK
RECORD = recorded("driven_causes")


def network(name):
    torch.manual_seed(1)
    return specimen(name, **SMALL["sizes"]).eval()


@pytest.mark.slow
def test_a_small_record_is_whole(tmp_path, unchecked):
    for name in NETWORKS:
        torch.save(network(name).state_dict(), tmp_path / f"{name}-1.pt")
    target = tmp_path / "driven_causes.json"
    script.main(["--quick", "--weights", str(tmp_path), "--output", str(target)])
    runs = json.loads(target.read_text(encoding="utf-8"))["runs"]
    assert [(run["network"], run["seed"]) for run in runs] == [(name, 1) for name in NETWORKS]
    for run in runs:
        assert ("doubly" in run["arrows"]) == (run["network"] != "causal") == ("unheaded" not in run["arrows"])
        assert len(run["held"]) == len(SMALL["at"])


def test_rows_and_columns_sum_to_one_and_symmetric_weights_have_no_arrow_then():
    scores = torch.randn(2, 7, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    even, real = scores + scores.mT, torch.ones(7)
    real[5:] = 0
    J = (even.exp() * real) / (even.exp() * real).sum(-1, keepdim=True) * real[:, None]
    assert exact_kinetic(J).entropy_production.min() > 1e-3
    found = script.doubly(J, 1000)
    for axis in (-2, -1):
        assert torch.allclose(found.sum(axis), real.double().expand(2, 7))
    assert exact_kinetic(found).entropy_production.abs().max() < 1e-12


def test_dealt_rows_keep_their_amounts_and_what_a_token_gives_itself(unchecked):
    few, generator = Asked("causal", SMALL), torch.Generator().manual_seed(0)
    J = script.couplings(network("causal"), few)
    seen = (few.real[:, :, None] & few.real[:, None]).tril(-1)[:, None].expand(J.shape)
    found = script.shuffled(J, seen, generator)
    assert torch.equal(found.sort(-1).values, J.sort(-1).values)
    assert torch.equal(found[~seen], J[~seen])
    assert not torch.equal(found, J)
    tall = torch.arange(36.0).reshape(1, 6, 6).expand(4000, 6, 6)
    others = ~torch.eye(6, dtype=torch.bool).expand(4000, 6, 6)
    mean = script.shuffled(tall, others, generator).mean(0)[0]
    assert mean[1:].sub(3.0).abs().max() < 0.12  # one to five, each as often: five errors
    assert mean[0] == 0


def test_the_first_token_is_let_go_and_no_other():
    J = torch.arange(1.0, 10.0).reshape(1, 3, 3)
    assert script.unheaded(J).tolist() == [[[0, 0, 0], [4, 5, 6], [7, 8, 9]]]


def test_the_epsilon_of_a_temperature_is_its_own_where_all_tokens_are_alike():
    """Norms of tokens with one variance: then both curves are the same; else only near."""
    norm, generator = torch.nn.LayerNorm(64), torch.Generator().manual_seed(0)
    x = torch.randn(9, 64, generator=generator)
    x = 1.7 * (x - x.mean(-1, keepdim=True)) / x.var(-1, correction=0, keepdim=True).sqrt()
    k, e = 1.7**2, 0.8
    warm = norms.Warm(norm, 1 / (e * k**0.5))(x)
    norm.eps = (e**2 / 2 + e * (1 + e**2 / 4) ** 0.5) * k
    assert torch.allclose(warm, norm(x), atol=1e-5)


def test_curves_have_a_third_line(unchecked):
    found = script.curves(network("tied"), Asked("tied", SMALL), SMALL)
    assert {len(found[name]) for name in ("shares", "epsilon", "temperature", "matched")} == {1}
    assert found["matched"] != found["epsilon"]


@pytest.mark.slow
def test_held_weights_leave_nothing_but_the_noise(unchecked):
    """Where weights do not move the two agree whatever the scores are."""
    torch.manual_seed(1)
    model = specimen("tied", **SMALL["sizes"] | {"dim": 128}).eval()
    found = norms.shaken(model, Asked("tied", SMALL, 3), 0, SMALL | {"draws": 200}, seed=1, held=True)
    assert found["measured"] == pytest.approx(found["told"], rel=0.03)


def test_the_committed_record_has_what_the_script_asks_for():
    is_whole(RECORD, script)
    for run in RECORD["runs"]:
        assert all(len(by_step) == 8 for by_step in run["arrows"].values())
        assert [one["step"] for one in run["held"]] == script.SETTINGS["at"]
        assert run["norms"]["shares"] == script.SETTINGS["shares"]


def test_both_records_say_the_same_of_the_same():
    """Arrows from other films, curves where both have a share: epsilons of 0.2 and 0.5."""
    other = {(run["network"], run["seed"]): run for run in recorded("driven_specimens")["runs"]}
    for run in RECORD["runs"]:
        beside = other[run["network"], run["seed"]]
        arrow = torch.tensor(beside["arrows"]["arrow"]).mean(-1)
        torch.testing.assert_close(torch.tensor(run["arrows"]["arrow"]), arrow, rtol=0.03, atol=5e-4)
        for name, share in (("epsilon", 0.2), ("epsilon", 0.5), ("temperature", 0.5)):
            here = run["norms"][name][run["norms"]["shares"].index(share)]
            there = beside["norms"][name][beside["norms"]["shares"].index(share)]
            assert here == pytest.approx(there, rel=1e-2, abs=1e-5)


@pytest.mark.whole
def test_tied_1_changed_again(unchecked):
    """From the weights that ship, in half precision."""
    wanted = next(run for run in RECORD["runs"] if (run["network"], run["seed"]) == ("tied", 1))
    model = trained_specimen(recorded("specimen_weights"))
    with torch.no_grad():
        found = script.arrows_under(model, "tied", script.SETTINGS, 1)
        again = norms.shaken(model, Asked("tied", script.SETTINGS, 12), 0, script.SETTINGS, 1, held=True)
    for name, by_step in wanted["arrows"].items():
        assert found[name] == pytest.approx(by_step, rel=0.05), name
    assert again["measured"] == pytest.approx(wanted["held"][0]["measured"], rel=0.03)
