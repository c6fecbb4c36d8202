"""The walkers of page 7c, small enough to be sent to a browser: one tied block, trained on two hops alone, from five seeds.

    python experiments/walker_weights.py [--weights FOLDER] [--quick] [--output FILE]

They are the final runs of the contestant ``walker, 2 steps`` of ``collectives.py``, at its best learning rate, trained again
from the same seeds. In FOLDER each stays as ``seedN.pt`` when it is trained, and one that is there is not trained again: the
script can be stopped and goes on. A training takes a minute.

Every table is rounded to 8 bits, a whole number from -127 to 127 times a scale of its own. What is measured is measured before
rounding (``exact``) and after it (``measured``), at fresh questions: the loss at two hops, and which share of the answers to k
hops T steps give, a row for each T, a column for each k. Nothing is chosen by it: all five seeds are in the record. What ten
more seeds make of it, without their weights, stands in the record of ``walkers.py``.
"""

import sys
from pathlib import Path

import collective_contestants as contestants
import records
import torch
import torch.nn.functional as F
from collective_tasks import Hops
from memory_networks import packed

from attnlib.course.data.hops import hop_questions
from attnlib.course.data.networks import network_weights
from attnlib.course.models.walkers import HopWalker
from attnlib.transformer.training import train_one

TITLE = "Tied blocks that have learned two hops, and what they make of other numbers of them"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "walker_weights.json"
NAME, HOPS, MOST = "walker, 2 steps", 2, 8
SETTINGS = {"rate": 1e-3, "steps": 4000, "batch": 64, "test": 4096, "asked": 4096, "seeds": [11, 12, 13, 14, 15]}
UNSEEN = 10**6
"""What is added to a seed for the questions that judge its walker."""

QUICK = SETTINGS | {"steps": 3, "test": 64, "asked": 64, "seeds": [11, 12]}


def trained(seed: int, settings: dict[str, object], folder: Path | None = None) -> dict[str, torch.Tensor]:
    """The weights of a walker: those of the folder, or trained now, and kept there."""
    path = folder / f"seed{seed}.pt" if folder else None
    if path and path.exists():
        return torch.load(path, weights_only=True)
    how = {key: settings[key] for key in ("rate", "steps", "batch", "test")}
    task = Hops([HOPS], contestants.form("hops", NAME))
    run = train_one(lambda: contestants.made("hops", NAME), task, seed=seed, **how)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        torch.save(run.model.state_dict(), partial)
        partial.replace(path)
    return run.model.state_dict()


@torch.no_grad()
def judged(weights: dict[str, torch.Tensor], seed: int, count: int) -> dict[str, object]:
    """The loss at two hops, and shares of right answers: rows are steps, columns hops, both from 1 to 8."""
    walker = HopWalker().double()
    walker.load_state_dict(weights)
    asked = hop_questions(count, generator=torch.Generator().manual_seed(UNSEEN + seed))
    loss = F.cross_entropy(walker(asked), asked.answer(HOPS)).item()
    answers = torch.stack([asked.answer(k) for k in range(1, MOST + 1)])
    right = [(place == answers).double().mean(-1).tolist() for place in walker.walk(asked, MOST).places]
    return {"loss": loss, "right": right}


def walker(seed: int, settings: dict[str, object], folder: Path | None = None) -> dict[str, object]:
    """A seed's entry of the record."""
    weights, count = trained(seed, settings, folder), settings["asked"]
    tables = {name: packed(table) | {"shape": list(table.shape)} for name, table in weights.items()}
    measures = {"exact": judged(weights, seed, count), "measured": judged(network_weights(tables), seed, count)}
    return {"seed": seed, **records.rounded(measures), "tables": tables}


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and make what is missing."""
    parser = records.command(__doc__.splitlines()[0], "two walkers after three steps")
    parser.add_argument("--weights", type=Path, metavar="FOLDER", help="where trained walkers are, and stay")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings, target = QUICK if options.quick else SETTINGS, options.output or (None if options.quick else RESULTS)
    head = records.head("walker_weights", TITLE, arguments, options.quick, records.versions("torch", "attnlib"))
    made = []
    for seed in settings["seeds"]:
        made.append(walker(seed, settings, options.weights))
        print(seed, *(f"{made[-1]['measured']['right'][T - 1][T - 1]:.3f}" for T in range(1, MOST + 1)), file=sys.stderr)
    records.write(head | {"settings": settings, "walkers": made}, target)


if __name__ == "__main__":
    main()
