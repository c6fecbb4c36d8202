"""The walkers without maps: the record is complete and can be made again, and a norm is what it says."""

import json

import held
import pytest
import torch
from torch import nn

from attnlib.course import recorded


def test_the_committed_record_is_complete_and_what_the_script_asks_for():
    record = recorded("held")
    assert not record["quick"]
    assert record["settings"] == json.loads(json.dumps(held.SETTINGS))
    found = {norm: [row for row in record["rows"] if row["norm"] == norm] for norm in held.NORMS}
    for norm, rates in held.SETTINGS["rates"].items():
        fresh = [row for row in found[norm] if row["seed"] in held.SETTINGS["seeds"]]
        assert [row["seed"] for row in fresh] == held.SETTINGS["seeds"]
        searched = {rate: [r["score"] for r in found[norm] if r["rate"] == rate and r["seed"] < 2] for rate in rates}
        best = max(rates, key=lambda rate, of=searched: sum(of[rate]))
        assert {row["rate"] for row in fresh} == {best}
        assert all(row["score"] == pytest.approx(row["walks"][1]) for row in found[norm])


def test_norms_are_layer_norms_of_all_or_of_each_half():
    x, like = torch.randn(5, 8), nn.LayerNorm(8)
    nn.init.normal_(like.weight)
    nn.init.normal_(like.bias)
    torch.testing.assert_close(held.Norm(like, means=1, variances=1)(x), like(x))
    half = nn.LayerNorm(4, elementwise_affine=False)
    both = torch.cat([half(x[:, :4]), half(x[:, 4:])], -1) * like.weight + like.bias
    torch.testing.assert_close(held.Norm(like, means=2, variances=2)(x), both)
    mixed = held.Norm(like, means=2, variances=1)
    centred = torch.cat([part - part.mean(-1, keepdim=True) for part in x.chunk(2, -1)], -1)
    scale = (centred.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
    torch.testing.assert_close(mixed(x), centred * scale * like.weight + like.bias)


def test_with_a_norm_for_each_half_the_halves_of_a_step_do_not_meet():
    """Whatever stands in the second half of a state leaves the first half of its norm alone, and with one norm it does not."""
    x = torch.randn(3, 1, 32)
    other = torch.cat([x[..., :16], torch.randn(3, 1, 16)], -1)
    torch.manual_seed(0)
    apart, one = (held.made(norm).blocks[0].mixer_norm for norm in ("halves", "one"))
    torch.testing.assert_close(apart(x)[..., :16], apart(other)[..., :16])
    assert (one(x) - one(other))[..., :16].abs().min() > 1e-4


@pytest.mark.slow
def test_it_goes_on_where_it_stopped(tmp_path, unchecked, monkeypatch):
    target = tmp_path / "held.json"
    held.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    assert len(first["rows"]) == 2 + 4 + 2
    monkeypatch.setattr(held, "run", None)
    held.main(["--quick", "--output", str(target)])
    assert json.loads(target.read_text(encoding="utf-8")) == first
