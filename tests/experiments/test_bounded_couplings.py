"""The recorded comparison of bounds on couplings: complete, resumed and not measured anew, repeated in its cheapest run."""

import json

import bounded_couplings as bounds
import pytest
import torch

from attnlib.course import recorded
from attnlib.mean_field import MeanFieldAttention


def test_the_record_has_every_run_at_the_rates_of_its_searches():
    result = recorded("bounded_couplings")
    assert result["settings"] == bounds.SETTINGS
    assert not result["quick"]
    assert list(bounds.due(list(bounds.RATES), result["runs"])) == []
    assert len({tuple(run[key] for key in ("stage", "task", "spins", "way", "rate", "seed")) for run in result["runs"]}) == len(
        result["runs"]
    )


def test_what_is_made_is_kept(tmp_path, monkeypatch):
    target = tmp_path / "new folder" / "result.json"
    bounds.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    assert [run["way"] for run in first["runs"]] == [*bounds.WAYS, bounds.WAYS[0]]
    assert all(run["died"] is None and len(run["losses"]) == 2 for run in first["runs"])
    target.write_text(json.dumps(first | {"runs": first["runs"][1:]}), encoding="utf-8")
    made = []
    run = bounds.run
    monkeypatch.setattr(bounds, "run", lambda key, settings: made.append(key) or run(key, settings))
    bounds.main(["--quick", "--output", str(target)])
    assert made[0]["way"] == "none"
    assert made[0]["seed"] == 0


def test_the_way_of_the_module_is_the_one_that_was_measured():
    torch.manual_seed(0)
    settings = bounds.SETTINGS
    measured = bounds.built("shuffled", "gaussian", "clipped inside", settings).mixer
    module = MeanFieldAttention(bounds.WIDTH, beta=1.0, sites=bounds.SITES, heads=2)
    with torch.no_grad():
        measured.parametrizations.couplings.original.mul_(5)
        module.couplings.copy_(measured.parametrizations.couplings.original)
        module.to_query.weight.copy_(measured.to_query.weight)
        module.to_out.weight.copy_(measured.to_out.weight)
        x = torch.randn(2, bounds.SITES, bounds.WIDTH)
        torch.testing.assert_close(module(x), measured(x), atol=1e-4, rtol=1e-4)
        assert module.largest_eigenvalue().max() <= 0.9501


@pytest.mark.whole
@pytest.mark.parametrize("way", ["none", "clipped inside"])
def test_a_run_can_be_repeated(way):
    (wanted, *_) = (run for run in recorded("bounded_couplings")["runs"] if (run["task"], run["way"]) == ("shuffled", way))
    key = {name: wanted[name] for name in ("stage", "task", "spins", "way", "rate", "seed")}
    found = bounds.run(key, bounds.SETTINGS)
    assert found["losses"][:3] == pytest.approx(wanted["losses"][:3], rel=0.01)
    assert (found["died"] is None) == (wanted["died"] is None)
