"""The recorder of what page 7d's specimens are under the instruments."""

import json

import examinations as script
import pytest
import specimens
import torch
from helpers.specimen_records import is_whole

from attnlib.course import recorded
from attnlib.course.models.interventions import watched
from attnlib.course.models.specimens import NETWORKS, specimen, trained_specimen

RECORD = recorded("examinations")


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A folder with a network of each kind, as drawn."""
    folder = tmp_path_factory.mktemp("weights")
    for name in NETWORKS:
        torch.manual_seed(1)
        torch.save(specimen(name, **script.QUICK["sizes"]).state_dict(), folder / f"{name}-1.pt")
    return folder


@pytest.mark.slow
def test_a_small_record_is_whole(weights, tmp_path, unchecked):
    target = tmp_path / "examinations.json"
    asked = ["--quick", "--weights", str(weights), "--output", str(target)]
    script.main(asked)
    runs = json.loads(target.read_text(encoding="utf-8"))["runs"]
    assert [(run["network"], run["seed"]) for run in runs] == [(name, 1) for name in NETWORKS]
    for run in runs:
        assert run["before"]["spread"] == run["after"]["spread"]  # nothing was trained
        assert run["loss"] == pytest.approx(run["after"]["loss"], rel=1e-3)
        best = max(max(row) for row in run["mapping"])
        assert run["mapping"][run["mapper"]["step"] - 1][run["mapper"]["head"] - 1] == best == run["mapper"]["right"]
        assert set(run["rules"]["mapper"]) == set(run["rules"]["all"]) == set(script.RULES)
        assert (run["rest"] is None) == (run["network"] == "untied")
        told = {factor: (u, loss) for factor, u, loss in run["temperature"]["curve"]}
        assert told[1.0] == tuple(run["temperature"]["own"])
    before = target.read_text(encoding="utf-8")
    script.main(asked)  # nothing is missing
    assert target.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("network", NETWORKS)
def test_what_is_asked_is_what_was_learned(network, unchecked):
    """The loss is that of the script which trained the network, on other strings; right keys hold what is looked for."""
    torch.manual_seed(1)
    model, asked = specimen(network, **script.QUICK["sizes"]), script.Asked(network, script.QUICK)
    drawn = specimens.strings_of(script.QUICK["drawn"], script.QUICK["strings"], script.QUICK["share"])
    seen = watched(model, asked.tokens, asked.real)
    assert asked.loss(seen.logits) == pytest.approx(specimens.losses_of(model, network, *drawn).mean().item(), rel=1e-5)
    text, row = (asked.right >= 0).nonzero()[0].tolist()
    wanted = drawn[0].tokens[text, row + (network == "causal")]
    assert asked.tokens[text, asked.right[text, row]] == wanted


def test_where_u_is_one():
    curve = [[0.5, 0.7, 1.0], [1.0, 0.9, 1.0], [2.0, 1.1, 1.0], [4.0, 0.8, 1.0]]
    assert script.crossing(curve) == pytest.approx(2**0.5)
    assert script.crossing(curve[:2]) is None


# --- the committed record ---


def test_the_committed_record_has_what_the_script_asks_for():
    is_whole(RECORD, script)
    for run in RECORD["runs"]:
        best = max(max(row) for row in run["mapping"])
        assert run["mapping"][run["mapper"]["step"] - 1][run["mapper"]["head"] - 1] == best == run["mapper"]["right"]
        assert set(run["rules"]["mapper"]) == set(run["rules"]["all"]) == set(script.RULES)
        assert [row[0] for row in run["temperature"]["curve"]] == pytest.approx(script.FACTORS, rel=1e-3)
        assert (run["rest"] is None) == (run["network"] == "untied")


@pytest.fixture(scope="module")
def shipped():
    """What the record says of the network that ships; the network; fewer strings of their own, and what it does with them."""
    wanted = next(run for run in RECORD["runs"] if (run["network"], run["seed"]) == ("tied", 1))
    model, asked = trained_specimen(recorded("specimen_weights")), script.Asked("tied", script.SETTINGS, 80)
    return wanted, model, asked, watched(model, asked.tokens, asked.real)


def test_how_hot_the_mapper_is_measured_again_from_the_weights_that_ship(shipped, unchecked):
    wanted, model, asked, whole = shipped
    step, head = wanted["mapper"]["step"] - 1, wanted["mapper"]["head"] - 1
    assert asked.mapping(whole)[step, head].item() == pytest.approx(wanted["mapper"]["right"], abs=0.06)
    for group, near in script.origins(asked, whole).items():
        assert near == pytest.approx(wanted["origins"][group], abs=0.12 if group == "hidden" else 0.05)  # some 80 tokens
    found, said = script.temperature(model, asked, whole, head, step), wanted["temperature"]
    assert found["own"][0] == pytest.approx(said["own"][0], abs=0.04)
    for one, other in zip(found["curve"][::8], said["curve"][::8], strict=True):
        assert one[1] == pytest.approx(other[1], abs=0.06)
        assert one[2] == pytest.approx(other[2], rel=0.4, abs=0.1)


@pytest.mark.parametrize("name", [*script.RULES])
def test_each_rule_measured_again_from_the_weights_that_ship(name, shipped, unchecked):
    """In the mapper: right rows, and what the loss gains, and in all heads, where it gains more."""
    wanted, model, asked, whole = shipped
    step, head, own = wanted["mapper"]["step"] - 1, wanted["mapper"]["head"] - 1, asked.loss(whole.logits)
    for who, how in (("mapper", {"head": head}), ("all", {})):
        seen = watched(model, asked.tokens, asked.real, script.RULES[name], **how)
        loss, right, _ = wanted["rules"][who][name]
        assert asked.mapping(seen)[step, head].item() == pytest.approx(right, abs=0.1), who
        assert asked.loss(seen.logits) - own == pytest.approx(loss - wanted["loss"], rel=0.2, abs=0.05), who


@pytest.mark.slow
def test_silent_heads_measured_again_from_the_weights_that_ship(shipped, unchecked):
    wanted, model, asked, whole = shipped
    own = asked.loss(whole.logits)
    for head, loss in enumerate(wanted["rules"]["silent"]):
        seen = watched(model, asked.tokens, asked.real, silent=whole.values, head=head)
        assert asked.loss(seen.logits) - own == pytest.approx(loss - wanted["loss"], rel=0.4, abs=0.06), head


@pytest.mark.whole
def test_rest_measured_again_from_the_weights_that_ship(shipped, unchecked):
    """The first steps agree; late ones, where small differences have grown, on average alone."""
    wanted, model, _, _ = shipped
    found, said = script.rest(model, "tied", script.SETTINGS), wanted["rest"]
    assert found["change"][:16] == pytest.approx(said["change"][:16], rel=0.02)
    for n, loss in said["loss"].items():
        assert found["loss"][n] == pytest.approx(loss, rel=0.02 if int(n) <= 16 else 0.3), n
    mean = [sum(one["exponent"]) / len(one["exponent"]) for one in (found, said)]
    assert mean[0] == pytest.approx(mean[1], abs=0.03)
