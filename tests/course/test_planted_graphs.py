"""Graphs with two planted sides: how often nodes are joined, and what is refused."""

import pytest
import torch

from attnlib.course.data import planted_graphs


def test_nodes_are_joined_as_often_as_their_sides_say():
    n, count = 12, 4000
    sides, joined = planted_graphs(count, n, inside=0.5, between=0.15, generator=torch.Generator().manual_seed(1))
    assert set(sides.unique().tolist()) == {-1.0, 1.0}
    assert torch.equal(joined, joined.mT)
    assert not joined.diagonal(dim1=-2, dim2=-1).any()
    pairs = torch.ones(n, n, dtype=torch.bool).triu(1)
    same = (sides[:, :, None] == sides[:, None])[:, pairs]
    for of, chance in ((same, 0.5), (~same, 0.15)):
        drawn = joined[:, pairs][of].double()
        assert drawn.mean().item() == pytest.approx(chance, abs=4 * (chance * (1 - chance) / len(drawn)) ** 0.5)
    assert same.double().mean().item() == pytest.approx(0.5, abs=4 * 0.5 / (count * (n - 1)) ** 0.5)


@pytest.mark.parametrize(
    ("settings", "name"),
    [({"count": 0}, "count"), ({"n": 0}, "n"), ({"inside": 1.5}, "inside"), ({"between": float("nan")}, "between")],
    ids=lambda one: str(one),
)
def test_what_is_no_count_or_no_chance_is_refused(settings, name):
    with pytest.raises(ValueError, match=rf"^{name} is "):
        planted_graphs(**({"count": 1, "n": 4, "inside": 0.5, "between": 0.1} | settings))
