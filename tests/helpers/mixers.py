"""How the shared suite makes every mixer of attnlib, and the one that CONTRIBUTING.md makes.

A chapter's tests inherit from these; test_traced.py runs all of them through torch's tracers. Every class of mixers has a suite
of its main setting, which runs in each tier. The suites of its other settings are a sweep.
"""

import dataclasses
import re
import sys
import types
from typing import ClassVar

import course
import pytest
import torch
from helpers.mixer_suite import MixerSuite

from attnlib import EnergyAttention, SoftmaxAttention
from attnlib.free_energy import VectorSpinAttention
from attnlib.kinetic import KineticAttention
from attnlib.mean_field import Binary, MeanFieldAttention
from attnlib.message_passing import GraphAttention, complete_edges

another_setting = pytest.mark.sweep(0.25)
"""Of a class that has a suite of its main setting."""


class SoftmaxAttentionSuite(MixerSuite):
    kind = SoftmaxAttention


@another_setting
class SoftmaxAttentionByTheFormulaSuite(MixerSuite):
    kind = SoftmaxAttention
    settings: ClassVar = {"twice_differentiable": True}


class EnergyAttentionSuite(MixerSuite):
    kind = EnergyAttention


@another_setting
class EnergyAttentionInStepsSuite(MixerSuite):
    kind = EnergyAttention
    settings: ClassVar = {"steps": 3, "step_size": 0.5}


class Automatic(EnergyAttention):
    """Energy attention without its closed form: such an energy has no weights to drop."""

    has_weights = False

    def __init__(self, *sizes, **settings):
        super().__init__(*sizes, closed_form=False, **settings)


@another_setting
class EnergyAttentionByAutomaticDifferentiationSuite(MixerSuite):
    kind = Automatic
    settings: ClassVar = {"steps": 2, "step_size": 0.5}
    exports = False


class MeanFieldAttentionSuite(MixerSuite):
    kind = MeanFieldAttention
    settings: ClassVar = {"sites": 30}
    small: ClassVar = {"sites": 3}  # two tokens, and a place where none stands
    crosses = False


@another_setting
class MeanFieldAttentionOfAsymmetricCouplingsSuite(MixerSuite):
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


@another_setting
class MeanFieldAttentionByIterationSuite(MixerSuite):
    kind = Iterated
    settings: ClassVar = {"sites": 30, "prior": Binary(), "onsager": "none"}
    traced: ClassVar = {"largest": 0.003, "max_steps": 5}
    small: ClassVar = {"sites": 3}
    crosses = False


@another_setting
class MeanFieldAttentionWithANetworkSuite(MixerSuite):
    kind = Iterated
    settings: ClassVar = {"sites": 30, "onsager": "neural"}
    traced: ClassVar = {"largest": 0.003, "max_steps": 5}
    small: ClassVar = {"sites": 3}
    crosses = False


class VectorSpinAttentionSuite(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"sites": 5}
    traced: ClassVar = {"max_steps": 5}
    crosses = False


@another_setting
class VectorSpinAttentionWhoseCouplingsFollowTheFieldsSuite(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"couplings": "tanh"}
    traced: ClassVar = {"max_steps": 5}
    crosses = False


@another_setting
class VectorSpinAttentionWithCouplingsLikeAttentionsSuite(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"couplings": "softmax"}
    traced: ClassVar = {"max_steps": 5}
    crosses = False


@another_setting
class VectorSpinAttentionWithOneMultiplierSuite(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"sites": 5, "lengths": "total"}
    traced: ClassVar = {"max_steps": 6}
    crosses = False


@another_setting
class VectorSpinAttentionWithOneMultiplierAndTheFieldsCouplingsSuite(MixerSuite):
    kind = VectorSpinAttention
    settings: ClassVar = {"couplings": "tanh", "lengths": "total"}
    traced: ClassVar = {"max_steps": 6}
    crosses = False


class KineticAttentionSuite(MixerSuite):
    kind = KineticAttention
    crosses = False


@another_setting
class KineticAttentionInStepsSuite(MixerSuite):
    kind = KineticAttention
    settings: ClassVar = {"steps": 3, "start": "zero", "spin_beta": 1.5}
    crosses = False


@another_setting
class KineticAttentionWithMomentsSuite(MixerSuite):
    kind = KineticAttention
    settings: ClassVar = {"steps": 2, "closure": "moments"}
    crosses = False


class GraphAttentionSuite(MixerSuite):
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


@another_setting
class GraphAttentionAlongEdgesSuite(MixerSuite):
    kind = AlongAllEdges
    settings: ClassVar = {"empty": "error"}


def recipe():
    """The mixer in CONTRIBUTING.md, as a module."""
    text = (course.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = re.search(r"## Add a mixer.*?```python\n(.*?)```", text, re.DOTALL)[1]
    module = sys.modules["contributing_recipe"] = types.ModuleType("contributing_recipe")
    exec(compile(code, "CONTRIBUTING.md", "exec"), vars(module))
    return code, module


class TheRecipeSuite(MixerSuite):
    kind = recipe()[1].DistanceAttention
