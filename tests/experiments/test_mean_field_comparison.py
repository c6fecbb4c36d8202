"""The recorded comparison of the mean-field theories: complete, repeated in one row, resumed and not measured anew."""

import json
import statistics

import mean_field_comparison as comparison
import pytest
import torch

from attnlib.course import recorded


def medians(row, key):
    return [statistics.median(row[name][key]) for name in comparison.THEORIES]


def complete(result):
    systems = result["settings"]["systems"]
    assert result["name"] == "mean_field_comparison"
    assert result["command"].startswith("python experiments/mean_field_comparison.py")
    for row in result["rows"]:
        assert len(row["almeida_thouless"]) == systems
        for name in comparison.THEORIES:
            assert set(row[name]) == {"m_error", "chi_error", "converged", "stability"}
            assert all(len(numbers) == systems for numbers in row[name].values())
            assert all(0 <= error <= 2 for error in row[name]["m_error"])


def test_the_committed_result_is_complete_and_what_the_script_asks_for():
    result = recorded("mean_field_comparison")
    complete(result)
    assert not result["quick"]
    assert result["settings"] == comparison.SETTINGS
    assert tuple(row["beta"] for row in result["rows"]) == comparison.BETAS


def test_a_committed_row_can_be_repeated():
    """The weakest coupling, where no path of an iteration amplifies a rounding."""
    (wanted,) = (row for row in recorded("mean_field_comparison")["rows"] if row["beta"] == comparison.BETAS[0])
    found = comparison.row(comparison.BETAS[0], comparison.SETTINGS)
    for name in comparison.THEORIES:
        assert found[name]["converged"] == wanted[name]["converged"]
        for key in ("m_error", "chi_error", "stability"):
            assert found[name][key] == pytest.approx(wanted[name][key], rel=2e-3, abs=1e-9)


@pytest.mark.slow
def test_what_is_already_measured_is_kept(tmp_path, monkeypatch):
    target = tmp_path / "new folder" / "result.json"
    comparison.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    complete(first)
    assert first["quick"]
    target.write_text(json.dumps(first | {"rows": first["rows"][1:]}), encoding="utf-8")
    measured = []
    row = comparison.row
    monkeypatch.setattr(comparison, "row", lambda beta, settings: measured.append(beta) or row(beta, settings))
    comparison.main(["--quick", "--output", str(target)])
    assert measured == [comparison.BETAS[0]]
    again = json.loads(target.read_text(encoding="utf-8"))
    assert [one["beta"] for one in again["rows"]] == [one["beta"] for one in first["rows"]]


def test_every_system_has_a_seed_of_its_own():
    J, h = comparison.draw(5, 3, 0.3)
    fewer = comparison.draw(5, 2, 0.3)
    assert torch.equal(J[:2], fewer[0])
    assert torch.equal(h[:2], fewer[1])
    assert not torch.equal(J[0], J[1])
