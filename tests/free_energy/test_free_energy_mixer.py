"""The mixers of attnlib.free_energy run the suite that all mixers share."""

from helpers import mixers


class TestVectorSpinAttention(mixers.VectorSpinAttentionSuite):
    pass


class TestVectorSpinAttentionWhoseCouplingsFollowTheFields(mixers.VectorSpinAttentionWhoseCouplingsFollowTheFieldsSuite):
    pass


class TestVectorSpinAttentionWithCouplingsLikeAttentions(mixers.VectorSpinAttentionWithCouplingsLikeAttentionsSuite):
    pass


class TestVectorSpinAttentionWithOneMultiplier(mixers.VectorSpinAttentionWithOneMultiplierSuite):
    pass


class TestVectorSpinAttentionWithOneMultiplierAndTheFieldsCouplings(
    mixers.VectorSpinAttentionWithOneMultiplierAndTheFieldsCouplingsSuite
):
    pass
