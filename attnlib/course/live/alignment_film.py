"""The alignment film: attention of a translator at recorded steps of its training, beside curves of the whole (chapter 2)."""

import base64
import math
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.live._figure import FigureError, LiveFigure
from attnlib.course.models import alignment_error_rate, links
from attnlib.softmax import entropy

CURVES = {
    "loss": "loss, nats",
    "aer": "alignment error",
    "entropy": "entropy / ln T",
    "spread": "spread / \u221a(2 ln T)",
}
"""What was measured on the validation sentences, and how it is called."""


class AlignmentFilm(LiveFigure):
    """A map of attention, English downwards and German across, that plays through the training of a translator.

    It shows what ``recorded("alignment_film")`` holds: weights in 8 bits, so that a number shown is right to one part in 255,
    of sentences that were not trained on, and curves measured on a hundred others. Nothing is trained here.

    Traits, all to be set, observed and linked:

    - ``record``: the runs and the sentences;
    - ``run`` and ``sentence``: which of them, counted from 0;
    - ``step``: of the training. The picture is that of the last recorded step up to this one.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> from attnlib.course.data.recorded import recorded
    >>> figure = AlignmentFilm(recorded("alignment_film"), step=400)
    >>> figure.readout["step"], f"{figure.readout['right']} of {len(figure.readout['links'])}"
    (400, '8 of 8')
    """

    constants: ClassVar[dict[str, Any]] = {"CURVES": CURVES}
    record = traitlets.Dict().tag(sync=True)
    run = traitlets.Int(0).tag(sync=True)
    sentence = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def __init__(self, record: dict[str, Any], run: int = 0, sentence: int = 0, step: int = 0) -> None:
        if not isinstance(record, dict) or not {"sentences", "runs"} <= set(record):
            raise FigureError(f'record is {record!r:.40}; expected what recorded("alignment_film") returns')
        kept = ("hidden", "score", "seed", "steps", "at", *CURVES)
        runs = [
            {key: run[key] for key in kept} | {"films": [film["weights"] for film in run["films"]]} for run in record["runs"]
        ]
        used = {"sentences": record["sentences"], "runs": runs}
        super().__init__(record=used, run=run, sentence=sentence, step=step)

    @traitlets.validate("run", "sentence")
    def _check_place(self, proposal: dict[str, Any]) -> int:
        name, count = proposal["trait"].name, len(self.record[f"{proposal['trait'].name}s"])
        if not 0 <= proposal["value"] < count:
            raise FigureError(f"{name} is {proposal['value']}; expected 0 <= {name} < {count}")
        return proposal["value"]

    @traitlets.validate("step")
    def _check_step(self, proposal: dict[str, Any]) -> int:
        last = max(run["steps"] for run in self.record["runs"])
        if not 0 <= proposal["value"] <= last:
            raise FigureError(f"step is {proposal['value']}; expected 0 <= step <= {last}")
        return proposal["value"]

    @property
    def frame(self) -> int:
        """The place, among those recorded, of the last step up to ``step``."""
        return sum(at <= self.step for at in self.record["runs"][self.run]["at"]) - 1

    def film(self) -> Tensor:
        """The weights at all recorded steps of this run and sentence, ``[frames, n, m]`` in float64, each row of sum one."""
        said = self.record["sentences"][self.sentence]
        parts = bytearray(base64.b64decode(self.record["runs"][self.run]["films"][self.sentence]))
        shape = (-1, len(said["target"]), len(said["source"]))
        return torch.frombuffer(parts, dtype=torch.uint8).double().reshape(shape) / 255

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.attention` and :mod:`attnlib.softmax`.

        ``step``, a recorded one, and of the sentence at this step ``weights``; ``links``, the source position of the largest
        weight for each target position, and how many of them are ``right``, gold links; ``sentence_aer`` and
        ``sentence_entropy``, mean over the rows in units of ln T. The curves at this step, as they were recorded: ``loss``,
        ``aer``, ``entropy`` and ``spread``, in units of the freezing spread.
        """
        run, said, weights = self.record["runs"][self.run], self.record["sentences"][self.sentence], self.film()[self.frame]
        gold, found = frozenset((i, j) for i, j in said["gold"]), links(weights)
        return {
            "step": run["at"][self.frame],
            "weights": weights.tolist(),
            "links": [j for _, j in sorted(found)],
            "right": len(found & gold),
            "sentence_aer": alignment_error_rate([found], [gold]),
            "sentence_entropy": entropy(weights).mean().item() / math.log(weights.shape[1]),
            **{name: run[name][self.frame] for name in CURVES},
        }

    @property
    def name(self) -> str:
        """What was set in the run, in words, and nothing about why it went as it did."""
        run = self.record["runs"][self.run]
        return f"{'unscaled' if run['score'] == 'dot' else 'scaled'}, seed {run['seed']}, {run['steps']} steps"

    def alt(self) -> str:
        """Run, sentence, step, and how the attention stands."""
        said, words = self.readout, self.record["sentences"][self.sentence]
        return (
            f"Alignment film, run: {self.name}. Attention for \u201c{' '.join(words['target'])}\u201d over "
            f"\u201c{' '.join(words['source'])}\u201d after step {said['step']}: {said['right']} of {len(said['links'])} "
            f"largest weights lie on gold links, entropy {said['sentence_entropy']:.2f} of ln T. Over a hundred sentences the "
            f"alignment error is {said['aer']:.2f} and the loss {said['loss']:.2f}."
        )

    def still(self) -> str:
        """The map with the gold links as rings, and the curves of the run with a mark at the step."""
        said, words = self.readout, self.record["sentences"][self.sentence]
        n, m, cell, left, top = len(words["target"]), len(words["source"]), 24, 112, 116
        cells = [
            f'<rect x="{left + cell * j}" y="{top + cell * i}" width="{cell - 1}" height="{cell - 1}" fill="#0072b2" '
            f'fill-opacity="{weight:.2f}"/>'
            for i, row in enumerate(said["weights"])
            for j, weight in enumerate(row)
        ]
        rings = [
            f'<circle cx="{left + cell * j + 11.5}" cy="{top + cell * i + 11.5}" r="9" fill="none" stroke="#d55e00" '
            'stroke-width="2"/>'
            for i, j in words["gold"]
        ]
        down = [
            f'<text x="{left - 6}" y="{top + cell * i + 16}" text-anchor="end">{word}</text>'
            for i, word in enumerate(words["target"])
        ]
        across = [
            f'<text transform="translate({left + cell * j + 12} {top - 6}) rotate(-50)">{word}</text>'
            for j, word in enumerate(words["source"])
        ]
        height = top + cell * max(n, 8) + 74
        last = "A still picture. Run the cell, or allow JavaScript, to play, and to choose run and sentence."
        low = height - 44
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" width="720" height="{height}" '
            'font-family="sans-serif" font-size="13" fill="#1d2733">'
            f'<rect width="720" height="{height}" rx="12" fill="#fcfcfa"/>'
            f'<text x="20" y="28" font-size="14" font-weight="bold">{self.name}: after step {said["step"]}</text>'
            + "".join([*cells, *rings, *down, *across, *self._panels(left + cell * m + 60, top, said)])
            + f'<text x="20" y="{low}">{said["right"]} of {n} largest weights lie on gold links (rings); '
            f'entropy {said["sentence_entropy"]:.2f} of ln T</text><text x="20" y="{low + 24}">{last}</text></svg>'
        )

    def _panels(self, left: int, top: int, said: dict[str, Any]) -> list[str]:
        """The four curves, each in a strip of its own."""
        run, width, found = self.record["runs"][self.run], 690 - left, []
        for place, (key, name) in enumerate(CURVES.items()):
            base, tall = top + 48 * (place + 1) - 8, 26 / max(run[key])
            points = [f"{left + width * at / run['steps']:.1f} {base - tall * y:.1f}" for at, y in zip(run["at"], run[key])]
            x, y = points[self.frame].split()
            found.append(
                f'<text x="{left}" y="{base - 30}" font-size="12">{name}: {said[key]:.2f}</text>'
                f'<path d="M{left} {base}h{width}" stroke="#d8d8d0"/>'
                f'<path d="M{"L".join(points)}" fill="none" stroke="#0072b2" stroke-width="1.5"/>'
                f'<circle cx="{x}" cy="{y}" r="4" fill="#d55e00"/>'
            )
        return found
