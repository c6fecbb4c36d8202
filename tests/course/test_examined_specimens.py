"""The reader of what the instruments found at the specimens of page 7d."""

import math

import pytest
import torch

from attnlib.course.data.examined_specimens import ExaminedSpecimens


def a_run(network, seed, head):
    grid = [[seed + 0.1, seed + 0.2], [seed + 0.3, seed + 0.4]]
    after = {"spread": grid, "states": [{"step": 0, "change": None}, {"step": 1, "change": 0.5}]}
    return {
        "network": network,
        "seed": seed,
        "loss": seed / 4,
        "mapper": {"head": head, "step": 2},
        "after": after,
        "before": {"spread": [[0.0] * 2] * 2},
    }


@pytest.fixture
def found():
    runs = [a_run("tied", 2, 1), a_run("tied", 1, 2), a_run("causal", 1, 1)]
    return ExaminedSpecimens({"settings": {"seeds": 2}, "runs": runs})


def test_networks_with_all_seeds_and_seeds_in_order(found):
    assert found.networks == ("tied",)
    assert found.read("tied", "loss").tolist() == [0.25, 0.5]
    assert found.read("tied", "after", "spread").shape == (2, 2, 2)


def test_the_mapper_of_each_seed(found):
    torch.testing.assert_close(found.at_mapper("tied", "spread"), torch.tensor([1.4, 2.3], dtype=torch.float64))
    assert found.at_mapper("tied", "spread", "before").tolist() == [0.0, 0.0]


def test_a_driven_network_has_its_mapper_beside_its_grids(found):
    grids = {"arrow": [[0.1, 0.2, 0.6]], "mapper": {"head": 2, "step": 1}}
    driven = ExaminedSpecimens({"settings": {"seeds": 1}, "runs": [{"network": "tied", "seed": 1, "arrows": grids}]})
    assert driven.mappers("tied").tolist() == [[0], [1]]
    assert found.mappers("tied").tolist() == [[1, 1], [1, 0]]
    with pytest.raises(ValueError, match="'mapper'; expected one of 'arrow'"):
        ExaminedSpecimens({"settings": {"seeds": 1}, "runs": [{"network": "a", "seed": 1, "arrows": {"arrow": []}}]}).mappers(
            "a"
        )


def test_nothing_is_nan(found):
    assert math.isnan(found.read("tied", "after", "states", 0, "change")[0])
    assert found.read("tied", "after", "states", 1, "change").tolist() == [0.5, 0.5]


def test_errors(found):
    with pytest.raises(ValueError, match="'tied'"):
        found.read("causal", "loss")
    with pytest.raises(ValueError, match="'lost'; expected one of 'network', 'seed'"):
        found.read("tied", "lost")
    with pytest.raises(ValueError, match="expected numbers"):
        found.read("tied", "after")
    with pytest.raises(ValueError, match="examinations"):
        ExaminedSpecimens({"runs": []})
    with pytest.raises(ValueError, match="all of its 3 seeds"):
        ExaminedSpecimens({"settings": {"seeds": 3}, "runs": [a_run("tied", 1, 1)]})
