"""One block for longer, and a path alone: the record is whole, a path is all that differs, a run goes on where it stopped."""

import json

import more_hops as script
import pytest
import torch

from attnlib.course import recorded


def test_the_committed_record_is_complete_and_what_the_script_asks_for():
    record = recorded("more_hops")
    assert not record["quick"]
    assert record["settings"] == json.loads(json.dumps(script.SETTINGS))
    assert not script.wanted(record["rows"], script.SETTINGS)
    for name, how in script.SETTINGS["contestants"].items():
        rows = [row for row in record["rows"] if row["name"] == name]
        searched = {rate: [row["score"] for row in rows if row["rate"] == rate and row["seed"] < 2] for rate in how["rates"]}
        best = max(how["rates"], key=lambda rate, of=searched: sum(of[rate]))
        assert [row["seed"] for row in rows if row["seed"] > 1] == how["seeds"]
        assert {row["rate"] for row in rows if row["seed"] > 1} == {best}
        assert all(row["score"] == pytest.approx(row["walks"][1]) for row in rows if "walks" in row)


def test_a_path_is_all_that_differs_from_the_walker():
    path, walker = (script.made(name) for name in (script.PATH, "walker, 2 steps"))
    assert path.load_state_dict(walker.state_dict()) is not None
    x, facts = torch.randn(3, 1, 32), torch.randn(3, 8, 32)
    block = walker.blocks[0]
    told = block.mixer_norm(x + block.mixer(x, facts))
    torch.testing.assert_close(path(x, facts, steps=1), told)
    assert not torch.allclose(walker(x, facts, steps=1), told)


def test_it_goes_on_where_it_stopped(tmp_path):
    target = tmp_path / "more.json"
    script.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    assert len(first["rows"]) == 2 * (2 * 2 + 1)
    assert all(("kept" in row) == (row["name"] == script.PATH) for row in first["rows"])
    target.write_text(json.dumps(first | {"rows": first["rows"][:-1]}), encoding="utf-8")
    script.main(["--quick", "--output", str(target)])
    assert json.loads(target.read_text(encoding="utf-8"))["rows"] == first["rows"]
