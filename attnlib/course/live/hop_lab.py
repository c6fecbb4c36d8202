"""The hop lab: a story, a question, a trained memory network; take facts away, add some, and see what it reads (chapter 2)."""

import math
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.data.networks import unpacked
from attnlib.course.data.stories import ANIMALS, COLOURS, KINDS, NAMES, VOCABULARY
from attnlib.course.live._figure import FigureError, LiveFigure, Number
from attnlib.course.models import multi_hop

MOST_FACTS = 16
BETA_RANGE = (0.1, 10.0)
BLANK, IS, ARE, A = (VOCABULARY.index(word) for word in ("", "is", "are", "a"))
FIRST = {words[0]: VOCABULARY.index(words[0]) for words in (NAMES, ANIMALS, KINDS, COLOURS)}
"""Where the names, the animals, their plurals and the colours begin in the vocabulary."""


class HopLab(LiveFigure):
    """A story about animals and what a memory network reads in it, hop by hop: facts can be hidden, changed, added and moved.

    Its numbers are computed from the weights of trained networks, which ``recorded("memory_networks")`` holds in 8 bits.

    Traits, all to be set, observed and linked:

    - ``record``: the networks, their vocabulary, and stories to choose from;
    - ``network``: which of them answers, counted from 0;
    - ``facts``: 1 to 16 sentences as in :class:`~attnlib.course.data.stories.Stories`, four numbers of words each, and
      ``hidden``, the places of those that the network may not attend to; one fact must be left;
    - ``asked``: the number of the name whose colour is wanted;
    - ``beta``: inverse temperature, from 0.1 to 10, in units of that in training; ``keep``: whether a hop adds what it found
      to the question, or replaces it.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> from attnlib.course.data.recorded import recorded
    >>> figure = HopLab(recorded("memory_networks"))
    >>> [reading.index(max(reading)) for reading in figure.readout["weights"]] == figure.readout["follows"][0][1:]
    True
    """

    constants: ClassVar[dict[str, Any]] = {
        "MOST_FACTS": MOST_FACTS,
        "BETA_RANGE": BETA_RANGE,
        "WORDS": VOCABULARY,
        "FIRST": dict(zip(("name", "animal", "kind", "colour"), FIRST.values(), strict=True)),
        "COUNT": {"name": len(NAMES), "animal": len(ANIMALS), "colour": len(COLOURS)},
    }
    record = traitlets.Dict().tag(sync=True)
    network = traitlets.Int(0).tag(sync=True)
    facts = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    hidden = traitlets.List(traitlets.Int()).tag(sync=True)
    asked = traitlets.Int().tag(sync=True)
    beta = Number(1.0, least=BETA_RANGE[0], most=BETA_RANGE[1]).tag(sync=True)
    keep = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self,
        record: dict[str, Any],
        network: int = 0,
        facts: list[list[int]] | None = None,
        asked: int | None = None,
        *,
        hidden: list[int] | tuple[int, ...] = (),
        beta: float | int = 1.0,
        keep: bool = True,
    ) -> None:
        if not isinstance(record, dict) or not {"networks", "rows", "stories", "dim"} <= set(record):
            raise FigureError(f'record is {record!r:.40}; expected what recorded("memory_networks") returns')
        used = {key: record[key] for key in ("dim", "rows", "stories")}
        used["networks"] = [{key: net[key] for key in ("hops", "told", "tables")} for net in record["networks"]]
        first = record["stories"][0]
        super().__init__(
            record=used,
            network=network,
            facts=[list(fact) for fact in (first["facts"] if facts is None else facts)],
            asked=first["asked"] if asked is None else asked,
            hidden=list(hidden),
            beta=float(beta),
            keep=keep,
        )

    @traitlets.validate("network")
    def _check_network(self, proposal: dict[str, Any]) -> int:
        if not 0 <= proposal["value"] < len(self.record["networks"]):
            raise FigureError(f"network is {proposal['value']}; expected 0 <= network < {len(self.record['networks'])}")
        return proposal["value"]

    @traitlets.validate("facts")
    def _check_facts(self, proposal: dict[str, Any]) -> list[list[int]]:
        facts = proposal["value"]
        if not 1 <= len(facts) <= MOST_FACTS:
            raise FigureError(f"facts has {len(facts)} sentences; expected 1 to {MOST_FACTS}")
        for fact in facts:
            if not _is_fact(fact):
                raise FigureError(f"facts has {fact}; expected numbers of words such as those of 'Ada is a hare'")
        self._refuse_hidden(self.hidden, len(facts))
        return facts

    @traitlets.validate("hidden")
    def _check_hidden(self, proposal: dict[str, Any]) -> list[int]:
        self._refuse_hidden(proposal["value"], len(self.facts))
        return sorted(set(proposal["value"]))

    @staticmethod
    def _refuse_hidden(hidden: list[int], count: int) -> None:
        if not all(0 <= place < count for place in hidden) or 0 < count == len(set(hidden)):
            raise FigureError(f"hidden is {hidden}; expected some, not all, of the places 0 to {count - 1}")

    @traitlets.validate("asked")
    def _check_asked(self, proposal: dict[str, Any]) -> int:
        if not _within(proposal["value"], NAMES):
            names = [VOCABULARY.index(name) for name in NAMES]
            raise FigureError(f"asked is {proposal['value']}; expected the number of a name, {names[0]} to {names[-1]}")
        return proposal["value"]

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :func:`attnlib.course.models.multi_hop`.

        ``scores`` and ``weights``, ``[hops, m]``: beta times :math:`k_j \cdot q^t` for every fact, and the attention, zero
        for what is hidden. ``answers``, the probability of each word of the vocabulary, and ``answer``, the number of the most
        probable one. ``follows``: each colour that the facts in sight imply, with the places of the facts it rests on.
        """
        net, dim = self.record["networks"][self.network], self.record["dim"]
        key, value = (self._sentences(net["tables"][name], "fact", self.facts) for name in ("key", "value"))
        question = [VOCABULARY.index("what"), VOCABULARY.index("colour"), IS, self.asked]
        query = self._sentences(net["tables"]["question"], "question", [question])[0]
        maps = [unpacked(matrix, -1, dim) for matrix in net["tables"]["maps"]]
        beta = self.beta / math.sqrt(dim)
        mask = torch.tensor([place not in self.hidden for place in range(len(self.facts))])
        hops = multi_hop(query, key, value, maps, keep=self.keep, beta=beta, mask=mask)
        logits = unpacked(net["tables"]["answer"], -1, dim) @ hops.reading[-1] + unpacked(net["tables"]["bias"], -1)
        answers = logits.softmax(-1)
        return {
            "scores": (beta * hops.query @ key.mT).tolist(),
            "weights": hops.weights.tolist(),
            "answers": answers.tolist(),
            "answer": int(answers.argmax()),
            "follows": _follows(self.facts, self.hidden, self.asked),
        }

    def _sentences(self, table: dict[str, Any], kind: str, sentences: list[list[int]]) -> Tensor:
        """Sums of the rows that the words have in their places, ``[sentences, dim]``."""
        row = {number: place for place, number in enumerate(self.record["rows"][kind])}
        found = [[row[place * len(VOCABULARY) + word] for place, word in enumerate(words)] for words in sentences]
        return unpacked(table, -1, self.record["dim"])[torch.tensor(found)].sum(1)

    @property
    def name(self) -> str:
        """The network in words."""
        net = self.record["networks"][self.network]
        return f"{net['hops']} hop{'s' * (net['hops'] > 1)}, {'told the facts' if net['told'] else 'answers alone'}"

    def alt(self) -> str:
        """The question, what each hop reads, the answer, and what the facts imply."""
        said = self.readout
        seen = []
        for hop, weights in enumerate(said["weights"], start=1):
            place = max(range(len(weights)), key=weights.__getitem__)
            seen.append(f"hop {hop} gives {weights[place]:.2f} to \u201c{_told(self.facts[place])}\u201d")
        return (
            f"Hop lab: {len(self.facts)} facts, {len(self.hidden)} of them hidden, and the question what colour "
            f"{VOCABULARY[self.asked]} is. Network: {self.name}. {'; '.join(seen)}. {_answered(said)}"
        )

    def still(self) -> str:
        """The facts, a column of weights for each hop, the answer and what follows from the facts."""
        said, top = self.readout, 70
        rows, hops, low = [], len(said["weights"]), top + 24 * len(self.facts)
        for place, fact in enumerate(self.facts):
            y, pale = top + 24 * place, ' opacity="0.4"' if place in self.hidden else ""
            rows.append(f'<text x="20" y="{y + 16}"{pale}>{place}. {_told(fact)}</text>')
            for hop in range(hops):
                weight, x = said["weights"][hop][place], 260 + 100 * hop
                rows.append(
                    f'<rect x="{x}" y="{y}" width="96" height="22" fill="#0072b2" fill-opacity="{weight:.2f}"/>'
                    f'<text x="{x + 48}" y="{y + 16}" text-anchor="middle" fill="{"#fff" if weight > 0.5 else "#1d2733"}">'
                    f"{weight:.2f}</text>"
                )
        still = "A still picture. Run the cell, or allow JavaScript, to hide and change facts and to choose a network."
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {low + 84}" width="720" height="{low + 84}" '
            'font-family="sans-serif" font-size="14" fill="#1d2733">'
            f'<rect width="720" height="{low + 84}" rx="12" fill="#fcfcfa"/>'
            f'<text x="20" y="28" font-weight="bold">What colour is {VOCABULARY[self.asked]}? Network: {self.name}.</text>'
            + "".join(f'<text x="{308 + 100 * t}" y="58" text-anchor="middle">hop {t + 1}</text>' for t in range(hops))
            + "".join(rows)
            + f'<text x="20" y="{low + 30}">{_answered(said)}</text><text x="20" y="{low + 56}">{still}</text></svg>'
        )


def _within(word: int, words: tuple[str, ...]) -> bool:
    return FIRST[words[0]] <= word < FIRST[words[0]] + len(words)


def _is_fact(fact: list[int]) -> bool:
    """Whether it is one of *Ada is a hare*, *Ada is grey* and *hares are grey*."""
    if len(fact) != 4:
        return False
    who, verb, what, last = fact
    if (verb, what) == (IS, A):
        return _within(who, NAMES) and _within(last, ANIMALS)
    subjects = {IS: NAMES, ARE: KINDS}
    return verb in subjects and _within(who, subjects[verb]) and _within(what, COLOURS) and last == BLANK


def _told(fact: list[int]) -> str:
    return " ".join(VOCABULARY[word] for word in fact if word)


def _follows(facts: list[list[int]], hidden: list[int], asked: int) -> list[list[int]]:
    """Colours of the one asked for and the facts they rest on, shortest chains first; a colour that is said needs no chain."""
    seen = [(place, fact) for place, fact in enumerate(facts) if place not in hidden]
    said = [(place, who, what) for place, (who, verb, what, _) in seen if verb == IS and what != A]
    direct = [[what, place] for place, who, what in said if who == asked]
    kinds = [(place, who, last) for place, (who, _, what, last) in seen if what == A]
    rules = [(place, who + FIRST[ANIMALS[0]] - FIRST[KINDS[0]], what) for place, (who, verb, what, _) in seen if verb == ARE]
    mine = [(place, kind) for place, who, kind in kinds if who == asked]
    by_rule = [[what, i, j] for i, kind in mine for j, of, what in rules if of == kind]
    others = [(i, j, who) for i, kind in mine for j, who, same in kinds if same == kind and who != asked]
    by_example = [[what, i, j, k] for i, j, other in others for k, who, what in said if who == other]
    chains = direct or [*by_rule, *by_example]
    return [chain for place, chain in enumerate(chains) if chain[0] not in [other[0] for other in chains[:place]]]


def _answered(said: dict[str, Any]) -> str:
    """What the network says, and what the facts in sight imply."""
    share, chains = said["answers"][said["answer"]], said["follows"]
    law = f"The facts in sight allow {' or '.join(VOCABULARY[chain[0]] for chain in chains) or 'no colour'}."
    if len(chains) == 1:
        law = f"From the facts {', '.join(map(str, chains[0][1:]))} follows {VOCABULARY[chains[0][0]]}."
    return f"It answers {VOCABULARY[said['answer']]} with probability {share:.2f}. {law}"
