"""Right rows of the heads of page 7d's tied blocks at each step, when the blocks go on beyond the eight that were trained.

    python experiments/mapping_of_steps.py --weights FOLDER [--quick] [--output FILE]

FOLDER is what ``specimens.py`` was given. On the strings of ``rest`` in ``examinations.py``, whose ``mapping`` is the best head
so far and cannot fall, for each tied network, steps counted from 1:

- ``mapper``: the share of rows in which the mapper of ``examinations.py``, one head, is right at each step;
- ``best``: that of the best head at each step, and ``head``, which one, counted from 1;
- ``loss`` after each step.

The file is written after each network; of one that is not tied it says nothing. What was predicted stands in
``predictions.md``, under "Mapping while the block goes on".
"""

from pathlib import Path
from typing import Any

import examinations
import records
import torch
from examinations import Asked
from specimen_records import record

from attnlib.course.models.interventions import watched
from attnlib.course.models.specimens import specimen

TITLE = "Transformers that learn the language of joinings: who maps when a tied block goes on"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "mapping_of_steps.json"
NAMES = ("strings", "share", "seeds", "sizes", "drawn", "long")
SETTINGS: dict[str, Any] = {name: examinations.SETTINGS[name] for name in NAMES}
QUICK: dict[str, Any] = {name: examinations.QUICK[name] for name in NAMES}


@torch.no_grad()
def mapping(network: str, seed: int, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Everything about one network; of one that is not tied, that it is not."""
    model = specimen(network, **settings["sizes"]).eval()
    found: dict[str, Any] = {"network": network, "seed": seed}
    if not model.stack.tied:
        return found
    model.load_state_dict(torch.load(folder / f"{network}-{seed}.pt", weights_only=True))
    trained = Asked(network, settings)
    shares = trained.mapping(watched(model, trained.tokens, trained.real))
    head = int(shares.argmax()) % shares.shape[1]
    asked = Asked(network, settings, settings["long"]["strings"])
    seen = watched(model, asked.tokens, asked.real, steps=settings["long"]["steps"])
    shares = asked.mapping(seen)
    best, which = shares.max(1)
    found |= {"mapper": shares[:, head].tolist(), "best": best.tolist(), "head": (which + 1).tolist()}
    found["loss"] = [asked.loss(model.readout(state)) for state in seen.states[1:]]
    return records.rounded(found, ("seed", "head"))


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and look at networks that have not been looked at."""
    said = TITLE, __doc__.splitlines()[0], "tiny networks, few strings"
    record(mapping, RESULTS, said, (SETTINGS, QUICK), arguments)


if __name__ == "__main__":
    main()
