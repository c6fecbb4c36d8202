"""The mixers of attnlib.message_passing run the suite that all mixers share."""

from helpers import mixers


class TestGraphAttention(mixers.GraphAttentionSuite):
    pass


class TestGraphAttentionAlongEdges(mixers.GraphAttentionAlongEdgesSuite):
    pass
