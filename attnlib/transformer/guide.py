"""How to read an examination: what each reading says, what random weights give, and what to try next."""

from dataclasses import dataclass

from attnlib.transformer.examination import Examination


@dataclass(frozen=True)
class Reading:
    """One reading, in three sentences or so each: what it says, what random weights give, and what to do about it.

    ``columns``: those of the table of heads, or "change", "cosine" and "lyapunov", which are read of the states.
    """

    columns: tuple[str, ...]
    title: str
    says: str
    random: str
    then: str


BOTH: dict[str, tuple[float, float]] = {
    "spread": (0.05, 0.3),
    "thermometer": (0.8, 2.0),
    "symmetric_share": (0.48, 0.52),
    "store": (0.0, 0.1),
    "erase": (0.0, 0.1),
    "antisymmetric_share": (0.44, 0.56),
    "ablation": (-0.01, 0.01),
    "change": (0.1, 0.4),
    "lyapunov": (-0.1, 0.1),
}
"""From where to where readings of random weights lie, 128 or 768 wide, at 128 tokens."""

TWO_WAYS: dict[str, tuple[float, float]] = {"first_token": (0.005, 0.012), "arrow": (0.0005, 0.006)}
CAUSAL: dict[str, tuple[float, float]] = {"first_token": (0.02, 0.05), "arrow": (0.025, 0.06)}
"""The same of those that depend on who sees whom."""


def _from(band: tuple[float, float]) -> str:
    return f"{band[0]:g} to {band[1]:g}".replace("-", "\N{MINUS SIGN}")


READINGS = (
    Reading(
        ("spread", "participation", "participation_law"),
        "Spread, Y₂",
        "How sharp a head is. Far below a spread of 1 it averages over many keys, above 1 it is frozen: a few keys hold the "
        "weight. Y₂ above that of random energies: a few keys stand apart from the rest.",
        f"Spread {_from(BOTH['spread'])}. Y₂ of even weights, and of the law: at 128 tokens 0.008, with a causal mask 0.036.",
        "Of a frozen head, see which token it points at, on other texts too. Of one that averages, look at its ablation.",
    ),
    Reading(
        ("thermometer",),
        "Thermometer U",
        "Of a head that is right: 1 is as sure as right, above 1 too cold, below too hot. Of another head it says nothing.",
        f"{_from(BOTH['thermometer'])}: even weights have 1, and a head that looks elsewhere seems too cold.",
        "Count first how often the largest weight is on the right key. Then scale its scores, and see if the loss cares.",
    ),
    Reading(
        ("symmetric_share",),
        "Symmetric share",
        "1: the scores have an energy. 0: what draws i to j repels j from i.",
        f"{_from(BOTH['symmetric_share'])}: 1/2 + 1/(2 width) on average, so 1/2 says nothing.",
        "Keep one part of the form and measure the loss, as page 7d does.",
    ),
    Reading(
        ("store", "walk", "erase"),
        "Store, walk, erase",
        "What a head writes of what it reads: the same again (store), its negative (erase), something else (walk). "
        "They are a trace; positive and negative eigenvalues that cancel count as a walk.",
        f"Walk above 0.9, store and erase {_from(BOTH['store'])}; eigenvalues lie on all sides of zero.",
        "Look at its eigenvalues (in Python, of a row of heads). Then take its positive or its negative part out.",
    ),
    Reading(
        ("first_token",),
        "Weight on the first token",
        "Above 0.3 the head has a sink: it rests there when it finds nothing.",
        f"At 128 tokens {_from(TWO_WAYS['first_token'])}, with a causal mask {_from(CAUSAL['first_token'])}: "
        "one over the number of keys.",
        "Spread and Y₂ of such a head are those of its sink. Read it on texts where it is needed, or ablate it.",
    ),
    Reading(
        ("arrow", "antisymmetric_share"),
        "Arrow, antisymmetric share of scores",
        "How much more a token gives than it gets, in nats a token and step. A share of 0 has no arrow to first order.",
        f"At 128 tokens {_from(TWO_WAYS['arrow'])} nats; a causal mask alone makes {_from(CAUSAL['arrow'])}. "
        f"Share {_from(BOTH['antisymmetric_share'])}.",
        "With a causal mask only what exceeds the mask's own tells. Compare heads of one network.",
    ),
    Reading(
        ("ablation",),
        "Cost of its ablation",
        "What the loss gains, in nats, where the head says its mean. Below zero the network is better without it on this text.",
        f"{_from(BOTH['ablation'])} nats.",
        "A head that costs nothing may have a stand-in: silence both. Repeat on another text before you believe a small cost.",
    ),
    Reading(
        ("change", "cosine"),
        "The states",
        "Change: the length of a step beside that of the state. Cosine: near 1 all tokens are alike, and later heads tell "
        "them apart no more.",
        f"Change {_from(BOTH['change'])}, but at first where embeddings are small (GPT-2: 2.6 at step one, 0.3 at twelve). "
        "The cosine rises step by step: by 0.01 or more in six, to 0.5 in GPT-2's twelve, to 0.8 in page 7d's eight.",
        "A jump of one step names the block to look at. A tied block with changes near 0 is at rest.",
    ),
    Reading(
        ("lyapunov",),
        "Largest Lyapunov exponent",
        "Of a tied block that goes on: below 0 copies that start close meet, above 0 they part. Of what is read out it says "
        "nothing.",
        f"{_from(BOTH['lyapunov'])} nats a step.",
        "Measure the loss after more and fewer steps than trained: on page 7d the answer was passed on the way.",
    ),
)
"""All readings, in the order of the pictures."""


def readings(found: Examination) -> list[Reading]:
    """Those of which an examination has something."""
    told = {name for name in (found.table()[0] if found.heads else ()) if not bool(found.grid(name).isnan().all())}
    told |= {"change", "cosine"} | ({"lyapunov"} if found.lyapunov is not None else set())
    return [one for one in READINGS if told & set(one.columns)]
