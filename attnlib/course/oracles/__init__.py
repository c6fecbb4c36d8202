"""What pages hold attention against: transitions, bounds, samples and marginals that are known by other means."""

from attnlib.course.oracles.chains import ChainRecord, chain_graph, forward_backward
from attnlib.course.oracles.enumeration import exact_beliefs
from attnlib.course.oracles.relaxation import Relaxation, semidefinite_bound
from attnlib.course.oracles.spins import SampleRecord, heat_bath
from attnlib.course.oracles.transitions import PottsCouplings, potts_couplings, splitting_beta
from attnlib.course.oracles.vector_films import VectorFilmRecord, vector_film
from attnlib.course.oracles.vectors import VectorSampleRecord, vector_heat_bath

__all__ = [
    "ChainRecord",
    "PottsCouplings",
    "Relaxation",
    "SampleRecord",
    "VectorFilmRecord",
    "VectorSampleRecord",
    "chain_graph",
    "exact_beliefs",
    "forward_backward",
    "heat_bath",
    "potts_couplings",
    "semidefinite_bound",
    "splitting_beta",
    "vector_film",
    "vector_heat_bath",
]
