"""Trained heads for page 8c: attention that reads digits, attention that recalls, and driven spins in its place.

Nothing to run here: ``driven_attention.py`` asks for it.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib.attention import Mixer, SoftmaxAttention
from attnlib.course.data import Images, digits
from attnlib.course.models import PatchClassifier, teach_labels
from attnlib.kinetic import KineticAttention

PATCH, PERIOD, LENGTH, SYMBOLS = (2, 4), 5, 10, 8
"""Of pictures: eight patches beside a class token. Of sequences: how soon they repeat, how long they are, how many signs."""
MIXERS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "naive, 1 step": {"steps": 1},
    "naive, 3 steps": {"steps": 3},
    "moments, 3 steps": {"steps": 3, "closure": "moments"},
}
"""Contestants on digits: attention, and driven spins with as many heads and parameters."""


def reader(name: str, settings: dict[str, Any], seed: int) -> PatchClassifier:
    """A classifier of digits around the mixer of a name."""
    torch.manual_seed(seed)
    kind = SoftmaxAttention if name == "softmax" else KineticAttention
    mixer = kind(settings["dim"], heads=settings["heads"], **MIXERS[name])
    return PatchClassifier(mixer, image=(8, 8), patch=PATCH)


def taught(
    name: str, settings: dict[str, Any], rate: float, seed: int, pictures: tuple[Images, Images]
) -> tuple[nn.Module, float]:
    """A classifier that has learned from the first pictures, and the share of the second that it misreads."""
    model, (learned, tested) = reader(name, settings, seed), pictures
    order = torch.Generator().manual_seed(seed)
    teach_labels(model, learned.pictures, learned.labels, settings["steps"], batch=32, learning_rate=rate, generator=order)
    with torch.no_grad():
        wrong = (model(tested.pictures).argmax(-1) != tested.labels).double().mean().item()
    return model, wrong


def searched(name: str, settings: dict[str, Any]) -> list[tuple[float, float]]:
    """Rates, and what is misread after each, on pictures that fold 0 learns from: seed 0."""
    own = digits().fold(0)[0].fold(0)
    return [(rate, taught(name, settings, rate, 0, own)[1]) for rate in settings["rates"]]


class Recall(nn.Module):
    """Say the next sign of a sequence that repeats: signs and places in, one layer of causal attention, a linear map."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        dim = settings["dim"]
        self.signs, self.places = nn.Embedding(SYMBOLS, dim), nn.Parameter(torch.randn(LENGTH, dim) / 2)
        self.mixer: Mixer = SoftmaxAttention(dim, heads=settings["heads"], causal=True)
        self.readout = nn.Linear(dim, SYMBOLS)

    def tokens(self, signs: Tensor) -> Tensor:
        """Signs with their places, ``[batch, length, dim]``."""
        return self.signs(signs) + self.places

    def forward(self, signs: Tensor) -> Tensor:
        """Logits of the next sign."""
        return self.readout(self.mixer(self.tokens(signs)))


def sequences(count: int, generator: torch.Generator) -> Tensor:
    """Signs that repeat after a period, one more than are shown: ``[count, length + 1]``."""
    drawn = torch.randint(SYMBOLS, (count, PERIOD), generator=generator)
    return drawn.repeat(1, 3)[:, : LENGTH + 1]


def recalled(settings: dict[str, Any], seed: int) -> tuple[Recall, float]:
    """A layer that has learned to recall, and how often it is right where that is possible."""
    torch.manual_seed(seed)
    generator, model = torch.Generator().manual_seed(seed), Recall(settings)
    rule = torch.optim.Adam(model.parameters(), settings["recall rate"])
    for _ in range(settings["recall steps"]):
        signs = sequences(64, generator)
        loss = F.cross_entropy(model(signs[:, :-1])[:, PERIOD - 1 :].flatten(0, 1), signs[:, PERIOD:].flatten())
        rule.zero_grad()
        loss.backward()
        rule.step()
    signs = sequences(1000, generator)
    with torch.no_grad():
        right = (model(signs[:, :-1])[:, PERIOD - 1 :].argmax(-1) == signs[:, PERIOD:]).double().mean().item()
    return model, right


def heads_of(model: nn.Module, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Weights and values of every head for some inputs, in double precision: ``[count, n, n]`` and ``[count, n, d]``."""
    with torch.no_grad():
        tokens = model.tokens(inputs)
        weights, values = model.mixer.explain(tokens).weights, model.mixer.split(tokens).value
    return weights.flatten(0, 1).double(), values.flatten(0, 1).double()
