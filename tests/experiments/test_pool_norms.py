"""Pool behind norms: each is what it says, a mean knows products only where it should, and the script runs end to end."""

import json

import more_hops
import pool_norms
import pytest
import torch
from torch import nn

from attnlib.course import recorded

MULTIPLY = {"norm before the mixer alone", "both", "product", "product alone", "times the field"}
POOLS = [name for name in pool_norms.ARMS if name not in pool_norms.MIXERS]


@pytest.fixture(name="x")
def tokens():
    return torch.randn(3, 4, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def normed(by, x):
    return pool_norms.Norm(8, by).double()(x)


def test_divided_by_its_own_length_it_is_a_layer_norm(x):
    torch.testing.assert_close(normed("own", x), nn.functional.layer_norm(x, (8,)))


def test_undivided_it_is_linear_and_the_product_starts_there(x):
    torch.testing.assert_close(normed("none", 3 * x), 3 * normed("none", x))
    torch.testing.assert_close(normed("product", x), normed("none", x))
    norm, centred = pool_norms.Norm(8, "product").double(), normed("none", x)
    nn.init.ones_(norm.factor[:1])
    torch.testing.assert_close(norm(x), centred + centred[..., :1] * centred)


@pytest.mark.parametrize("name", POOLS)
def test_a_mean_multiplies_a_field_with_contents_only_behind_a_whole_length_or_a_product(name):
    """What a token hears, as a function of another's field and contents: is there a mixed derivative?"""
    torch.manual_seed(0)
    model = pool_norms.PartedSpins().model(pool_norms.made(name)).double()
    block, given = model.stack.blocks[0], torch.randn(1, 10, 5, dtype=torch.float64)
    if name.startswith(("product", "times")):
        nn.init.ones_(block.mixer_norm.factor[:1])

    def heard(token):
        (x,) = model.prepared(torch.cat([given[:, :1], token[None, None], given[:, 2:]], 1))
        return block.mixer(x if block.mixer_norm is None else block.mixer_norm(x))[0, 0, 0]

    mixed = torch.autograd.functional.hessian(heard, given[0, 1].clone())[0, 1:].abs()
    assert (mixed > 1e-5).all() if name in MULTIPLY else (mixed < 1e-12).all()


def test_overlaps_are_handed_on_by_a_mean_of_tokens_times_their_fields_and_by_no_mean_of_tokens():
    torch.manual_seed(0)
    for name, told in (("times the field", 1.0), ("not divided", 0.0)):
        model = pool_norms.PartedSpins().model(pool_norms.made(name)).eval()
        if told:
            nn.init.ones_(model.stack.blocks[0].mixer_norm.factor)
            nn.init.zeros_(model.stack.blocks[0].mixer_norm.least)
        assert pool_norms.overlaps(model) == pytest.approx([told] * 4, abs=0.03)


def test_parts_are_nonlinear_in_fields_and_in_contents():
    torch.manual_seed(0)
    model = pool_norms.PartedSpins().model(pool_norms.made("apart")).double()
    norm = model.stack.blocks[0].mixer_norm

    def said(token):
        return norm(*model.prepared(token.expand(1, 10, 5)))[0, 0, 0]

    bent = torch.autograd.functional.hessian(said, torch.randn(5, dtype=torch.float64)).diagonal().abs()
    assert (bent > 1e-4).all()


def test_the_script_end_to_end(tmp_path):
    target = tmp_path / "record.json"
    pool_norms.main(["--quick", "--output", str(target)])
    record = json.loads(target.read_text())
    assert [row["name"] for row in record["rows"]] == list(pool_norms.ARMS)
    assert all(0 < row["score"] < 10 for row in record["rows"])
    before = target.stat().st_mtime_ns
    pool_norms.main(["--quick", "--output", str(target)])
    assert target.stat().st_mtime_ns == before


def test_the_committed_record_is_complete_and_what_the_script_asks_for():
    record = recorded("pool_norms")
    assert not record["quick"]
    assert record["settings"] == json.loads(json.dumps(pool_norms.SETTINGS))
    assert more_hops.wanted(record["rows"], pool_norms.SETTINGS) == []
    products = {name for name, (by, _) in pool_norms.ARMS.items() if by in ("product", "field")} - set(pool_norms.MIXERS)
    for row in record["rows"]:
        behind = row["seed"] > 10 and row["name"].removesuffix(pool_norms.TWICE) in products
        assert ("overlaps" in row) == behind
    for name, rate in pool_norms.LONG.items():
        rows = [row for row in record["rows"] if row["name"] == name and row["seed"] < 2]
        errors = {each: sum(row["score"] for row in rows if row["rate"] == each) for each in pool_norms.RATES}
        assert min(errors, key=errors.get) == rate


@pytest.mark.parametrize(("better", "rate"), [("lower", 0.1), (None, 0.3)])
def test_the_best_rate_is_that_of_the_least_error_where_scores_are_errors(better, rate):
    settings = {"contestants": {"one": {"rates": [0.1, 0.3], "seeds": [11]}}, "search": [0], "better": better}
    rows = [{"name": "one", "rate": each, "seed": 0, "score": each} for each in (0.1, 0.3)]
    assert more_hops.wanted(rows, settings) == [("one", rate, 11)]
