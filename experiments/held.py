"""An energy walker whose maps are all held: what carries the place that was read to where the next is looked for?

    python experiments/held.py [--quick] [--output FILE]

The contestant ``energy walker, all held`` of ``collectives.py`` has no maps in its block: a query is a place and zeros, a fact
is two places side by side, and scores compare first halves with first halves and second ones with second ones. The norm after
the step is where the halves meet: it takes one mean and one variance over both. Fresh seeds of that walker, and of one whose
norm is two, each over a half. Of each: what T steps score on T hops, and what two hops score where, at the test alone, means
are taken half by half, and the variance as it was.

The rate of the first is that of its search in ``collectives.py``, that of the second is searched here. The file is written
after every run. Where it is already there, with the same settings, only what is missing is trained.
"""

import statistics
from typing import Any

import collective_contestants as contestants
import records
import torch
from collective_tasks import Hops
from torch import Tensor, nn
from tqdm.auto import tqdm
from walkers import RESULTS

from attnlib.transformer.training import FRESH, train_one

TITLE = "Energy walkers whose maps are held, with one norm and with a norm for each half"
NAME, NORMS, WALKS = "energy walker, all held", ("one", "halves"), (1, 2, 3, 4)
SETTINGS: dict[str, Any] = {
    "seeds": list(range(16, 26)),
    "search": [0, 1],
    "rates": {"one": [0.3], "halves": [0.03, 0.1, 0.3]},
    "steps": 4000,
    "batch": 64,
    "test": 4096,
}
QUICK = SETTINGS | {"seeds": [16, 17], "rates": {"one": [0.3], "halves": [0.1, 0.3]}, "steps": 3, "test": 64}


class Norm(nn.Module):
    """A layer norm of width 32 with means over all, or half by half, and variances likewise."""

    def __init__(self, like: nn.LayerNorm, *, means: int, variances: int) -> None:
        super().__init__()
        self.weight, self.bias, self.epsilon = like.weight, like.bias, like.eps
        self.means, self.variances = means, variances

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last axis."""
        parts = x.unflatten(-1, (self.means, -1))
        centred = (parts - parts.mean(-1, keepdim=True)).flatten(-2).unflatten(-1, (self.variances, -1))
        return (centred / (centred.square().mean(-1, keepdim=True) + self.epsilon).sqrt()).flatten(-2) * self.weight + self.bias


def made(norm: str) -> nn.Module:
    """The stack of the contestant, with one norm or one for each half."""
    stack = contestants.made("hops", NAME)
    if norm == "halves":
        stack.blocks[0].mixer_norm = Norm(stack.blocks[0].mixer_norm, means=2, variances=2)
    return stack


def run(norm: str, rate: float, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train one walker, and look at it as it is and with means taken half by half."""
    torch.set_num_threads(1)
    task = Hops([2], contestants.form("hops", NAME))
    how = {key: settings[key] for key in ("steps", "batch", "test")}
    trained = train_one(lambda: made(norm), task, rate=rate, seed=seed, **how)
    inputs, targets = task.batch(settings["test"], torch.Generator().manual_seed(FRESH + seed))
    model, right = trained.model.eval(), lambda said, true: float((said.argmax(-1) == true).float().mean())
    with torch.no_grad():
        walks = [right(model(inputs, steps=steps), task.asked.answer(steps)) for steps in WALKS]
        block = model.stack.blocks[0]
        block.mixer_norm = Norm(_layer_norm(block.mixer_norm), means=2, variances=1 if norm == "one" else 2)
        apart = right(model(inputs), targets)
    return {"norm": norm, "seed": seed, "rate": rate, "score": trained.score, "walks": walks, "means by half": apart}


def _layer_norm(norm: nn.Module) -> nn.LayerNorm:
    """Its gain and bias as those of torch's norm."""
    if isinstance(norm, nn.LayerNorm):
        return norm
    one = nn.LayerNorm(len(norm.weight), norm.epsilon)
    one.weight, one.bias = norm.weight, norm.bias
    return one


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and train who is missing."""
    options = records.command(__doc__.splitlines()[0], "three steps from two seeds").parse_args(arguments)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS / "held.json")
    head = records.head("held", TITLE, arguments, options.quick, records.versions("torch", "attnlib"))
    rows: list[dict[str, Any]] = records.earlier(target, settings, head["versions"]).get("rows", [])

    def make(jobs: list[tuple[str, float, int]]) -> None:
        have = {(row["norm"], row["rate"], row["seed"]) for row in rows}
        for norm, rate, seed in tqdm([job for job in jobs if job not in have], desc="held", disable=None):
            rows.append(records.rounded(run(norm, rate, seed, settings), ("rate",)))
            records.write(head | {"settings": settings, "rows": rows}, target)

    for norm in NORMS:
        rates = settings["rates"][norm]
        if len(rates) > 1:
            make([(norm, rate, seed) for rate in rates for seed in settings["search"]])
        scores = {rate: [row["score"] for row in rows if (row["norm"], row["rate"]) == (norm, rate)] for rate in rates}
        best = max(rates, key=lambda rate: statistics.mean(scores[rate] or [0.0]))
        make([(norm, best, seed) for seed in settings["seeds"]])


if __name__ == "__main__":
    main()
