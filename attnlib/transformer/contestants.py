"""What attnlib registers of its own: floors, softmax, energies, collectives of spins, driven ones, graphs."""

import inspect
from collections.abc import Callable
from typing import Any, cast

from torch import nn

from attnlib._core.checks import check_count
from attnlib.attention import Mixer, SoftmaxAttention
from attnlib.free_energy import VectorSpinAttention
from attnlib.hopfield import EnergyAttention
from attnlib.kinetic import KineticAttention
from attnlib.mean_field import Binary, MeanFieldAttention
from attnlib.message_passing import GraphAttention
from attnlib.transformer.floors import IdentityMixer, LinearMixer, PlaceMixer, PoolMixer
from attnlib.transformer.registry import keep, register


def preset(kind: type[Mixer], *, wide: int = 1, **fixed: object) -> Callable[..., nn.Module]:
    """A maker of mixers of a class with some settings given, for :func:`register`.

    Args:
        kind: the class; its ``sites``, if it has any, are called ``tokens``, as in :func:`mixer`.
        wide: all heads together are so many times as wide as the tokens; default 1.
        fixed: settings that it starts from, and that a call may replace. One that is None, and a number of heads, are no longer
            asked for.

    Returns:
        A function of ``dim`` and the class's settings by name. Its shapes and errors are those of the class.

    Raises:
        ValueError: something else than a class of mixers, a setting that it does not take.

    >>> preset(SoftmaxAttention, beta=4.0)(8, heads=2).beta
    4.0
    """
    if not isinstance(kind, type) or not issubclass(kind, Mixer):
        raise ValueError(f"kind is {kind!r:.60}; expected a class of mixers")
    wide, taken = check_count("wide", wide), inspect.signature(kind).parameters
    for name in fixed:
        if name not in taken:
            raise ValueError(f"{name} is no setting of {kind.__name__}; expected one of {', '.join(taken)}")

    def make(dim: int, **own: object) -> nn.Module:
        if "tokens" in own:
            own["sites"] = own.pop("tokens")
        if wide > 1:
            own.setdefault("head_dim", max(1, wide * dim // cast("int", own.get("heads", 1))))
        return kind(dim, **{**fixed, **own})  # type: ignore[arg-type]

    parameters = [parameter for parameter in taken.values() if parameter.name != "context_dim"]
    parameters = [p.replace(default=fixed[p.name]) if p.name in fixed else p for p in parameters]
    parameters = [p for p in parameters if fixed.get(p.name, 0) is not None and not (p.name == "heads" and "heads" in fixed)]
    parameters = [p.replace(name="tokens", default=p.empty) if p.name == "sites" else p for p in parameters]
    make.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    make.__name__ = make.__qualname__ = f"{kind.__name__} preset"
    return make


HALF: dict[str, Any] = {"steps": 4, "step_size": 0.5}
"""Four half steps. Four whole ones would lose the query on the way."""
NAIVE: dict[str, Any] = {"prior": Binary(), "onsager": "none"}
MOMENTS: dict[str, Any] = {"steps": 2, "closure": "moments"}
"""Two steps, since the first is exact without covariances."""
CONTENT: dict[str, Any] = {"couplings": "softmax", "sites": None}
SOFTMAX, LEARNED, FIELDS = "softmax(beta q.k)", "learned, for each pair of places", "softmax of the fields"
PAIRS, SPINS = "pairs of tokens", "pairs of spins"

_TABLE: tuple[tuple[str, Callable[..., nn.Module], str, str, str, str], ...] = (
    # name, make, who moves, what couples, where couplings come from, what is exact
    ("identity", preset(IdentityMixer), "nothing", "nothing", "none", "all of it"),
    ("pool", preset(PoolMixer), "the mean", "all alike", "none", "softmax at beta = 0"),
    ("linear", preset(LinearMixer, heads=1), "all at once", PAIRS, LEARNED, "a step of naive mean field"),
    ("places", preset(PlaceMixer), "values", PAIRS, LEARNED, "all of it"),
    ("softmax", preset(SoftmaxAttention), "values", PAIRS, SOFTMAX, "the mean of a Boltzmann law"),
    ("energy", preset(EnergyAttention), "queries", "an energy of keys", SOFTMAX, "one step down"),
    ("energy-half-steps", preset(EnergyAttention, **HALF), "queries", "an energy of keys", SOFTMAX, "four half steps down"),
    ("energy-wide", preset(EnergyAttention, wide=2), "queries", "an energy of keys", SOFTMAX, "one step down"),
    (
        "energy-half-steps-wide",
        preset(EnergyAttention, wide=2, **HALF),
        "queries",
        "an energy of keys",
        SOFTMAX,
        "four half steps down",
    ),
    ("mean-field", preset(MeanFieldAttention), "means", SPINS, LEARNED, "the means of Gaussian spins"),
    ("mean-field-naive", preset(MeanFieldAttention, **NAIVE), "means", SPINS, LEARNED, "nothing: no reaction"),
    (
        "mean-field-neural",
        preset(MeanFieldAttention, **{**NAIVE, "onsager": "neural"}),
        "means",
        SPINS,
        LEARNED,
        "nothing: a learned reaction",
    ),
    (
        "mean-field-onsager",
        preset(MeanFieldAttention, **{**NAIVE, "onsager": "exact"}),
        "means",
        SPINS,
        LEARNED,
        "the reaction of adaptive TAP",
    ),
    ("vector-spins", preset(VectorSpinAttention), "responses", SPINS, LEARNED, "the saddle point, a z for each"),
    (
        "vector-spins-total",
        preset(VectorSpinAttention, lengths="total"),
        "responses",
        SPINS,
        LEARNED,
        "the saddle point, one z",
    ),
    (
        "vector-spins-softmax",
        preset(VectorSpinAttention, **CONTENT),
        "responses",
        SPINS,
        FIELDS,
        "the saddle point, a z for each",
    ),
    (
        "vector-spins-softmax-total",
        preset(VectorSpinAttention, lengths="total", **CONTENT),
        "responses",
        SPINS,
        FIELDS,
        "the saddle point, one z",
    ),
    ("kinetic", preset(KineticAttention), "means", "driven spins", SOFTMAX, "one step from definite spins"),
    ("kinetic-moments", preset(KineticAttention, **MOMENTS), "moments", "driven spins", SOFTMAX, "many components"),
    ("graph", preset(GraphAttention), "values", "pairs along edges", SOFTMAX, "softmax on a complete graph"),
)

for _name, _make, _moves, _couples, _couplings, _exact in _TABLE:
    register(_name, _make, moves=_moves, couples=_couples, couplings=_couplings, exact=_exact)
keep()
