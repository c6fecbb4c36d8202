"""The recorder of page 7d's specimens: it goes on where it was stopped, and keeps what it says it keeps."""

import json

import pytest
import specimens as script
import torch

from attnlib.course.models.specimens import specimen

JOB = dict(zip(script.KEYS, ("final", "tied", 1, 1e-3, 6), strict=True))


@pytest.mark.slow
def test_a_small_record_is_whole(tmp_path, unchecked):
    target = tmp_path / "specimens.json"
    asked = ["--quick", "--weights", str(tmp_path / "weights"), "--output", str(target)]
    script.main(asked)
    record = json.loads(target.read_text(encoding="utf-8"))
    runs = record["runs"]
    assert [(run["stage"], run["network"]) for run in runs] == (
        [("search", "tied")] * 2
        + [("final", name) for name in script.NETWORKS]
        + [("check", name) for name in script.NETWORKS[1:] for _ in range(2)]
    )
    assert record["bounds"]["best"][0] < record["bounds"]["one_side"][0]
    best = min(runs[:2], key=lambda run: run["curve"][-1][1])["rate"]
    for run in runs[2:5]:
        assert run["rate"] == best
        assert len(run["losses"]) == 3
        assert [row[0] for row in run["curve"]] == [3, 6]
        shares = run["mapping"]["next" if run["network"] == "causal" else "hidden"]
        assert len(shares) == len(shares[0]) == 2
    for name in script.NETWORKS:
        model = specimen(name, **script.QUICK["sizes"])
        model.load_state_dict(torch.load(tmp_path / "weights" / f"{name}-1.pt", weights_only=True))
        half = torch.load(tmp_path / "weights" / f"{name}-1-half.pt", weights_only=True)
        assert all(torch.equal(half[key], each.half()) for key, each in model.state_dict().items())
    before = target.read_text(encoding="utf-8")
    script.main(asked)  # nothing is missing
    assert target.read_text(encoding="utf-8") == before


@pytest.mark.slow
@pytest.mark.parametrize("network", script.NETWORKS)
def test_a_run_that_was_stopped_ends_as_it_would_have(network, tmp_path, monkeypatch, unchecked):
    job = JOB | {"network": network}
    whole, found = script.trained(job, script.QUICK, tmp_path)
    (tmp_path / "again").mkdir()
    drawn = script.strings_of

    def stop(seed, *more):
        if seed == 10**6 + 5:
            raise KeyboardInterrupt
        return drawn(seed, *more)

    monkeypatch.setattr(script, "strings_of", stop)
    with pytest.raises(KeyboardInterrupt):
        script.trained(job, script.QUICK, tmp_path / "again")
    monkeypatch.setattr(script, "strings_of", drawn)
    again, later = script.trained(job, script.QUICK, tmp_path / "again")
    assert later == found
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), again.parameters(), strict=True))


def test_a_checkpoint_of_another_run_is_not_taken(tmp_path, unchecked):
    _, found = script.trained(JOB, script.QUICK, tmp_path)
    _, other = script.trained(JOB | {"rate": 2e-3}, script.QUICK, tmp_path)
    assert other["losses"][0] == found["losses"][0]
    assert other["losses"][-1] != found["losses"][-1]


def test_final_seeds_have_chosen_nothing_and_the_best_rate_is_everybodys():
    runs = [
        {"stage": "search", "network": "tied", "seed": 0, "rate": rate, "steps": 3000, "curve": [[3000, loss, 0.5]]}
        for rate, loss in zip(script.SETTINGS["rates"], (0.9, 0.4, 0.6), strict=True)
    ]
    assert script.rate_of(runs[:2], script.SETTINGS) is None
    asked = script.jobs(runs, script.SETTINGS)
    final = [job for job in asked if job["stage"] == "final"]
    assert {job["seed"] for job in final} == {1, 2, 3, 4, 5}
    assert {job["rate"] for job in final} == {script.SETTINGS["rates"][1]}
    assert {job["seed"] for job in asked if job["stage"] != "final"} == {0}
    assert len({tuple(job.values()) for job in asked}) == len(asked) == 3 + 6 + 15


def test_the_rate_rises_and_falls():
    rates = [script.rate_at(step, JOB | {"steps": 10_500}, script.SETTINGS) for step in (0, 249, 499, 500, 5500, 10_499)]
    assert rates == pytest.approx([2e-6, 5e-4, 1e-3, 1e-3, 5e-4, 0], abs=1e-9)


def test_what_is_learnt_is_what_is_asked_for(unchecked):
    """Before training everything costs about ln 26; no filling is asked for, and hidden tokens are not shown."""
    for network in script.NETWORKS:
        torch.manual_seed(0)
        model = specimen(network, **script.QUICK["sizes"])
        strings, shown, hidden = script.strings_of(3, 20, 0.2)
        losses = script.losses_of(model, network, strings, shown, hidden)
        assert len(losses) == ((strings.real.sum(-1) - 1).sum() if network == "causal" else hidden.sum())
        assert losses.mean().item() == pytest.approx(3.26, abs=0.4)
        if network != "causal":
            other = strings.tokens.clone()
            other[hidden] = 14
            again = script.losses_of(model, network, script.Joinings(other, strings.keys, strings.form), shown, hidden)
            assert not torch.equal(losses, again)
