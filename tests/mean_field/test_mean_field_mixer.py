"""The mixers of attnlib.mean_field run the suite that all mixers share."""

from helpers import mixers


class TestMeanFieldAttention(mixers.MeanFieldAttentionSuite):
    pass


class TestMeanFieldAttentionOfAsymmetricCouplings(mixers.MeanFieldAttentionOfAsymmetricCouplingsSuite):
    pass


class TestMeanFieldAttentionByIteration(mixers.MeanFieldAttentionByIterationSuite):
    pass


class TestMeanFieldAttentionWithANetwork(mixers.MeanFieldAttentionWithANetworkSuite):
    pass
