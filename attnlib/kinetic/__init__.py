"""Beyond equilibrium: spins that are driven, whose couplings need not be symmetric (chapter 8)."""

from attnlib.kinetic.closures import Closure, closure_step, stationary_closure
from attnlib.kinetic.damage import damage
from attnlib.kinetic.exact import exact_kinetic, exact_response, peretto_law
from attnlib.kinetic.films import film, from_the_past, ordered_sweep
from attnlib.kinetic.mixer import KineticAttention
from attnlib.kinetic.moves import Updates, spin_states, transition_matrix
from attnlib.kinetic.records import ClosureRecord, KineticAttentionRecord, KineticRecord, MomentsRecord
from attnlib.kinetic.vectors import Gain, moments_step, stationary_moments, vector_response

__all__ = [
    "Closure",
    "ClosureRecord",
    "Gain",
    "KineticAttention",
    "KineticAttentionRecord",
    "KineticRecord",
    "MomentsRecord",
    "Updates",
    "closure_step",
    "damage",
    "exact_kinetic",
    "exact_response",
    "film",
    "from_the_past",
    "moments_step",
    "ordered_sweep",
    "peretto_law",
    "spin_states",
    "stationary_closure",
    "stationary_moments",
    "transition_matrix",
    "vector_response",
]
