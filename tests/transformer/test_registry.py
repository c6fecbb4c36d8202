"""The registry: a module of one's own joins in one line, names are refused with a list, each contestant is what it says."""

import math
import re

import pytest
import torch
from helpers.draw import close, mask_of, normal
from torch import nn

import attnlib
from attnlib import EnergyAttention, GraphAttention, MeanFieldAttention, SoftmaxAttention, VectorSpinAttention, complete_edges
from attnlib.transformer import Block, Contestants, Stack, mixer, preset, register, registered

pytestmark = pytest.mark.usefixtures("registry_as_before")

OURS = [
    "identity",
    "pool",
    "linear",
    "places",
    "softmax",
    "energy",
    "energy-half-steps",
    "energy-wide",
    "energy-half-steps-wide",
    "mean-field",
    "mean-field-naive",
    "mean-field-neural",
    "mean-field-onsager",
    "vector-spins",
    "vector-spins-total",
    "vector-spins-softmax",
    "vector-spins-softmax-total",
    "kinetic",
    "kinetic-moments",
    "graph",
]


def test_the_table_is_a_table_in_a_notebook():
    """What somebody writes of his own mixer is text there, and no markup."""
    register("mine", nn.Identity, moves="<b>all</b> & none")
    said = registered()._repr_html_()
    assert said.count("<tr>") == len(registered()) + 1
    assert "<td>&lt;b&gt;all&lt;/b&gt; &amp; none</td>" in said
    assert all(f"<td>{name}</td>" in said for name in OURS)


class BoltzmannAttention(nn.Module):
    """After Kim and Park 2026: for each query, keys are Ising spins with learned couplings, in the fields of their scores.

    A key's weight is its mean, ``p(s_j = 1)``, over the sum of all. With few keys all patterns are written out.
    """

    def __init__(self, dim: int, *, tokens: int) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.J = nn.Parameter(torch.zeros(tokens, tokens))

    def weights(self, x):
        fields = self.q(x) @ self.k(x).mT / x.shape[-1] ** 0.5
        n = x.shape[-2]
        patterns = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n).to(x).reshape(-1, n)
        pairs = torch.einsum("pi,ij,pj->p", patterns, self.J[:n, :n].triu(1), patterns)
        means = (fields @ patterns.mT + pairs).softmax(-1) @ patterns
        return means / means.sum(-1, keepdim=True)

    def forward(self, x, context=None, mask=None):
        return self.weights(x) @ self.v(x)


# One's own


def test_a_third_partys_module_joins_in_one_line():
    register("boltzmann", BoltzmannAttention, couples="keys, in pairs", couplings="scores as fields, learned between keys")
    torch.manual_seed(0)
    made = mixer("boltzmann", 8, tokens=5, heads=2)  # it has no heads, and is not asked for any
    assert made.dim == 8
    x = normal(2, 5, 8, dtype=torch.float32)
    assert Stack(Block(made, feed_forward=16), steps=3, norm=True)(x).shape == x.shape
    assert registered().rows[-1] == (
        "boltzmann",
        "",
        "keys, in pairs",
        "scores as fields, learned between keys",
        "",
    )
    assert "boltzmann" in repr(registered())


def test_the_third_partys_module_is_sigmoid_attention_without_couplings_and_an_ising_model_with_them():
    torch.manual_seed(0)
    module, x = BoltzmannAttention(4, tokens=4).double(), normal(3, 4, 4)
    fields = module.q(x) @ module.k(x).mT / 2
    gates = fields.sigmoid()
    close(module.weights(x), gates / gates.sum(-1, keepdim=True), atol=1e-12)
    nn.init.normal_(module.J)
    up = module.J.detach().triu(1)
    J = (up + up.mT) / 4  # s = (1 + sigma) / 2: couplings of spins of plus and minus one, and their fields
    fields = module.q(x) @ module.k(x).mT / 2
    found = attnlib.exact_ising(J.expand(3, 4, 4, 4), fields / 2 + J.sum(-1))
    means = (1 + found.m) / 2
    close(module.weights(x), means / means.sum(-1, keepdim=True), atol=1e-12)


def test_it_is_a_decorator_too_and_a_name_of_ones_own_may_be_given_again():
    @register("double", couplings="none")
    def double(dim):
        return nn.Linear(dim, dim)

    assert isinstance(mixer("double", 3), nn.Linear)
    assert double.__name__ == "double"
    count = len(registered())
    register("double", nn.Identity)
    assert isinstance(mixer("double", 3), nn.Identity)
    assert len(registered()) == count


def test_a_name_of_attnlibs_own_is_not_given_away():
    before = registered()["softmax"]
    with pytest.raises(ValueError, match="name is 'softmax', one of attnlib's own; expected another"):
        register("softmax", nn.Identity)
    assert registered()["softmax"] is before


def test_what_cannot_be_made_is_refused(unchecked):
    for wrong, complaint in (
        (("", nn.Identity), "name is ''; expected text"),
        ((3, nn.Identity), "name is 3; expected text"),
        (("mine", 3), "make is 3; expected a class or a function"),
    ):
        with pytest.raises(ValueError, match=complaint):
            register(*wrong)
    with pytest.raises(ValueError, match="moves is 3; expected text"):
        register("mine", nn.Identity, moves=3)
    register("a number", lambda dim: dim)
    with pytest.raises(ValueError, match=r"'a number' made a int; expected a torch\.nn\.Module"):
        mixer("a number", 3)


# Names and settings


@pytest.mark.parametrize("name", ["sofmax", "", "Softmax"])
def test_a_wrong_name_lists_the_right_ones(name):
    with pytest.raises(ValueError, match=re.escape(f"name is {name!r}; expected one of {', '.join(OURS)}")):
        mixer(name, 8)
    with pytest.raises(ValueError, match="expected one of identity, pool"):
        registered()[name]


def test_a_name_that_is_near_is_said():
    with pytest.raises(ValueError, match="did you mean 'softmax'"):
        mixer("sofmax", 8)


def test_a_setting_that_it_does_not_take_is_refused():
    with pytest.raises(ValueError, match=r"sites is no setting of 'softmax'; expected one of heads, head_dim, beta, .*causal"):
        mixer("softmax", 8, sites=3)
    with pytest.raises(ValueError, match="beta is no setting of 'pool'"):
        mixer("pool", 8, beta=2.0)
    with pytest.raises(ValueError, match="tokens is 0; expected an integer of at least 1"):
        mixer("places", 8, tokens=0)
    for name in ("places", "linear", "mean-field", "vector-spins"):
        with pytest.raises(ValueError, match=f"tokens is None; expected the largest number of tokens.*'{name}'"):
            mixer(name, 8)
    with pytest.raises(ValueError, match="dim is 0"):
        mixer("softmax", 0)
    with pytest.raises(ValueError, match="heads is 3, which does not divide dim 8"):
        mixer("softmax", 8, heads=3)


def test_a_preset_is_a_class_with_settings(unchecked):
    register("cold", preset(SoftmaxAttention, beta=4.0))
    assert mixer("cold", 8).beta == 4.0
    assert mixer("cold", 8, beta=2.0).beta == 2.0
    assert registered()["cold"].takes == registered()["softmax"].takes
    with pytest.raises(ValueError, match="gamma is no setting of SoftmaxAttention"):
        preset(SoftmaxAttention, gamma=1)
    with pytest.raises(ValueError, match="expected a class of mixers"):
        preset(nn.Linear)
    with pytest.raises(ValueError, match="wide is 0"):
        preset(SoftmaxAttention, wide=0)


# The table


def test_the_table_is_text_and_rows():
    table = Contestants(tuple(entry for entry in registered() if entry.name != "boltzmann"))  # an experiment's own
    assert list(table.names) == OURS
    assert [row[0] for row in table.rows] == OURS
    assert all(all(isinstance(cell, str) and cell for cell in row) for row in table.rows)
    lines = repr(table).splitlines()
    assert len(lines) == len(table) + 1
    assert lines[0].split("  ")[0] == "name"
    columns = [lines[0].index(head) for head in ("who moves", "what couples", "where couplings", "what is exact")]
    for line, row in zip(lines[1:], table.rows, strict=True):
        for column, cell in zip(columns, row[1:], strict=True):
            assert line[column:].startswith(cell)
    assert max(map(len, lines)) <= 128
    assert [entry.name for entry in table] == OURS
    assert "softmax" in table
    assert "sofmax" not in table


# What each is


def test_each_contestant_is_the_module_with_the_settings():
    own = {"tokens": 6, "heads": 2}
    energies = {
        "energy": (1, 1.0, 4),
        "energy-half-steps": (4, 0.5, 4),
        "energy-wide": (1, 1.0, 8),
        "energy-half-steps-wide": (4, 0.5, 8),
    }
    for name, settings in energies.items():
        made = mixer(name, 8, **own)
        assert type(made) is EnergyAttention
        assert (made.steps, made.step_size, made.head_dim) == settings
    reactions = {
        "mean-field": ("exact", True),
        "mean-field-naive": ("none", False),
        "mean-field-neural": ("neural", False),
        "mean-field-onsager": ("exact", False),
    }
    for name, (reaction, linear) in reactions.items():
        made = mixer(name, 8, **own)
        assert type(made) is MeanFieldAttention
        assert (made.onsager, made.linear, made.sites, made.heads) == (reaction, linear, 6, 2)
    spins = {
        "vector-spins": ("free", "each", 6),
        "vector-spins-total": ("free", "total", 6),
        "vector-spins-softmax": ("softmax", "each", None),
        "vector-spins-softmax-total": ("softmax", "total", None),
    }
    for name, settings in spins.items():
        made = mixer(name, 8, **own)
        assert type(made) is VectorSpinAttention
        assert (made.form, made.lengths, made.sites) == settings
    assert type(mixer("softmax", 8, **own)) is SoftmaxAttention
    assert type(mixer("graph", 8, **own)) is GraphAttention


@pytest.mark.parametrize("name", OURS)
def test_each_takes_the_common_settings(name):
    made = mixer(name, 8, tokens=6, heads=2, causal=True, bias=True, dtype=torch.float64)
    assert (made.dim, made.heads, made.causal) == (8, 1 if name == "linear" else 2, True)
    assert made(normal(2, 4, 8)).shape == (2, 4, 8)


def test_the_graph_mixer_on_the_complete_graph_is_softmax():
    graph, soft = (mixer(name, 8, heads=2, dtype=torch.float64) for name in ("graph", "softmax"))
    graph.load_state_dict(soft.state_dict())
    x, mask = normal(3, 5, 8), mask_of(3, 5, 5)
    for given in ({}, {"mask": mask}):
        close(graph(x, **given, edge_index=complete_edges(5)), soft(x, **given), atol=1e-12)
        close(Block(graph)(x, **given, edge_index=complete_edges(5)), Block(soft)(x, **given), atol=1e-12)


def test_one_step_of_energy_is_softmax_whose_values_are_its_keys():
    energy, soft = (mixer(name, 8, heads=2, dtype=torch.float64) for name in ("energy", "softmax"))
    for mine, theirs in (("to_query", "to_query"), ("to_key", "to_key"), ("to_value", "to_key"), ("to_out", "to_out")):
        soft.get_submodule(mine).load_state_dict(energy.get_submodule(theirs).state_dict())
    x = normal(3, 5, 8)
    close(energy(x), soft(x), atol=1e-12)


def test_pool_is_softmax_that_is_infinitely_hot():
    pool, soft = mixer("pool", 8, heads=2, dtype=torch.float64), mixer("softmax", 8, heads=2, beta=1e-14, dtype=torch.float64)
    soft.to_value.load_state_dict(pool.to_query.state_dict())
    soft.to_out.load_state_dict(pool.to_out.state_dict())
    x = normal(3, 5, 8)
    close(pool(x), soft(x), atol=1e-12)
    assert math.isclose(soft.beta, 1e-14)
