"""How to keep learned couplings inside the edge of stability: five ways, by how fast, how well and how dearly spins learn.

    python experiments/bounded_couplings.py [--only TASK ...] [--quick] [--output FILE]

``MeanFieldAttention`` has a state while the largest eigenvalue of its couplings is below 1. Gradient descent does not know it.
The ways, all with the bound 0.95:

- ``none``: what the parameters say.
- ``scaled after``: after each step ``stabilise`` scales a head's couplings back.
- ``clipped after``: after each step the modes beyond the bound lose what passes it, and the others keep what they have.
- ``scaled inside``: couplings are the parameters times ``min(1, bound / eigenvalue)``, and gradients go through that.
- ``clipped inside``: the modes beyond the bound lose what passes it, and gradients go through that.

Two tasks, each with Gaussian spins and with binary ones without a reaction, AdamW without warm-up or clipping of gradients:

- ``shuffled``: 16 symbols of 10 kinds, 32 wide, one block of a transformer; each place is to say what stands at another one,
  in an order that the seed draws. Fresh symbols at every step, so that the loss is that of unseen ones.
- ``digits``: the classifier of ``experiments/digits.py``, nine spins; the loss is that of its test pictures.

``search``: three rates a factor of three apart, seeds 0 and 1, at the length that is reported; the lowest final loss is kept,
and one of a run that died is infinite. ``final``: that rate, seeds 100 to 104. A run says at which step it died, the mean loss
of its last 20 steps, the first step from which on the mean over 10 is below 1, and the milliseconds of a step.

Predicted, before the run:

1. Without a bound, no run on ``shuffled`` survives the rates 0.003 and 0.01; with one in any of the four ways, all do.
2. At the best rate of each, the four ways cannot be told apart in final loss: less than two standard errors over the seeds.
3. ``scaled inside`` is below 1 no later than ``scaled after``, within two standard errors, and steps less than 1.3 times as
   dear as ``none`` at the same rate; both ways of clipping cost more than 1.5 times.
4. ``clipped inside`` is the slowest to learn: a mode beyond the bound has no gradient that brings it back.

The first holds; the second and the fourth do not: ``clipped inside`` is the first below 1 and ends lowest or level. So there
is a third task, ``digits, long``, of 900 steps, with a prediction of its own, written before it was run: at 900 steps, too,
``clipped inside`` has the lowest mean loss with Gaussian spins, and is within two standard errors of the lowest with binary
ones. It has the lowest with both: 0.167 ± 0.006 and 0.087 ± 0.011, where ``scaled inside`` has 0.223 ± 0.011 and 0.115 ± 0.009.
So it is the way of ``MeanFieldAttention``. It is the dearest: on ``shuffled`` a step takes three times as long as without.

Every run is written to attnlib/course/data/results/bounded_couplings.json as soon as it is done; a second call makes only what
is missing.
"""

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import records
import torch
import torch.nn.functional as F
from digits import clip, rounded, split
from torch import Tensor, nn
from torch.nn.utils import parametrize

from attnlib import ConvergenceError
from attnlib.course.models import PatchClassifier
from attnlib.mean_field import Binary, MeanFieldAttention, bounded_couplings, flat_couplings, symmetric_couplings

TITLE = "Five ways to keep learned couplings inside the edge of stability"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "bounded_couplings.json"
SETTINGS = {"bound": 0.95, "batch": 32, "steps": {"shuffled": 200, "digits": 300, "digits, long": 900}, "folds": 5}
RATES = {"shuffled": (0.001, 0.003, 0.01), "digits": (0.01, 0.03, 0.1), "digits, long": (0.003, 0.01, 0.03)}
SEARCH, FINAL = (0, 1), (100, 101, 102, 103, 104)
SPINS = {"gaussian": {}, "binary": {"prior": Binary(), "onsager": "none"}}
WAYS = ("none", "scaled after", "clipped after", "scaled inside", "clipped inside")
KINDS, SITES, WIDTH = 10, 16, 32


class Scaled(nn.Module):
    """Parameters of couplings as couplings that are scaled down to the bound."""

    def __init__(self, most: float) -> None:
        super().__init__()
        self.most = most

    def forward(self, raw: Tensor) -> Tensor:
        """``[heads, n, n, d, d]`` in and out."""
        J = symmetric_couplings(raw)
        strongest = torch.linalg.eigvalsh(flat_couplings(J))[:, -1]
        return J * (self.most / strongest.clamp(min=self.most))[:, None, None, None, None]


class Clipped(Scaled):
    """Parameters of couplings as couplings whose modes beyond the bound have lost what passes it, as in ``attnlib``."""

    def forward(self, raw: Tensor) -> Tensor:
        """``[heads, n, n, d, d]`` in and out."""
        return bounded_couplings(symmetric_couplings(raw), self.most)


INSIDE = {"scaled inside": Scaled, "clipped inside": Clipped}


class Block(nn.Module):
    """Symbols, a mixer and a network, each normalised before and added to what came in, and logits of symbols."""

    def __init__(self, mixer: MeanFieldAttention) -> None:
        super().__init__()
        self.embed, self.mixer = nn.Embedding(KINDS, WIDTH), mixer
        self.network = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.norms, self.out = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3)), nn.Linear(WIDTH, KINDS)

    def forward(self, symbols: Tensor) -> Tensor:
        """Symbols ``[batch, n]``, logits ``[batch, kinds, n]``."""
        x = self.embed(symbols)
        x = x + self.mixer(self.norms[0](x))
        x = x + self.network(self.norms[1](x))
        return self.out(self.norms[2](x)).mT


def built(task: str, spins: str, way: str, settings: dict) -> nn.Module:
    """A model of the task, drawn from torch's generator: the same draw for every way."""
    sizes = {"sites": SITES, "heads": 2} if task == "shuffled" else {"sites": 9, "bare": True}
    mixer = MeanFieldAttention(WIDTH if task == "shuffled" else 10, beta=1.0, bound=None, **sizes, **SPINS[spins])
    if way in INSIDE:
        parametrize.register_parametrization(mixer, "couplings", INSIDE[way](settings["bound"]))
    return Block(mixer) if task == "shuffled" else PatchClassifier(mixer, image=(8, 8), patch=(2, 4))


def batches(task: str, seed: int, settings: dict) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs and targets without end, from a generator of their own."""
    generator = torch.Generator().manual_seed(seed)
    if task == "shuffled":
        order = torch.randperm(SITES, generator=generator)
        while True:
            symbols = torch.randint(KINDS, (settings["batch"], SITES), generator=generator)
            yield symbols, symbols[:, order]
    train, _ = split(seed % settings["folds"], settings, False)
    while True:
        chosen = torch.randint(len(train), (settings["batch"],), generator=generator)
        yield train.pictures[chosen], train.labels[chosen]


def run(key: dict, settings: dict) -> dict:
    """Train one model, and say what became of it."""
    torch.set_num_threads(1)
    torch.manual_seed(key["seed"])
    task, way = key["task"], key["way"]
    model, steps = built(task, key["spins"], way, settings), settings["steps"][task]
    optimiser, losses, died = torch.optim.AdamW(model.parameters(), key["rate"]), [], None
    begin = time.process_time()
    for step, (inputs, targets) in zip(range(steps), batches(task, key["seed"], settings), strict=False):
        try:
            loss = F.cross_entropy(model(inputs), targets)
            optimiser.zero_grad()
            loss.backward()
        except (ValueError, ConvergenceError):
            died = step
            break
        optimiser.step()
        losses.append(loss.item())
        if way == "scaled after":
            model.mixer.stabilise(settings["bound"])
        elif way == "clipped after":
            clip(model.mixer, settings["bound"])
    seconds = time.process_time() - begin
    found = key | {"died": died, "ms_per_step": rounded(1000 * seconds / max(len(losses), 1))}
    found["losses"] = [rounded(sum(losses[i : i + 10]) / 10) for i in range(0, len(losses) - 9, 10)]
    if died is not None:
        return found
    below = [10 * i for i, mean in enumerate(found["losses"]) if all(later < 1 for later in found["losses"][i:])]
    with torch.no_grad():
        found["largest"] = [rounded(one) for one in model.mixer.largest_eigenvalue().tolist()]
        if task != "shuffled":
            _, test = split(key["seed"] % settings["folds"], settings, False)
            logits = model(test.pictures)
            found["right"] = rounded((logits.argmax(-1) == test.labels).double().mean().item())
            found["loss"] = rounded(F.cross_entropy(logits, test.labels).item())
    return {"loss": rounded(sum(losses[-20:]) / len(losses[-20:]))} | found | {"below_one": below[0] if below else None}


def searched(runs: list[dict], task: str, spins: str, way: str) -> float | None:
    """The rate with the lowest final loss over the seeds of the search, the lowest rate where all died; None: not yet known."""
    mine = [r for r in runs if (r["stage"], r["task"], r["spins"], r["way"]) == ("search", task, spins, way)]
    tried = {rate: [r.get("loss", math.inf) for r in mine if r["rate"] == rate] for rate in RATES[task]}
    if any(len(losses) < len(SEARCH) for losses in tried.values()):
        return None
    return min(tried, key=lambda rate: sum(tried[rate]))


def due(tasks: list[str], runs: list[dict]) -> Iterator[dict]:
    """The runs that are missing, those of a search before the ones at its rate."""

    def missing(stage: str, task: str, spins: str, way: str, rate: float, seed: int) -> Iterator[dict]:
        key = dict(zip(("stage", "task", "spins", "way", "rate", "seed"), (stage, task, spins, way, rate, seed), strict=True))
        if not any(all(r[name] == value for name, value in key.items()) for r in runs):
            yield key

    for task, spins in ((task, spins) for task in tasks for spins in SPINS):
        for rate, seed, way in ((rate, seed, way) for rate in RATES[task] for seed in SEARCH for way in WAYS):
            yield from missing("search", task, spins, way, rate, seed)
        for seed, way in ((seed, way) for seed in FINAL for way in WAYS):
            yield from missing("final", task, spins, way, searched(runs, task, spins, way), seed)


def measure(runs: list[dict], tasks: list[str], settings: dict, keep: Callable[[], None], most: int | None = None) -> None:
    """Make what is missing, at most so many runs, and keep each as soon as it is done."""
    for count, key in enumerate(due(tasks, runs)):
        if count == most:
            return
        runs.append(run(key, settings))
        print({name: value for name, value in runs[-1].items() if name != "losses"}, flush=True)
        keep()


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure what is missing, write JSON after every run."""
    parser = records.command(__doc__.split("\n")[0], "a few steps")
    parser.add_argument("--only", nargs="+", choices=tuple(RATES), default=list(RATES), help="some tasks, not all")
    options = parser.parse_args(arguments)
    settings = SETTINGS | ({"steps": dict.fromkeys(SETTINGS["steps"], 20)} if options.quick else {})
    target = options.output or (None if options.quick else RESULTS)
    result = {
        **records.head(
            "bounded_couplings", TITLE, arguments, options.quick, records.versions("torch", "scikit-learn", "attnlib")
        ),
        "seeds": "a run draws its parameters and its batches from its seed, each from a generator of its own",
        "settings": settings,
        "runs": records.earlier(target, settings).get("runs", []),
    }
    keep = partial(records.write, result, target)
    measure(result["runs"], options.only, settings, keep, most=6 if options.quick else None)


if __name__ == "__main__":
    main()
