"""The mixers of attnlib.hopfield run the suite that all mixers share."""

from helpers import mixers


class TestEnergyAttention(mixers.EnergyAttentionSuite):
    pass


class TestEnergyAttentionInSteps(mixers.EnergyAttentionInStepsSuite):
    pass


class TestEnergyAttentionByAutomaticDifferentiation(mixers.EnergyAttentionByAutomaticDifferentiationSuite):
    pass
