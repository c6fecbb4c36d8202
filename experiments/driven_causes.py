"""What the misses of ``driven_specimens.py`` come from: one thing in a network changed, and its arrow or its loss read again.

    python experiments/driven_causes.py --weights FOLDER [--quick] [--output FILE]

FOLDER is what ``specimens.py`` was given. Nothing here was predicted: it was written when the record ``driven_specimens`` was
known, to tell causes from what goes with them. Strings, films and noises are as there.

- ``arrows``, mean over heads by step: ``arrow`` as it is; ``doubly``: couplings scaled by rows and columns until all sum to
  one, so that nothing is left of the normalisation (a causal mask leaves only the identity so: not there); ``shuffled``: what
  a token gives to others is dealt to them by chance, its amounts kept, so that who is given gives nothing back on purpose; of
  ``causal`` also ``unheaded`` and ``unheaded closed``: the first token coupled to nothing, films and the Gaussian at rest;
- ``norms``: loss as in ``driven_specimens``, at finer shares; and ``matched``, one epsilon for all tokens, which is that of the
  temperature at a token of mean variance, so that the two differ by what tokens differ and by nothing else;
- ``held``: what fluctuations do to a first half where the weights do not move.

The file is written after each network.
"""

from pathlib import Path
from typing import Any

import driven_specimens
import records
import specimen_norms as norms
import torch
from examinations import Asked
from specimen_arrows import arrows, closed, couplings
from specimen_records import record
from torch import Tensor

from attnlib.course.models.specimens import specimen
from attnlib.transformer import LanguageModel

TITLE = "What the misses of driven transformers come from"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "driven_causes.json"
SETTINGS: dict[str, Any] = driven_specimens.SETTINGS | {
    "shares": [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6],
    "films": 32,
    "frames": 100,
    "rounds": 1000,
}
QUICK = driven_specimens.QUICK | {"shares": [0.3], "rounds": 200}


# --- couplings ---


def doubly(J: Tensor, rounds: int) -> Tensor:
    """Couplings scaled by rows and columns until each sums to one; rows of zeros, and their columns, stay."""
    for _ in range(rounds):
        for axis in (-2, -1):
            total = J.sum(axis, keepdim=True)
            J = J / torch.where(total > 0, total, 1.0)
    return J


def shuffled(J: Tensor, seen: Tensor, generator: torch.Generator) -> Tensor:
    """What a token gives to others that it sees (``seen``, without itself), dealt to these by chance."""
    order = torch.where(seen, torch.rand(J.shape, generator=generator), 2.0).argsort(-1)
    places = torch.where(seen, 0.0, 1.0).argsort(dim=-1, stable=True)
    return torch.where(seen, torch.zeros_like(J).scatter(-1, places, J.gather(-1, order)), J)


def unheaded(J: Tensor) -> Tensor:
    """The first token coupled to nothing, not to itself either: it turns by chance."""
    return torch.cat([torch.zeros_like(J[..., :1, :]), J[..., 1:, :]], -2)


def arrows_under(model: LanguageModel, network: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Arrows of couplings that were changed: for each token, mean over heads, by step."""
    few, generator = Asked(network, settings, settings["few"]), torch.Generator().manual_seed(seed)
    J, tokens = couplings(model, few), few.real.sum(-1)[:, None].double()

    def mean(produced: Tensor) -> list[float]:
        return (produced / tokens).mean((1, 2)).tolist()

    seen = few.real[:, :, None] & few.real[:, None] & ~torch.eye(J.shape[-1], dtype=torch.bool)
    if network == "causal":
        seen = seen.tril()
    changed = {"arrow": J, "shuffled": shuffled(J, seen[:, None].expand(J.shape), generator)}
    if network == "causal":
        changed["unheaded"] = unheaded(J)
    else:
        changed["doubly"] = doubly(J.double(), settings["rounds"]).to(J.dtype)
    found = {name: mean(arrows(one, settings, generator)) for name, one in changed.items()}
    return found | ({"unheaded closed": mean(closed(changed["unheaded"])[0])} if network == "causal" else {})


# --- norms ---


def curves(model: LanguageModel, asked: Asked, settings: dict[str, Any]) -> dict[str, Any]:
    """What the loss rises by with an epsilon, a temperature, and the epsilon that this is for a token of mean variance."""
    found, mean = norms.curves(model, asked, settings), norms.variances(model, asked)
    matched = []
    for e in settings["shares"]:
        with norms.with_epsilon(model, [(e**2 / 2 + e * (1 + e**2 / 4) ** 0.5) * k for k in mean]):
            matched.append(asked.loss(model(asked.tokens, asked.real)) - found["loss"])
    return {name: found[name] for name in ("shares", "epsilon", "temperature")} | {"matched": matched}


# --- one network ---


@torch.no_grad()
def causes(network: str, seed: int, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Everything about one network."""
    model = specimen(network, **settings["sizes"]).eval()
    model.load_state_dict(torch.load(folder / f"{network}-{seed}.pt", weights_only=True))
    found: dict[str, Any] = {"network": network, "seed": seed, "arrows": arrows_under(model, network, settings, seed)}
    found["norms"] = curves(model, Asked(network, settings), settings)
    few = Asked(network, settings, settings["few"])
    found["held"] = [norms.shaken(model, few, at - 1, settings, seed, held=True) for at in settings["at"]]
    return records.rounded(found, ("seed", "step", "shares"))


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and change what has not been."""
    said = TITLE, __doc__.splitlines()[0], "tiny networks, few strings, films and steps"
    record(causes, RESULTS, said, (SETTINGS, QUICK), arguments)


if __name__ == "__main__":
    main()
