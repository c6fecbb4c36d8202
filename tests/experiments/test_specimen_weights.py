"""The recorder of page 7d's weights: a small record is whole, what it says is measured again, and rounding changes nothing."""

import json

import pytest
import specimen_weights as script
import specimens
import torch

from attnlib.course import recorded
from attnlib.course.models.specimens import specimen, trained_specimen, weights_of


@pytest.fixture
def small(tmp_path, unchecked):
    """The folder with a small network as drawn, the network, and the record that is made of it."""
    torch.manual_seed(1)
    model = specimen("tied", **script.QUICK["sizes"])
    torch.save(model.state_dict(), tmp_path / "tied-1.pt")
    target = tmp_path / "made" / "specimen_weights.json"
    script.main(["--quick", "--weights", str(tmp_path), "--output", str(target)])
    return model, json.loads(target.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_small_record_is_whole(small):
    model, record = small
    assert record["command"] == "python experiments/specimen_weights.py --quick"
    assert record["settings"] == json.loads(json.dumps(script.QUICK))
    found = trained_specimen(record)
    for name, each in model.state_dict().items():
        assert torch.equal(found.state_dict()[name], each.half().float())
    for kind in ("exact", "measured"):
        read = record[kind]
        assert [len(read["mapping"]), len(read["mapping"][0])] == [3, 2]
        best = max(max(row) for row in read["mapping"])
        assert read["mapping"][read["mapper"]["step"] - 1][read["mapper"]["head"] - 1] == best == read["mapper"]["right"]
    powers, curve = record["settings"]["log2_betas"], record["curve"]
    assert [len(curve["U"]), len(curve["target"])] == [3, 3]
    assert all(len(row) == len(powers) for row in curve["U"] + curve["target"])
    own = curve["U"][record["measured"]["mapper"]["step"] - 1][powers.index(0.0)]
    assert own == pytest.approx(record["measured"]["mapper"]["U"], rel=2e-4)


@pytest.mark.slow
def test_rows_and_curves_are_counted_one_by_one(small):
    """From the strings, the weights and the betas, without the script's own measures."""
    _, record = small
    model, settings = trained_specimen(record, dtype=torch.float64), record["settings"]
    strings, shown, hidden = specimens.strings_of(settings["drawn"], settings["strings"], settings["share"])
    weights = weights_of(model, shown, strings.real)
    head, step = (record["measured"]["mapper"][name] - 1 for name in ("head", "step"))
    right, told = [], []
    for b, i in hidden.nonzero().tolist():
        keys = [j for j in strings.keys[b, i].nonzero()[:, 0].tolist() if not hidden[b, j]]
        if keys:
            right.append(weights[step, b, head, i].argmax().item() in keys)
        if len(keys) == 1:
            told.append((b, i, keys[0]))
    assert record["measured"]["mapper"]["right"] == pytest.approx(sum(right) / len(right), rel=1e-3)
    assert record["curve"]["rows"] == len(told)
    for at in range(3):
        for k, power in list(enumerate(settings["log2_betas"]))[::4]:
            rows = [weights[at, b, head, i] ** 2**power for b, i, _ in told]
            rows = [row / row.sum() for row in rows]
            target = sum(row[j].item() for row, (_, _, j) in zip(rows, told, strict=True))
            assert record["curve"]["target"][at][k] == pytest.approx(target / len(told), rel=1e-3)
            squares = sum(row.square().sum().item() for row in rows)
            assert record["curve"]["U"][at][k] == pytest.approx(squares / target, rel=1e-3)


def test_the_record_is_that_of_the_script():
    record = recorded("specimen_weights")
    assert record["command"] == "python experiments/specimen_weights.py"
    assert record["settings"] == json.loads(json.dumps(script.SETTINGS))
    assert set(record["versions"]) == {"python", "torch", "attnlib"}
    assert script.RESULTS.stat().st_size < 500_000


def test_rounding_changes_nothing_that_is_said():
    exact, measured = (recorded("specimen_weights")[kind] for kind in ("exact", "measured"))
    assert measured["loss"] == pytest.approx(exact["loss"], abs=0.002)
    assert measured["mapper"]["right"] == pytest.approx(exact["mapper"]["right"], abs=0.003)
    assert measured["mapper"]["U"] == pytest.approx(exact["mapper"]["U"], abs=0.01)
    assert [measured["mapper"][name] for name in ("head", "step")] == [exact["mapper"][name] for name in ("head", "step")]


@pytest.mark.slow
def test_what_is_recorded_is_measured_again():
    """A fifth of the strings: within five standard errors of a share, and of the thermometer; the whole with all of them."""
    record = recorded("specimen_weights")
    model, few = trained_specimen(record), script.SETTINGS | {"strings": 200}
    again, _ = script.read(model, script.Asked("tied", few), few)
    assert again["loss"] == pytest.approx(record["measured"]["loss"], abs=0.25)
    step, head = (record["measured"]["mapper"][name] - 1 for name in ("step", "head"))
    assert again["mapping"][step][head] == pytest.approx(record["measured"]["mapper"]["right"], abs=0.1)


@pytest.mark.whole
def test_all_that_is_recorded_is_measured_again():
    record = recorded("specimen_weights")
    found, curve = script.read(trained_specimen(record), script.Asked("tied", script.SETTINGS), script.SETTINGS)
    assert found["loss"] == pytest.approx(record["measured"]["loss"], abs=1e-3)
    for name in ("right", "U", "error"):
        assert found["mapper"][name] == pytest.approx(record["measured"]["mapper"][name], abs=1e-3)
    torch.testing.assert_close(torch.tensor(curve["U"]), torch.tensor(record["curve"]["U"]), atol=1e-3, rtol=1e-3)
