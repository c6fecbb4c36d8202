"""Parts of a head's map, and networks whose heads write by other maps."""

import erasing
import examinations
import pytest
import torch
from examinations import Asked
from helpers.specimen_records import is_whole

from attnlib.course import recorded
from attnlib.course.models.specimens import specimen, trained_specimen

RECORD = recorded("erasing")


def network(name):
    torch.manual_seed(1)
    return specimen(name, **erasing.QUICK["sizes"]).eval()


def test_parts_add_up_and_share_nothing():
    maps = torch.randn(3, 6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    parts = erasing.parts_of(maps)
    assert torch.allclose(sum(parts.values()), maps)
    assert torch.linalg.eigvalsh(parts["negative"]).max() < 1e-12
    assert torch.linalg.eigvalsh(parts["positive"]).min() > -1e-12
    assert torch.equal(parts["antisymmetric"].mT, -parts["antisymmetric"])
    assert torch.allclose(sum(part.square().sum() for part in parts.values()), maps.square().sum())


def test_a_smaller_map_is_as_small_as_without_its_negative_part_and_points_as_it_did():
    maps = torch.randn(3, 6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = erasing.changed(maps)
    assert torch.allclose(found["smaller"].square().sum((1, 2)), found["negative"].square().sum((1, 2)))
    assert torch.allclose(found["smaller"] / maps, (found["smaller"] / maps)[:, :1, :1].expand(3, 6, 6))
    assert 0 < (found["smaller"] / maps).min() < (found["smaller"] / maps).max() < 1
    assert torch.linalg.eigvalsh(found["negative"] + found["negative"].mT).min() > -1e-12
    assert torch.allclose(found["half"], (maps + found["negative"]) / 2)
    assert not found["silent"].any()
    assert torch.allclose(found["negative"], found["positive alone"] + found["antisymmetric alone"])
    assert torch.allclose(found["half"] + found["half alone"], maps)


@pytest.mark.parametrize("name", ["tied", "untied", "causal"])
@torch.no_grad()
def test_heads_that_write_by_their_own_maps_change_nothing_and_by_others_what_they_write(name, unchecked):
    model, asked = network(name), Asked(name, erasing.QUICK)
    own = [erasing.maps_of(block.mixer) for block in model.stack.blocks]
    before = model(asked.tokens, asked.real)
    with erasing.writing(model, own):
        assert torch.allclose(model(asked.tokens, asked.real), before, atol=1e-5)
    with erasing.writing(model, [torch.zeros_like(maps) for maps in own]):
        silent = model(asked.tokens, asked.real)
    for block in model.stack.blocks:  # a head whose map out is zero writes nothing
        torch.nn.init.zeros_(block.mixer.to_out.weight)
    assert torch.allclose(model(asked.tokens, asked.real), silent, atol=1e-5)
    assert not torch.allclose(silent, before, atol=1e-3)


def test_a_record_of_tiny_networks(tmp_path, unchecked):
    torch.save(network("untied").state_dict(), tmp_path / "untied-1.pt")
    found = erasing.erased("untied", 1, tmp_path, erasing.QUICK)
    assert sum(found["sizes"].values()) == pytest.approx(1, abs=1e-3)
    changed = {"negative", "half", "positive", "antisymmetric"}
    wanted = {"whole", "smaller", "silent"} | changed | {f"{name} alone" for name in changed}
    assert set(found["loss"]) == set(found["cosine"]) == wanted
    assert all(len(curve) == erasing.QUICK["sizes"]["steps"] + 1 for curve in found["cosine"].values())


def test_what_is_taken_out_is_the_part_that_is_named(tmp_path, unchecked):
    """Heads whose map out is their map of values turned round store, and nothing else: without it they are silent."""
    model, asked = network("tied"), Asked("tied", erasing.QUICK)
    mixer = model.stack.blocks[0].mixer
    with torch.no_grad():
        mixer.to_out.weight.copy_(mixer.to_value.weight.mT)
    torch.save(model.state_dict(), tmp_path / "tied-1.pt")
    found = erasing.erased("tied", 1, tmp_path, erasing.QUICK)
    assert found["sizes"] == pytest.approx({"negative": 0, "positive": 1, "antisymmetric": 0}, abs=1e-3)
    for part in ("negative", "half", "antisymmetric"):
        assert found["cosine"][part] == pytest.approx(found["cosine"]["whole"], rel=1e-3), part
    torch.nn.init.zeros_(mixer.to_out.weight)
    silent = [examinations.cosines(state, asked.real) for state in model.states(asked.tokens, asked.real)]
    for part in ("positive", "silent", "negative alone", "half alone", "antisymmetric alone"):
        assert found["cosine"][part] == pytest.approx(silent, rel=1e-3), part
    assert found["cosine"]["positive alone"] == pytest.approx(found["cosine"]["whole"], rel=1e-3)
    assert found["cosine"]["positive"][-1] != pytest.approx(found["cosine"]["whole"][-1], rel=0.01)


# --- the committed record ---


def test_the_committed_record_has_what_the_script_asks_for():
    is_whole(RECORD, erasing)
    for run in RECORD["runs"]:
        assert sum(run["sizes"].values()) == pytest.approx(1, abs=1e-3)
        assert set(run["cosine"]) == set(run["loss"]) == {"whole", *erasing.changed(torch.eye(2)[None])}
        assert {len(curve) for curve in run["cosine"].values()} == {9}


@pytest.mark.slow
def test_tied_1_measured_again_from_the_weights_that_ship(unchecked):
    """In half precision, on fewer strings of their own."""
    wanted = next(run for run in RECORD["runs"] if (run["network"], run["seed"]) == ("tied", 1))
    found = erasing.without(trained_specimen(recorded("specimen_weights")), Asked("tied", erasing.SETTINGS, 40))
    assert found["sizes"] == pytest.approx(wanted["sizes"], abs=1e-3)
    for name, curve in found["cosine"].items():
        assert curve == pytest.approx(wanted["cosine"][name], abs=0.06), name
        more, said = (one["loss"][name] - one["loss"]["whole"] for one in (found, wanted))
        assert more == pytest.approx(said, rel=0.25, abs=0.06), name
