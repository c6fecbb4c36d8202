"""The systems that stall: on maps whose bottleneck is known, and the script end to end."""

import json
import math

import pytest
import stalled_layers
import torch

from attnlib.solve import fixed_point

TIGHT, MOST = 1e-4, 5000


def narrow(state):
    """x + gap + x^2 - x^3: a bottleneck at 0 that takes pi / sqrt(gap) steps, then a fixed point near 1, of slope -1 + 1."""
    return state + TIGHT + state.square() - state**3


@pytest.mark.filterwarnings("ignore::attnlib.ConvergenceWarning")
def test_a_bottleneck_is_passed_in_the_time_that_theory_gives():
    start = torch.zeros(2, 1, dtype=torch.float64)
    start[1] = 0.9
    found = fixed_point(narrow, start, max_steps=50, on_failure="warn")
    (one,) = stalled_layers.looked_at(narrow, 1.0, found, MOST)
    passed = math.pi / (2 * math.sqrt(TIGHT))  # the solver gives back its middle, where the residual is least
    assert one["further"] == pytest.approx(passed, rel=0.15)
    assert one["stall"] == pytest.approx(1.0, abs=0.01)
    assert abs(one["rest"]) < 0.01


@pytest.mark.filterwarnings("ignore::attnlib.ConvergenceWarning")
def test_a_system_without_a_fixed_point_is_told_as_such():
    found = fixed_point(lambda state: state + 0.1, torch.zeros(1, 1, dtype=torch.float64), max_steps=5, on_failure="warn")
    (one,) = stalled_layers.looked_at(lambda state: state + 0.1, 0.5, found, 100)
    assert one == {"stall": 1.0, "further": -1, "rest": 1.0}


def test_a_witness_counts_and_keeps_what_failed():
    witness = stalled_layers.Witness()
    start = torch.zeros(1, 1, dtype=torch.float64)
    witness(torch.cos, start, step=lambda state: state.new_ones(1), method="anderson")
    witness(torch.cos, start, step=lambda state: state.new_ones(1), max_steps=200)
    assert (witness.asked, witness.found) == (1, None)
    with pytest.raises(stalled_layers.ConvergenceError):
        witness(torch.cos, start, step=lambda state: state.new_full((1,), 0.5), max_steps=2)
    assert witness.asked == 2
    assert witness.length.tolist() == [[0.5]]
    assert not witness.found.converged


def test_the_script_end_to_end(tmp_path):
    target = tmp_path / "record.json"
    stalled_layers.main(["--quick", "--output", str(target)])
    record = json.loads(target.read_text())
    assert [one["steps"] for one in record["runs"]] == [200, 300]
    assert all(one["broke down"] == ("systems" in one) for one in record["runs"])
    before = target.stat().st_mtime_ns
    stalled_layers.main(["--quick", "--output", str(target)])
    assert target.stat().st_mtime_ns == before
