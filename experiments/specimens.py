"""The specimens of page 7d: three transformers that learn the language of joinings, five seeds each, and who in them maps.

    python experiments/specimens.py --weights FOLDER [--quick] [--output FILE]

``tied`` applies one block eight times and fills gaps; ``untied`` does so with eight blocks of its own; ``causal`` applies one
block eight times and says the next token, so that it differs from ``tied`` in what it is trained for, and in nothing else.

- ``search``: ``tied`` at three learning rates, short runs with a seed that is used nowhere else. The best one is everybody's.
- ``check``: the other networks at these rates, as short: would they have chosen another one?
- ``final``: every network at that rate, five seeds, at full length.

A run that was stopped goes on from its last checkpoint in the folder, where its weights stay, too: ``NETWORK-SEED.pt`` when it
is done, and the same in half precision, ``NETWORK-SEED-half.pt``. The record has no weights. Every string is drawn afresh, from
a generator of its step, so that a run which was stopped sees what it would have seen. What was predicted before the runs stands
in ``predictions.md``.
"""

import math
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import records
import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm.auto import tqdm

from attnlib.course.data.joining import PAD, Joinings, Language, hide
from attnlib.course.data.joining_bounds import bounds
from attnlib.course.models.specimens import NETWORKS, mapped, rows_of, specimen, weights_of
from attnlib.transformer import LanguageModel

TITLE = "Transformers that learn where the tokens of a product come from: tied, untied and causal"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "specimens.json"
PACKAGES = ("attnlib", "torch")
SETTINGS = {
    "sizes": {"dim": 128, "heads": 8, "steps": 8, "feed_forward": 256},
    "share": 0.2,
    "batch": 32,
    "clip": 1.0,
    "warm_up": 500,
    "rates": [5e-4, 1e-3, 2e-3],
    "search_steps": 3000,
    "steps": 8000,
    "seeds": 5,
    "validated": 256,
    "judged": 1000,
    "every": {"loss": 100, "checkpoint": 250, "curve": 1000},
}
QUICK = SETTINGS | {
    "sizes": {"dim": 16, "heads": 2, "steps": 2, "feed_forward": 16},
    "batch": 4,
    "warm_up": 2,
    "rates": [1e-3, 2e-3],
    "search_steps": 4,
    "steps": 6,
    "seeds": 1,
    "validated": 8,
    "judged": 8,
    "every": {"loss": 2, "checkpoint": 2, "curve": 3},
}
KEYS = ("stage", "network", "seed", "rate", "steps")
UNSEEN = {"validated": 10**9, "judged": 2 * 10**9}
"""Seeds of the strings that networks are judged on; those of training are below."""

Settings = dict[str, object]


# --- one run ---


def strings_of(seed: int, count: int, share: float) -> tuple[Joinings, Tensor, Tensor]:
    """Strings, what is shown of them, and what is hidden."""
    generator = torch.Generator().manual_seed(seed)
    strings = Language().draw(count, generator=generator)
    return strings, *hide(strings.tokens, share, generator=generator)


def losses_of(model: LanguageModel, network: str, strings: Joinings, shown: Tensor, hidden: Tensor) -> Tensor:
    """Minus the logarithm of the chance of each token that is asked for, in nats: the hidden ones, or all that follow."""
    if network == "causal":
        wanted = strings.tokens[:, 1:]
        logits = model(strings.tokens[:, :-1], strings.real[:, :-1])
        return F.cross_entropy(logits[wanted != PAD], wanted[wanted != PAD], reduction="none")
    return F.cross_entropy(model(shown, strings.real)[hidden], strings.tokens[hidden], reduction="none")


def rate_at(step: int, job: dict[str, object], settings: Settings) -> float:
    """The learning rate rises in a straight line, then falls to zero along a cosine."""
    warm, steps = settings["warm_up"], job["steps"]
    if step < warm:
        return job["rate"] * (step + 1) / warm
    return job["rate"] * (1 + math.cos(math.pi * (step - warm) / (steps - warm))) / 2


def loaded(path: Path, model: LanguageModel, optimiser: torch.optim.Optimizer, job: dict[str, object]) -> dict[str, list]:
    """What was learnt before a run was stopped, put into model and optimiser; its losses and its curve."""
    found = torch.load(path, weights_only=True) if path.exists() else {}
    if found.get("job") != job:
        return {"losses": [], "curve": []}
    model.load_state_dict(found["model"])
    optimiser.load_state_dict(found["optimiser"])
    return {"losses": found["losses"], "curve": found["curve"]}


def saved(path: Path, content: object) -> None:
    """Write a file that is whole or as it was."""
    partial = path.with_suffix(".partial")
    torch.save(content, partial)
    partial.replace(path)


def trained(job: dict[str, object], settings: Settings, folder: Path) -> tuple[LanguageModel, dict[str, list]]:
    """A network after all its steps, from the last checkpoint on; mean losses of every so many steps, and its curve."""
    torch.manual_seed(job["seed"])
    model, every = specimen(job["network"], **settings["sizes"]), settings["every"]
    optimiser = torch.optim.Adam(model.parameters())
    path = folder / f"{named(job)}-checkpoint.pt"
    found = loaded(path, model, optimiser, job)
    steps = range(len(found["losses"]), job["steps"])
    for step in tqdm(steps, desc=named(job), initial=steps.start, total=job["steps"], mininterval=10):
        strings = strings_of(job["seed"] * 10**6 + step, settings["batch"], settings["share"])
        loss = losses_of(model, job["network"], *strings).mean()
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, job, settings)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
        optimiser.step()
        found["losses"].append(loss.item())
        if (step + 1) % every["curve"] == 0 or step + 1 == job["steps"]:
            found["curve"].append([step + 1, *judged(model, job["network"], "validated", settings)])
        if (step + 1) % every["checkpoint"] == 0 or step + 1 == job["steps"]:
            saved(path, {"job": job, "model": model.state_dict(), "optimiser": optimiser.state_dict()} | found)
    return model, found


@torch.no_grad()
def judged(model: LanguageModel, network: str, of: str, settings: Settings) -> list[float]:
    """The mean loss on unseen strings, and the share of rows in which the best head looks at the right key."""
    strings, shown, hidden = strings_of(UNSEEN[of], settings[of], settings["share"])
    loss = losses_of(model, network, strings, shown, hidden).mean().item()
    shares = mapping(model, network, strings, shown, hidden)["next" if network == "causal" else "hidden"]
    return [loss, max(max(row) for row in shares)]


def mapping(model: LanguageModel, network: str, strings: Joinings, shown: Tensor, hidden: Tensor) -> dict[str, list]:
    """How often each head at each step looks at the right key, ``[steps, heads]``, by kind of row."""
    tokens, hidden = (strings.tokens, torch.zeros_like(hidden)) if network == "causal" else (shown, hidden)
    weights, asked = weights_of(model, tokens, strings.real), rows_of(strings, hidden)
    names = ("next", "shown", "several") if network == "causal" else ("hidden", "shown", "several", "back")
    return {name: mapped(weights, *asked[name]).tolist() for name in names}


def run(job: dict[str, object], settings: Settings, folder: Path) -> dict[str, object]:
    """Train one network, keep its weights, and measure who in it maps."""
    begin, every = time.process_time(), settings["every"]["loss"]
    model, found = trained(job, settings, folder)
    parts = [found["losses"][start : start + every] for start in range(0, job["steps"], every)]
    result = job | {"losses": [statistics.mean(part) for part in parts], "curve": found["curve"]}
    if job["stage"] == "final":
        weights = model.state_dict()
        saved(folder / f"{named(job)}.pt", weights)
        saved(folder / f"{named(job)}-half.pt", {name: each.half() for name, each in weights.items()})
        unseen = strings_of(UNSEEN["judged"], settings["judged"], settings["share"])
        result |= {"loss": judged(model, job["network"], "judged", settings)[0]}
        result |= {"mapping": mapping(model, job["network"], *unseen)}
    result["cpu_seconds"] = round(time.process_time() - begin, 1)  # since the run was last started
    return records.rounded(result, KEYS)


# --- all runs ---


def named(job: dict[str, object]) -> str:
    """A name for a run's files."""
    return f"{job['network']}-{job['seed']}" + ("" if job["stage"] == "final" else f"-{job['rate']:g}")


def rate_of(runs: list[dict[str, object]], settings: Settings) -> float | None:
    """The rate with the lowest loss on unseen strings in the search; None while one is missing."""
    found = {run["rate"]: run["curve"][-1][1] for run in runs if run["stage"] == "search"}
    return None if set(found) != set(settings["rates"]) else min(found, key=found.get)


def jobs(runs: list[dict[str, object]], settings: Settings) -> list[dict[str, object]]:
    """What is to be run, in the order in which it is: the search, one seed of each network, the check, the other seeds."""
    short, rate = settings["search_steps"], rate_of(runs, settings)
    found = [("search", "tied", 0, each, short) for each in settings["rates"]]
    if rate is not None:
        final = [("final", name, seed + 1, rate, settings["steps"]) for seed in range(settings["seeds"]) for name in NETWORKS]
        check = [("check", name, 0, each, short) for name in NETWORKS[1:] for each in settings["rates"]]
        found += final[: len(NETWORKS)] + check + final[len(NETWORKS) :]
    return [dict(zip(KEYS, job, strict=True)) for job in found]


def measure(result: dict, settings: Settings, folder: Path) -> Iterator[dict]:
    """Make what is missing, and hand over the result after every run."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        have = {tuple(run[key] for key in KEYS) for run in result["runs"]}
        missing = [job for job in jobs(result["runs"], settings) if tuple(job.values()) not in have]
        if not missing:
            return
        result["runs"].append(run(missing[0], settings, folder))
        print({key: result["runs"][-1][key] for key in KEYS}, result["runs"][-1]["curve"][-1], file=sys.stderr, flush=True)
        yield result


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, train what is missing, write JSON after every run."""
    parser = records.command(__doc__.splitlines()[0], "tiny sizes")
    parser.add_argument("--weights", type=Path, metavar="FOLDER", required=True, help="where checkpoints and weights are kept")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS)
    earlier, asked = records.earlier(target, settings), (settings["judged"], settings["share"])
    result = {
        **records.head("specimens", TITLE, arguments, options.quick, records.versions(*PACKAGES)),
        "seeds": "run s draws its parameters from seed s, and the strings of step t from 1000000 s + t",
        "settings": settings,
        "bounds": earlier.get("bounds") or records.rounded(bounds(Language(), *strings_of(UNSEEN["judged"], *asked)[::2])),
        "runs": earlier.get("runs", []),
    }
    for now in measure(result, settings, options.weights):
        records.write(now, target)


if __name__ == "__main__":
    main()
