"""Every mixer of attnlib runs the shared suite, and so does the one that CONTRIBUTING.md makes."""

import dataclasses
import re
import sys
import types
from pathlib import Path
from typing import ClassVar

import torch
from draw import close, normal
from mixer_suite import MixerSuite
from torch import distributions

from attnlib import EnergyAttention, SoftmaxAttention
from attnlib.free_energy import VectorSpinAttention
from attnlib.mean_field import Binary, MeanFieldAttention
from attnlib.message_passing import GraphAttention, complete_edges


class TestSoftmaxAttention(MixerSuite):
    kind = SoftmaxAttention


class TestSoftmaxAttentionByTheFormula(MixerSuite):
    kind = SoftmaxAttention
    settings: ClassVar = {"twice_differentiable": True}


class TestEnergyAttention(MixerSuite):
    kind = EnergyAttention


class TestEnergyAttentionInSteps(MixerSuite):
    kind = EnergyAttention
    settings: ClassVar = {"steps": 3, "step_size": 0.5}


class Automatic(EnergyAttention):
    """Energy attention without its closed form: such an energy has no weights to drop."""

    has_weights = False

    def __init__(self, *sizes, **settings):
        super().__init__(*sizes, closed_form=False, **settings)


class TestEnergyAttentionByAutomaticDifferentiation(MixerSuite):
    kind = Automatic
    settings: ClassVar = {"steps": 2, "step_size": 0.5}
    exports = False


class TestMeanFieldAttention(MixerSuite):
    kind = MeanFieldAttention
    settings: ClassVar = {"sites": 30}
    small: ClassVar = {"sites": 3}  # two tokens, and a place where none stands
    crosses = False


class TestMeanFieldAttentionOfAsymmetricCouplings(MixerSuite):
    kind = MeanFieldAttention
    settings: ClassVar = {"sites": 30, "symmetric": False}
    small: ClassVar = {"sites": 3}
    crosses = False


class Iterated(MeanFieldAttention):
    """Iterated to the last digits, so that it makes no difference where the iteration stops.

    Weak couplings take few steps there, and it is steps that a compiler traces one by one.
    """

    def __init__(self, *sizes, dtype=None, largest=0.03, max_steps=10, **settings):
        tolerance = 1e-13 if dtype == torch.float64 else 1e-6
        super().__init__(*sizes, dtype=dtype, tolerance=tolerance, largest=largest, max_steps=max_steps, **settings)


class TestMeanFieldAttentionByIteration(MixerSuite):
    kind = Iterated
    settings: ClassVar = {"sites": 30, "prior": Binary(), "onsager": "none"}
    traced: ClassVar = {"largest": 0.003, "max_steps": 5}
    small: ClassVar = {"sites": 3}
    crosses = False


class TestMeanFieldAttentionWithANetwork(MixerSuite):
    kind = Iterated
    settings: ClassVar = {"sites": 30, "onsager": "neural"}
    traced: ClassVar = {"largest": 0.003, "max_steps": 5}
    small: ClassVar = {"sites": 3}
    crosses = False


class TestVectorSpinAttention(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"sites": 5}
    traced: ClassVar = {"max_steps": 5}
    crosses = False


class TestVectorSpinAttentionWhoseCouplingsFollowTheFields(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"couplings": "tanh"}
    traced: ClassVar = {"max_steps": 5}
    crosses = False


class TestVectorSpinAttentionWithCouplingsLikeAttentions(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"couplings": "softmax"}
    traced: ClassVar = {"max_steps": 5}
    crosses = False


class TestVectorSpinAttentionWithOneMultiplier(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"sites": 5, "lengths": "total"}
    traced: ClassVar = {"max_steps": 6}
    crosses = False


class TestVectorSpinAttentionWithOneMultiplierAndTheFieldsCouplings(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"couplings": "tanh", "lengths": "total"}
    traced: ClassVar = {"max_steps": 6}
    crosses = False


class TestGraphAttention(MixerSuite):
    kind = GraphAttention
    settings: ClassVar = {"empty": "error"}


class AlongAllEdges(GraphAttention):
    """Every query gets an edge from every key, so that all that the suite asks of masks is asked of edges."""

    def forward(self, x, context=None, mask=None, *, score_bias=None):
        return super().forward(x, context, mask, score_bias=score_bias, edge_index=self.all_edges(x, context))

    def explain(self, x, context=None, mask=None):
        record = super().explain(x, context, mask, edge_index=self.all_edges(x, context))
        shape = (*record.weights.shape[:-1], x.shape[-2], -1)
        return dataclasses.replace(record, weights=record.weights.reshape(shape))

    @staticmethod
    def all_edges(x, context):
        m = (x if context is None else context).shape[-2]
        if not x.shape[-2]:
            return torch.zeros(2, 0, dtype=torch.int64, device=x.device)
        return complete_edges(x.shape[-2], m, device=x.device)


class TestGraphAttentionAlongEdges(MixerSuite):
    kind = AlongAllEdges
    settings: ClassVar = {"empty": "error"}


def recipe():
    """The mixer in CONTRIBUTING.md, as a module."""
    text = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = re.search(r"## Add a mixer.*?```python\n(.*?)```", text, re.DOTALL)[1]
    module = sys.modules["contributing_recipe"] = types.ModuleType("contributing_recipe")
    exec(compile(code, "CONTRIBUTING.md", "exec"), vars(module))
    return code, module


class TestTheRecipe(MixerSuite):
    kind = recipe()[1].DistanceAttention


def test_the_recipe_is_short_and_right():
    code, module = recipe()
    assert len(code.splitlines()) < 60
    state, memory = normal(2, 3, 4), normal(2, 5, 4, seed=1)
    found = module.DistanceAttention(4, bare=True, beta=1.7)(state, memory)
    component = distributions.Normal(memory[:, None], 1.7**-0.5)
    likelihood = component.log_prob(state[:, :, None]).sum(-1)  # of each state under each memory
    close(found, torch.softmax(likelihood, -1) @ memory, atol=1e-12)
