"""Does a noisy query that is carried past the mixer keep one step of softmax from Bayes for good, or only for long?

    python experiments/longer_denoising.py [--quick] [--output FILE]

The contestant ``softmax`` of ``collectives.py`` with its residual path, on denoising at a noise of 1, trained for as long as
there, for four and for sixteen times as long. Four learning rates, two seeds by which the best of them is chosen, and the same
five fresh seeds. All networks of a length are trained side by side, as one: their maps are stacked, and the gradient is cut
and followed network by network, as ``attnlib.transformer.training.train_one`` does it. Starts and examples are those of that
function, so that runs of the shortest length are those of the record ``collectives`` but for the order of sums.

The file is written after every length. Where it is already there, with the same settings, only what is missing is trained.
"""

import math
from pathlib import Path
from typing import Any

import collective_contestants as contestants
import records
import torch
from collective_tasks import Denoising
from torch import Tensor
from tqdm.auto import tqdm

from attnlib.course.data.denoising import recall_error
from attnlib.transformer.training import FRESH

TITLE = "One step of softmax with a residual path, trained for longer"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results"
MIXER = "stack.blocks.0.mixer.to_"
SETTINGS: dict[str, Any] = {"name": "softmax", "condition": [16, 1.0], "steps": [4000, 16_000, 64_000], "batch": 64}
SETTINGS |= {"test": 16_384, "rates": [0.001, 0.003, 0.01, 0.03], "search": [0, 1], "seeds": [11, 12, 13, 14, 15]}


def started(task: Denoising, seed: int) -> dict[str, Tensor]:
    """The parameters that a run of this seed starts from."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return task.model(contestants.made("denoising", SETTINGS["name"])).state_dict()


def said(maps: dict[str, Tensor], query: Tensor, memories: Tensor) -> Tensor:
    """Answers of all networks, ``[networks, n, d]``, to queries of that shape and memories ``[networks, n, K, d]``."""
    d = query.shape[-1]
    asked = (query @ maps[MIXER + "query.weight"].mT) @ maps[MIXER + "key.weight"] / d**0.5
    weights = (memories @ asked[..., None])[..., 0].softmax(-1)
    read = (weights[..., None, :] @ memories)[..., 0, :] @ (maps[MIXER + "out.weight"] @ maps[MIXER + "value.weight"]).mT
    return (query + read) @ maps["out.weight"].mT + maps["out.bias"][:, None]


def examples(task: Denoising, n: int, generators: list[torch.Generator], times: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, memories and truths for each seed's networks, of which there are so many: seeds in the slow direction."""
    drawn = [task.batch(n, generator) for generator in generators]
    parts = zip(*[(query[:, 0], memories, truth) for (query, memories), truth in drawn], strict=True)
    query, memories, truth = (torch.stack(part).repeat_interleave(times, 0) for part in parts)
    return query, memories, truth


def trained(task: Denoising, seeds: list[int], rates: list[float], steps: int, batch: int) -> dict[str, Tensor]:
    """The parameters of all networks after so many steps of Adam, ``[seeds x rates, ...]``, rates in the fast direction."""
    stacked = [started(task, seed) for seed in seeds for _ in rates]
    maps = {name: torch.stack([one[name] for one in stacked]).requires_grad_() for name in stacked[0]}
    moments = {name: [torch.zeros_like(p), torch.zeros_like(p)] for name, p in maps.items()}
    highest, warm = torch.tensor(rates).repeat(len(seeds)), max(1, steps // 20)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    for step in tqdm(range(steps), desc=f"{len(stacked)} networks, {steps} steps", disable=None, mininterval=10):
        query, memories, truth = examples(task, batch, generators, len(rates))
        loss = (said(maps, query, memories) - truth).square().mean((1, 2)).sum()
        slopes = dict(zip(maps, torch.autograd.grad(loss, list(maps.values())), strict=True))
        norm = sum(slope.flatten(1).square().sum(1) for slope in slopes.values()).sqrt()
        cut = (1 / (norm + 1e-6)).clamp(max=1)
        share = (step + 1) / warm if step < warm else (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) / 2
        with torch.no_grad():
            for name, p in maps.items():
                sizes = (-1, *[1] * (p.ndim - 1))
                slope, (first, second) = cut.view(sizes) * slopes[name], moments[name]
                first.lerp_(slope, 0.1)
                second.lerp_(slope.square(), 0.001)
                spread = second.sqrt() / (1 - 0.999 ** (step + 1)) ** 0.5 + 1e-8
                p -= share * highest.view(sizes) * first / (1 - 0.9 ** (step + 1)) / spread
    return {name: p.detach() for name, p in maps.items()}


def judged(task: Denoising, maps: dict[str, Tensor], seed: int, test: int) -> dict[str, float]:
    """The score on examples that no run learns from, how far that is above Bayes' on the same, and the inverse temperature."""
    query, memories, truth = examples(task, test, [torch.Generator().manual_seed(FRESH + seed)], 1)
    score = float((said({name: p[None] for name, p in maps.items()}, query, memories) - truth).square().mean())
    bilinear = maps[MIXER + "query.weight"].mT @ maps[MIXER + "key.weight"] / query.shape[-1] ** 0.5
    excess = score / recall_error(task.asked, beta=task.sigma**-2).mean - 1
    return {"score": score, "excess": excess, "beta sigma^2": float(bilinear.diagonal().mean() * task.sigma**2)}


def run(steps: int, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Train all networks of a length and judge them; the rate whose two searches err least is marked in the fresh runs."""
    torch.set_num_threads(1)
    task = Denoising(settings["condition"], "context")
    seeds, rates = settings["search"] + settings["seeds"], settings["rates"]
    maps = trained(task, seeds, rates, steps, settings["batch"])
    rows = []
    for k, (seed, rate) in enumerate((seed, rate) for seed in seeds for rate in rates):
        found = judged(task, {name: p[k] for name, p in maps.items()}, seed, settings["test"])
        rows.append({"steps": steps, "rate": rate, "seed": seed} | found)
    lost = {
        rate: sum(row["score"] for row in rows if row["rate"] == rate and row["seed"] in settings["search"]) for rate in rates
    }
    best = min(rates, key=lost.__getitem__)
    return [row | {"best": row["rate"] == best} for row in records.rounded(rows, ("rate",))]


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and train the lengths that are missing."""
    options = records.command(__doc__.splitlines()[0], "three and six steps").parse_args(arguments)
    settings = SETTINGS | ({"steps": [3, 6], "test": 600} if options.quick else {})
    target = options.output or (None if options.quick else RESULTS / "longer_denoising.json")
    head = records.head("longer_denoising", TITLE, arguments, options.quick, records.versions("torch", "attnlib"))
    runs: list[dict[str, Any]] = records.earlier(target, settings, head["versions"]).get("runs", [])
    for steps in settings["steps"]:
        if not any(row["steps"] == steps for row in runs):
            runs += run(steps, settings)
            records.write(head | {"settings": settings, "runs": runs}, target)


if __name__ == "__main__":
    main()
