"""The floors run what they can of the suite that all mixers share, and are held against sums written out."""

from typing import ClassVar

import pytest
import torch
from helpers.draw import close, mask_of, normal
from helpers.mixer_suite import MixerSuite

from attnlib import SoftmaxAttention, causal_mask
from attnlib.transformer.floors import IdentityMixer, LinearMixer, PlaceMixer, PoolMixer

FLOORS = (IdentityMixer, PoolMixer, PlaceMixer, LinearMixer)
SITES = {PlaceMixer: {"sites": 7}, LinearMixer: {"sites": 7}}


class FloorSuite(MixerSuite):
    """Without what asks for a temperature, for places of queries and keys, or for weights: floors have none."""

    crosses = False
    test_a_learned_beta_is_one_for_each_head_and_stays_positive = None
    test_places_are_put_into_queries_and_keys = None
    test_dropout_is_for_training = None

    def make(self, *sizes, learn_beta=False, places=None, **more):
        return super().make(*sizes, **more)


class TestIdentity(FloorSuite):
    kind = IdentityMixer


class TestPool(FloorSuite):
    kind = PoolMixer


class TestPlaces(FloorSuite):
    kind = PlaceMixer
    settings: ClassVar = {"sites": 30}
    small: ClassVar = {"sites": 3}


class TestLinear(FloorSuite):
    kind = LinearMixer
    settings: ClassVar = {"sites": 30}
    small: ClassVar = {"sites": 3}


def made(kind, **settings):
    torch.manual_seed(0)
    return kind(4, heads=2, dtype=torch.float64, **SITES.get(kind, {}), **settings)


def values(module, x):
    """Each head's values, ``[heads, n, d]``, by rows of its map."""
    return torch.stack([x @ rows.mT for rows in module.to_query.weight.split(module.head_dim)])


def joined(module, heads):
    return sum(rows @ columns.mT for rows, columns in zip(heads, module.to_out.weight.split(module.head_dim, 1), strict=True))


@pytest.mark.parametrize("masked", [False, True])
def test_each_floor_is_its_sum(masked):
    x, n = normal(5, 4), 5
    mask = mask_of(n, n) | torch.eye(n, dtype=torch.bool) if masked else torch.ones(n, n, dtype=torch.bool)
    given = {"mask": mask} if masked else {}
    for kind in FLOORS:
        module = made(kind)
        v, heads = values(module, x), torch.zeros(2, n, 2, dtype=torch.float64)
        for h in range(2):
            for i in range(n):
                seen = [j for j in range(n) if mask[i, j]]
                if kind is IdentityMixer:
                    heads[h, i] = v[h, i]
                elif kind is PoolMixer:
                    heads[h, i] = sum(v[h, j] for j in seen) / len(seen)
                elif kind is PlaceMixer:
                    heads[h, i] = sum(module.couplings[h, i, j] * v[h, j] for j in seen)
                else:
                    heads[h, i] = sum(module.maps[h, i, j] @ v[h, j] for j in seen) + module.offset[h, i]
        wanted = joined(module, heads.tanh() if kind is LinearMixer else heads)
        close(module(x, **given), wanted, atol=1e-12)


def test_pool_is_softmax_attention_at_infinite_temperature():
    x, mask = normal(2, 5, 4), mask_of(2, 5, 5)
    pool, soft = made(PoolMixer), SoftmaxAttention(4, heads=2, beta=1e-14, dtype=torch.float64)
    soft.to_value.load_state_dict(pool.to_query.state_dict())
    soft.to_out.load_state_dict(pool.to_out.state_dict())
    for given in ({}, {"mask": mask}, {"mask": causal_mask(5)}):
        close(pool(x, **given), soft(x, **given), atol=1e-12)


def test_who_stands_where_matters_to_places_and_maps_alone():
    x, order = normal(5, 4), torch.tensor([3, 1, 4, 0, 2])
    for kind in (IdentityMixer, PoolMixer):
        close(made(kind)(x[order]), made(kind)(x)[order], atol=1e-12)
    pooled = made(PoolMixer)(x)
    close(pooled, pooled[:1].expand(5, 4), atol=1e-12)
    close(made(PoolMixer)(x[order]), pooled, atol=1e-12)
    for kind in (PlaceMixer, LinearMixer):
        module = made(kind)
        if kind is LinearMixer:
            torch.nn.init.normal_(module.offset)
        assert not torch.allclose(module(x[order]), module(x)[order])


def test_identity_hears_nobody_else_and_nothing_where_it_may_not_see_itself():
    module, x = made(IdentityMixer), normal(5, 4)
    later = x.clone()
    later[1:] += 1
    close(module(later)[0], module(x)[0], atol=0.0)
    others = ~torch.eye(5, dtype=torch.bool)
    close(module(x, mask=others), torch.zeros(5, 4, dtype=torch.float64), atol=0.0)


@pytest.mark.parametrize("kind", [PlaceMixer, LinearMixer])
def test_no_more_tokens_than_sites(kind):
    with pytest.raises(ValueError, match="x has 8 tokens; expected at most 7, one for each site"):
        made(kind)(normal(8, 4))
    assert "sites=7" in repr(made(kind))


@pytest.mark.parametrize("kind", FLOORS)
def test_a_context_is_refused(kind, unchecked):
    with pytest.raises(ValueError, match="context_dim is 6; expected None or dim, 4"):
        kind(4, 6, **SITES.get(kind, {}))
