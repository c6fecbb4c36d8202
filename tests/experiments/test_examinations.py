"""The recorder of what page 7d's specimens are under the instruments."""

import json

import examinations as script
import pytest
import specimens
import torch

from attnlib.course.models.interventions import watched
from attnlib.course.models.specimens import NETWORKS, specimen


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
