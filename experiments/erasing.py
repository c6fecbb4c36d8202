"""Do heads that write the negative of what they read keep tokens apart? Page 7d's networks without a part of their maps.

    python experiments/erasing.py --weights FOLDER [--quick] [--output FILE]

FOLDER is what ``specimens.py`` was given. A head adds ``M x_j`` to the stream for what it reads, with ``M = W_O W_V``; in
eigenvectors of its symmetric part ``M = sum_i lambda_i u_i u_i^T + K``. On strings of ``examinations.py``, for each network:

- ``sizes``: the share of all ``|M|^2`` that eigenvalues below zero, eigenvalues above it, and K have;
- ``cosine``: between tokens of a string in each state, and ``loss``, with the networks as they are (``whole``), and when in
  all heads at all steps the negative part is taken out (``negative``), half of it (``half``), the positive part
  (``positive``), or K (``antisymmetric``); when every M is made as small as it is without its negative part, all signs kept
  (``smaller``); when heads write nothing (``silent``); and when they write nothing but one of the parts (``negative alone``,
  ``positive alone``, ``antisymmetric alone``) or half of the negative one (``half alone``). Weights follow the state.

The file is written after each network. What was predicted stands in ``predictions.md``, under "Heads that erase".
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import examinations
import records
import torch
from examinations import Asked, cosines
from specimen_records import record
from torch import Tensor

from attnlib.attention import SoftmaxAttention
from attnlib.course.models.specimens import specimen
from attnlib.transformer import LanguageModel
from attnlib.transformer.reading import head_maps

TITLE = "Transformers that learn the language of joinings, without what their heads erase"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "erasing.json"
NAMES = ("strings", "share", "seeds", "sizes", "drawn")
SETTINGS: dict[str, Any] = {name: examinations.SETTINGS[name] for name in NAMES}
QUICK: dict[str, Any] = {name: examinations.QUICK[name] for name in NAMES}


def parts_of(maps: Tensor) -> dict[str, Tensor]:
    """The negative, the positive and the antisymmetric part of maps ``[..., dim, dim]``, whose sum they are."""
    values, vectors = torch.linalg.eigh((maps + maps.mT) / 2)

    def built(values: Tensor) -> Tensor:
        return (vectors * values[..., None, :]) @ vectors.mT

    return {
        "negative": built(values.clamp(max=0)),
        "positive": built(values.clamp(min=0)),
        "antisymmetric": (maps - maps.mT) / 2,
    }


def maps_of(mixer: SoftmaxAttention) -> Tensor:
    """``W_O W_V`` of each head, ``[heads, dim, dim]``, in double precision."""
    _, _, value, out = head_maps(mixer)
    return out @ value


def changed(maps: Tensor) -> dict[str, Tensor]:
    """Maps ``[heads, dim, dim]`` without a part, two controls (all of a map made smaller, and nothing), and a part alone."""
    parts = parts_of(maps)
    found = {name: maps - part for name, part in parts.items()} | {"half": maps - parts["negative"] / 2}
    left, whole = (each.square().sum((-2, -1), keepdim=True) for each in (found["negative"], maps))
    alone = {f"{name} alone": part for name, part in parts.items()} | {"half alone": parts["negative"] / 2}
    return found | {"smaller": maps * (left / whole).sqrt(), "silent": torch.zeros_like(maps)} | alone


@contextmanager
def writing(model: LanguageModel, maps: list[Tensor]) -> Iterator[None]:
    """Inside, the heads of each block write by these maps, ``[heads, dim, dim]``, in place of their own."""

    def write(mixer: torch.nn.Module, given: tuple[Tensor], how: dict[str, Tensor], _: Tensor) -> Tensor:
        x = given[0]
        weights = cast("SoftmaxAttention", mixer).explain(x, mask=how["mask"]).weights
        return torch.einsum("...hnm,...md,hed->...ne", weights, x, maps[mixers.index(mixer)].to(x.dtype))

    mixers = [block.mixer for block in model.stack.blocks]
    hooks = [mixer.register_forward_hook(write, with_kwargs=True) for mixer in mixers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def measured(model: LanguageModel, asked: Asked) -> tuple[list[float], float]:
    """The mean cosine between tokens in each state, and the loss."""
    states = model.states(asked.tokens, asked.real)
    return [cosines(state, asked.real) for state in states], asked.loss(model(asked.tokens, asked.real))


@torch.no_grad()
def without(model: LanguageModel, asked: Asked) -> dict[str, Any]:
    """How large the parts of a model's maps are, and what becomes of cosines and loss with each way of changing them."""
    whole = [maps_of(cast("SoftmaxAttention", block.mixer)) for block in model.stack.blocks]
    parts, others = [parts_of(maps) for maps in whole], [changed(maps) for maps in whole]
    total = sum(maps.square().sum() for maps in whole)
    found: dict[str, Any] = {"sizes": {}, "cosine": {}, "loss": {}}
    found["cosine"]["whole"], found["loss"]["whole"] = measured(model, asked)
    for name in parts[0]:
        found["sizes"][name] = (sum(each[name].square().sum() for each in parts) / total).item()
    for name in others[0]:
        with writing(model, [each[name] for each in others]):
            found["cosine"][name], found["loss"][name] = measured(model, asked)
    return found


def erased(network: str, seed: int, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Everything about one network."""
    model = specimen(network, **settings["sizes"]).eval()
    model.load_state_dict(torch.load(folder / f"{network}-{seed}.pt", weights_only=True))
    found = {"network": network, "seed": seed} | without(model, Asked(network, settings))
    return records.rounded(found, ("seed",))


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and take parts out of networks that have not been through it."""
    said = TITLE, __doc__.splitlines()[0], "tiny networks, few strings"
    record(erased, RESULTS, said, (SETTINGS, QUICK), arguments)


if __name__ == "__main__":
    main()
