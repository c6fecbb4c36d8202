"""How does one block answer two hops? Softmax applied once, trained for long, then asked with colder heads; and no network.

    python experiments/one_reading.py [--jobs N] [--quick] [--output FILE]

Who reads one fact by content knows f(q), and who knows m of n facts, that of q among them, chosen whatever f is, is right on
f(f(q)) in (m + 1) / n. Sharp heads that choose by images can know more: are they sharp? The networks of ``more_hops.py`` are
trained again and looked at: with beta times a factor at the test alone, at last with each head reading its strongest fact
and no other; how many facts share a head's weight; and what the fact of q gets, that of f(q), and each of the rest on average.
And the same block without its network behind the mixer, at rates and for as long as that script's contestants.

The file is written after every run. Where it is already there, with the same settings, only what is missing is trained.
"""

from typing import Any

import collective_contestants as contestants
import records
import torch
from collective_interventions import heated, mixers, seen
from collective_tasks import Hops
from more_hops import LONGER, SHORT, Job, make_record
from torch import Tensor, nn

from attnlib.softmax import effective_number
from attnlib.transformer import Block, Stack, mixer
from attnlib.transformer.training import FRESH, train_one

TITLE = "One reading of eight facts: how sharp it is, and what is left without the network"
BARE = "softmax, no network"
COLDER = (2.0, 10.0, 1e4)
SETTINGS: dict[str, Any] = {
    "contestants": {"softmax": LONGER | {"rates": [0.003]}, BARE: LONGER},
    "search": [0, 1],
    "batch": 64,
    "test": 4096,
}
QUICK = SETTINGS | {"contestants": {"softmax": SHORT | {"rates": [0.003]}, BARE: SHORT}, "test": 64}


def made(name: str) -> nn.Module:
    """The stack of a contestant, with fresh parameters."""
    if name != BARE:
        return contestants.made("hops", name)
    sizes = {key: value for key, value in contestants.SIZES["hops"].items() if key not in ("heads", "tokens", "dim")}
    return Stack(Block(mixer("softmax", 32, heads=4), **sizes | {"feed_forward": 0}))


def facts_read(weights: Tensor, task: Hops) -> dict[str, list[float]]:
    """Of weights ``[batch, heads, 1, facts]``: how many facts share them, and what those of q, of f(q) and the others get.

    Means over questions whose q does not lead to itself, for each head. The others are six and get so much each, and so much
    those of them that do not lead to themselves, as f(q) never does.
    """
    start, there = (task.asked.answer(hop) for hop in (0, 1))
    away = start != there
    image, weights = task.asked.image[away], weights[away, :, 0].double()
    facts = torch.arange(image.shape[-1])
    own, then = (facts == place[away, None] for place in (start, there))
    others = {"own": own, "next": then, "rest": ~own & ~then, "rest that leads on": ~own & ~then & (image != facts)}
    found = {part: (weights * which[:, None]).sum((0, 2)) / which.sum() for part, which in others.items()}
    return {part: value.tolist() for part, value in ({"shared by": effective_number(weights).mean(0)} | found).items()}


def run(job: Job, settings: dict[str, Any]) -> dict[str, Any]:
    """Train one network and look at it."""
    torch.set_num_threads(1)
    name, rate, seed = job
    task, how = Hops([2], "context"), {"batch": settings["batch"], "test": settings["test"]}
    trained = train_one(lambda: made(name), task, rate=rate, seed=seed, steps=settings["contestants"][name]["steps"], **how)
    model, found = trained.model.eval(), {"name": name, "rate": rate, "seed": seed, "score": trained.score}
    inputs, targets = task.batch(settings["test"], torch.Generator().manual_seed(FRESH + seed))
    with torch.no_grad():
        with seen(mixers(model)[0]) as looks:
            model(inputs)
        found |= facts_read(looks[0].weights, task)
        found["colder"] = {}
        for factor in COLDER:
            with heated(model, factor):
                found["colder"][f"{factor:g}"] = float(task.score(model(inputs), targets))
    return records.rounded(found, ("rate",))


def main(arguments: list[str] | None = None) -> None:
    """Make what is missing of this script's record."""
    make_record("one_reading", __doc__, TITLE, run, SETTINGS, QUICK, arguments)


if __name__ == "__main__":
    main()
