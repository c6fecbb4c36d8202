"""The mapper: a head of a trained transformer finds where the tokens of a product come from, step by step (chapter 7)."""

import functools
import html
import math
from itertools import pairwise
from typing import Any, ClassVar

import torch
import traitlets

from attnlib.course.data.joining import ARROW, MASK, VOCABULARY, written
from attnlib.course.data.recorded import recorded
from attnlib.course.live._figure import LiveFigure, Number, Whole
from attnlib.course.live._mapped import STEPS, STRINGS, copies, sent, unpacked
from attnlib.transformer import thermometer

BETA_RANGE, WORDS = (0.125, 8.0), [*VOCABULARY]
NEAR, EVEN = 0.125, 0.005
"""The challenge is solved where U is read as 1.00, and, in powers of two, within a place of the slider of where it is one."""
HEIGHT, BOX, TOP, BOTTOM, BARS = 272, 26, 30, 188, 26


class Mapper(LiveFigure):
    r"""A string of the language of joinings above its product, and where a head of a trained transformer looks from there.

    The head and its best step are the mapper: of eight heads at eight steps of a tied block, those with the largest weight on
    the right key in most hidden rows. Its scores are computed from ``recorded("specimen_weights")`` when the figure is made.
    They are sent in 12 bits, what each key lacks to the best of its row; the browser makes weights of them at any beta:

    .. math:: p_{ij} \propto e^{-\beta d_{ij}}, \qquad
        U = \frac{\sum_i \sum_j p_{ij}^2}{\sum_i p_{i\,\mathrm{right}}}

    A hidden token of the product is asked for where its copy is seen. What the scores are computed from is the network as it
    was trained, with all its heads at their own beta at every step; beta turns this head at the step that is shown, alone.

    Traits, all to be set, observed and linked:

    - ``record``: the strings with what the head's scores lack, and what was measured on 1,000 other strings;
    - ``string``: which of three strings, counted from 0;
    - ``step``: 1 to 8; without one it is the mapper's best;
    - ``beta``: inverse temperature of the head at that step, from 1/8 to 8, in units of its own;
    - ``alone``: draw lines from hidden tokens alone;
    - ``more``: whether the table of all heads and the controls beside it are open.

    Raises:
        FigureError: a ValueError; a trait out of its range, a record of something else. The trait keeps its old value.

    >>> said = Mapper(beta=8.0).readout
    >>> len(said["weights"]) == len(said["best"]), said["right"] <= said["asked"]
    (True, True)
    """

    constants: ClassVar[dict[str, Any]] = {
        "STEPS": STEPS,
        "BETA_RANGE": BETA_RANGE,
        "WORDS": WORDS,
        "ARROW": ARROW,
        "NEAR": NEAR,
        "EVEN": EVEN,
        "HEIGHT": HEIGHT,
        "BOX": BOX,
        "TOP": TOP,
        "BOTTOM": BOTTOM,
        "BARS": BARS,
    }
    record = traitlets.Dict().tag(sync=True)
    string = Whole(0, least=0, most=STRINGS - 1).tag(sync=True)
    step = Whole(STEPS, least=1, most=STEPS).tag(sync=True)
    beta = Number(1.0, least=BETA_RANGE[0], most=BETA_RANGE[1]).tag(sync=True)
    alone = traitlets.Bool(False).tag(sync=True)
    more = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        record: dict[str, Any] | None = None,
        string: int = 0,
        step: int | None = None,
        *,
        beta: float | int = 1.0,
        alone: bool = False,
        more: bool = False,
    ) -> None:
        given = _usual() if record is None else sent(record)
        step = given["step"] if step is None else step
        super().__init__(record=given, string=string, step=step, beta=float(beta), alone=alone, more=more)

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by ``attnlib``, from what is sent.

        Of the string, whose product has so many tokens and which has so many in all: ``weights``, ``[tokens of the product,
        tokens]``; ``rest``, the weight of each row that stays behind the arrow; ``best``, the key with the largest score.
        ``asked``, how many hidden tokens of the product have a copy that is seen, and ``right``, how many of these have their
        largest weight on it; ``U``, the thermometer of those with one copy, and ``curve``, U at the betas of the record.

        Of the other strings, by lines between the betas of the record: ``sample_U``, and ``sample_target``, the mean weight of
        the right key; ``one``, the beta nearest to 1 at which U is one at the mapper's best step, None if there is none;
        ``solved``, whether that step is shown, and a beta at which U is one.
        """
        given, record = self.record["strings"][self.string], self.record
        rows, arrow = len(given["origins"]), given["tokens"].index(ARROW)
        lacks = unpacked(given["lacks"]).reshape(STEPS, rows, -1)[self.step - 1]
        right = torch.tensor(given["right"])
        asked = [row for row, keys in enumerate(copies(given)) if keys]
        weights, best = torch.softmax(-self.beta * lacks, -1), lacks.argmin(-1).tolist()
        cooled = [thermometer(torch.softmax(-(2.0**power) * lacks, -1), right) for power in record["log2_betas"]]
        one, U = _crossing(record), _between(record, "U", self.step, self.beta)
        near = one is not None and (abs(U - 1) < EVEN or abs(math.log2(self.beta / one)) <= NEAR)
        return {
            "weights": weights.tolist(),
            "rest": weights[:, arrow + 1 :].sum(-1).tolist(),
            "best": best,
            "asked": len(asked),
            "right": sum(best[row] in copies(given)[row] for row in asked),
            "U": thermometer(weights, right).ratio.item(),
            "curve": [each.ratio.item() for each in cooled],
            "sample_U": U,
            "sample_target": _between(record, "target", self.step, self.beta),
            "one": one,
            "solved": self.step == record["step"] and near,
        }

    def alt(self) -> str:
        """Who looks, which string, and how often it is right, in three sentences."""
        said, given = self.readout, self.record["strings"][self.string]
        shown = [MASK if place in given["hidden"] else token for place, token in enumerate(given["tokens"])]
        share = self.record["shares"]
        percent = 100 * unpacked(share).reshape(STEPS, -1)[self.step - 1, self.record["head"] - 1].item()
        return (
            f"The mapper, head {self.record['head']} of a trained block at step {self.step}, on the string "
            f"{written(torch.tensor(shown))}. Of {said['asked']} hidden tokens of the product whose copy is seen, it has its "
            f"largest weight on the right key for {said['right']}. In {self.record['count']:,} other strings it does for "
            f"{percent:.0f} % of such tokens."
        )

    def still(self) -> str:
        """The string above its product, the lines between them, and how often the head is right after each step."""
        said, given = self.readout, self.record["strings"][self.string]
        arrow, origins = given["tokens"].index(ARROW), given["origins"]
        cell = min(24, 430 // (arrow + 1))
        top = [round(230 + cell * (k - arrow / 2)) for k in range(arrow + 1)]
        low = [round(230 + cell * (k - (len(origins) - 1) / 2)) for k in range(len(origins))]
        kinds: dict[bool, list[str]] = {True: [], False: []}
        for (row, keys), asked in zip(enumerate(origins), copies(given), strict=True):
            for key in range(arrow + 1):
                if (weight := said["weights"][row][key]) > 0.1:
                    faint = "" if asked else ' opacity=".4"'
                    path = f'<path d="M{low[row]} 188L{top[key]} 56" stroke-width="{7 * weight:.1f}"{faint}/>'
                    kinds[key in keys].append(path)
        inks = {True: 'stroke="#0072b2"', False: 'stroke="#d55e00" stroke-dasharray="5 4"'}
        lines = "".join(f"<g {inks[kind]}>{''.join(drawn)}</g>" for kind, drawn in kinds.items())
        boxes, words, gaps = "", "", ""
        for y, across, first in ((30, top, 0), (188, low, arrow + 1)):
            line = list(enumerate(across, first))
            boxes += "".join(f"M{x - cell // 2 + 1} {y}h{cell - 2}v26h{2 - cell}z" for _, x in line)
            words += _spread([(x, MASK if at in given["hidden"] else given["tokens"][at]) for at, x in line], y + 18)
            gaps += _spread([(x, given["tokens"][at]) for at, x in line if at in given["hidden"]], 25 if not first else 228)
        shares = unpacked(self.record["shares"]).reshape(STEPS, -1)[:, self.record["head"] - 1].tolist()
        bars = "".join(f"M{486 + 27 * k} 190h20v{-130 * share:.0f}h-20z" for k, share in enumerate(shares))
        texts = (
            f"Step {self.step}: right for {said['right']} of {said['asked']} hidden tokens; {_tempered(said['sample_U'])}.",
            "A still picture. Run the cell, or allow JavaScript, to turn the step and the temperature.",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 300" width="720" height="300" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="300" rx="12" fill="#fcfcfa"/>'
            f'{lines}<path d="{boxes}" fill="#f0f0ea" stroke="#a8b0ba"/><g text-anchor="middle">{words}'
            f'<g font-size="11">{gaps}</g><text x="594" y="36">right tokens, by steps</text>'
            f'{_spread([(496 + 27 * k, k + 1) for k in range(STEPS)], 208, "12345678")}</g><path d="{bars}" fill="#0072b2"/>'
            '<path d="M484 60h220M484 190h220" stroke="#a8b0ba"/>'
            + "".join(f'<text x="20" y="{262 + 22 * i}">{text}</text>' for i, text in enumerate(texts))
            + "</svg>"
        )


@functools.cache
def _usual() -> dict[str, Any]:
    return sent(recorded("specimen_weights"))


def _between(record: dict[str, Any], name: str, step: int, beta: float) -> float:
    """A curve of the record at a beta, by a line between the two beside it on a scale of powers."""
    powers, curve = record["log2_betas"], unpacked(record[name]).reshape(STEPS, -1)[step - 1].tolist()
    power = math.log2(beta)
    left = max(0, min(len(powers) - 2, sum(each <= power for each in powers) - 1))
    share = (power - powers[left]) / (powers[left + 1] - powers[left])
    return curve[left] + share * (curve[left + 1] - curve[left])


def _crossing(record: dict[str, Any]) -> float | None:
    """The beta nearest to 1 at which U is one, at the mapper's best step."""
    points = zip(record["log2_betas"], unpacked(record["U"]).reshape(STEPS, -1)[record["step"] - 1].tolist(), strict=True)
    found = [
        low + (1 - below) / (above - below) * (high - low)
        for (low, below), (high, above) in pairwise(points)
        if (below - 1) * (above - 1) <= 0 and below != above
    ]
    return 2 ** min(found, key=abs) if found else None


def _tempered(ratio: float) -> str:
    """What a thermometer says."""
    kind = "too hot" if ratio < 0.97 else "too cold" if ratio > 1.03 else "as sure as it is right"
    return f"U is {ratio:.2f}, {kind}"


def _spread(tokens: list[tuple[int, int]], y: int, words: str = "") -> str:
    """Letters, each at its place."""
    letters = "".join(words[token - 1] if words else VOCABULARY[token][0] for _, token in tokens)
    return f'<text x="{" ".join(str(x) for x, _ in tokens)}" y="{y}">{html.escape(letters)}</text>'
