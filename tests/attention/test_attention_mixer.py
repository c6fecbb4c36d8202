"""The mixers of attnlib.attention run the suite that all mixers share, and so does the one that CONTRIBUTING.md makes."""

import torch
from helpers import mixers
from helpers.draw import close, normal
from torch import distributions


class TestSoftmaxAttention(mixers.SoftmaxAttentionSuite):
    pass


class TestSoftmaxAttentionByTheFormula(mixers.SoftmaxAttentionByTheFormulaSuite):
    pass


class TestTheRecipe(mixers.TheRecipeSuite):
    pass


def test_the_recipe_is_short_and_right():
    code, module = mixers.recipe()
    assert len(code.splitlines()) < 60
    state, memory = normal(2, 3, 4), normal(2, 5, 4, seed=1)
    found = module.DistanceAttention(4, bare=True, beta=1.7)(state, memory)
    component = distributions.Normal(memory[:, None], 1.7**-0.5)
    likelihood = component.log_prob(state[:, :, None]).sum(-1)  # of each state under each memory
    close(found, torch.softmax(likelihood, -1) @ memory, atol=1e-12)
