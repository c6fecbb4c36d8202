"""The networks of page 7d as driven systems: arrows of their heads, films of their blocks, and the epsilon of their norms.

    python experiments/driven_specimens.py --weights FOLDER [--quick] [--output FILE]

FOLDER is what ``specimens.py`` was given: ``NETWORK-SEED.pt`` for each of fifteen networks. On strings that nobody has learned
from, nobody was judged by, and that ``examinations.py`` has not seen:

- ``before`` and ``arrows``: entropy production of every head at every step, for each token, before training and after it
  (``specimen_arrows.py``);
- ``films``, of tied blocks: exponents under noise, films from two strings under one noise, and their law
  (``specimen_films.py``);
- ``norms``: what the loss rises by with another epsilon, and with a temperature in its place; what fluctuations of tokens do
  (``specimen_norms.py``).

The file is written after each network. What was predicted stands in ``predictions.md``, under "The networks of page 7d,
driven".
"""

from pathlib import Path
from typing import Any

import records
import specimens
import torch
from specimen_arrows import arrow_of
from specimen_films import films_of
from specimen_norms import norms_under
from specimen_records import record

from attnlib.course.models.specimens import specimen

TITLE = "Transformers that learn the language of joinings, as driven systems"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "driven_specimens.json"
SETTINGS: dict[str, Any] = {
    "strings": 200,
    "few": 12,
    "share": specimens.SETTINGS["share"],
    "seeds": specimens.SETTINGS["seeds"],
    "sizes": specimens.SETTINGS["sizes"],
    "drawn": 4 * 10**9,
    "films": 64,
    "before": 100,
    "frames": 200,
    "pairs": 8,
    "noises": 32,
    "sigmas": [0.0, 0.03, 0.1, 0.3, 1.0],
    "steps": 300,
    "last": 100,
    "close": 1e-3,
    "exponent": [100, 200],
    "shares": [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0],
    "shaken": 0.1,
    "draws": 128,
    "at": [1, 4, 8],
}
QUICK = SETTINGS | {
    "strings": 6,
    "few": 3,
    "seeds": 1,
    "sizes": specimens.QUICK["sizes"],
    "films": 4,
    "before": 2,
    "frames": 4,
    "pairs": 2,
    "noises": 4,
    "sigmas": [0.0, 0.3],
    "steps": 6,
    "last": 3,
    "exponent": [1, 2],
    "shares": [0.1],
    "draws": 4,
    "at": [1, 2],
}


@torch.no_grad()
def driven(network: str, seed: int, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Everything about one network."""
    torch.manual_seed(seed)
    model = specimen(network, **settings["sizes"]).eval()
    found: dict[str, Any] = {"network": network, "seed": seed}
    found["before"] = arrow_of(model, network, settings, seed, trained=False)
    model.load_state_dict(torch.load(folder / f"{network}-{seed}.pt", weights_only=True))
    found["arrows"] = arrow_of(model, network, settings, seed, trained=True)
    found["films"] = films_of(model, network, settings, seed) if model.stack.tied else None
    found["norms"] = norms_under(model, network, settings, seed)
    return records.rounded(found, ("seed", "head", "step", "shares"))


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and put on what has not been."""
    said = TITLE, __doc__.splitlines()[0], "tiny networks, few strings, films and steps"
    record(driven, RESULTS, said, (SETTINGS, QUICK), arguments)


if __name__ == "__main__":
    main()
