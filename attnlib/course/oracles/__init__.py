"""What pages hold attention against: transitions, bounds and posteriors that are known by other means."""

from attnlib.course.oracles.chains import ChainRecord, chain_graph, forward_backward
from attnlib.course.oracles.relaxation import Relaxation, semidefinite_bound
from attnlib.course.oracles.transitions import PottsCouplings, potts_couplings, splitting_beta

__all__ = [
    "ChainRecord",
    "PottsCouplings",
    "Relaxation",
    "chain_graph",
    "forward_backward",
    "potts_couplings",
    "semidefinite_bound",
    "splitting_beta",
]
