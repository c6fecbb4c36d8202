"""Swap softmax attention for energy attention, and train: dictionaries of random pairs, and handwritten digits.

    python experiments/energy_attention.py [--jobs N] [--quick] [--output FILE]

A dictionary is 16 tokens, each a key of 8 components beside a value of 8, drawn on spheres. A query holds one of the keys and
zeros, and one attention layer answers with a linear map of what it fetched; its error is the mean square over that of zero. The
answer takes 16 directions of a token, 8 to compare and 8 to bring back. Softmax attention reads ``2 * head_dim`` of them, since
it has a map for keys and one for values; energy attention reads ``head_dim``.

The digits are cut into 8 patches, beside one extra token that is read out (``attnlib.course.models.PatchClassifier``); the
mixer stands in a block of a transformer, with a network behind it.

- ``search``: each contestant at each length at rates three times apart, on as far as the best is at the edge, with two seeds
  (digits: two folds of what fold 0 learns from). The rate falls to zero along a cosine.
- ``final``: five other seeds, or each of five folds, at the rate that came out best.

Every run is written to its file in attnlib/course/data/results as soon as it is done; a second call makes what is missing.
"""

import json
import math
import time
from pathlib import Path

import joblib
import records
import torch
import torch.nn.functional as F
from digits import rounded
from torch import Tensor, nn

from attnlib import EnergyAttention, SoftmaxAttention
from attnlib.attention import Mixer
from attnlib.course.data import Images, digits
from attnlib.course.models import PatchClassifier

TITLE = "Softmax attention swapped for energy attention, trained"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "energy_attention.json"
SETTINGS = {"key": 8, "value": 8, "pairs": 16, "batch": 128, "dim": 16, "patch": [2, 4], "digits_batch": 32, "folds": 5}
RATES = (0.003, 0.01, 0.03)

DICTIONARY = {
    "softmax, 8 wide": {"head_dim": 8},
    "energy, 8 wide": {"head_dim": 8},
    "energy, 16 wide": {"head_dim": 16},
    "energy, 8 wide, 3 steps": {"head_dim": 8, "steps": 3},
    "energy, 16 wide, 3 steps": {"head_dim": 16, "steps": 3},
    "softmax, 2 x 4 wide": {"heads": 2, "head_dim": 4},
    "energy, 2 x 4 wide": {"heads": 2, "head_dim": 4},
}
DIGITS = {
    "digits: softmax, 2 x 8 wide": {"heads": 2, "head_dim": 8},
    "digits: energy, 2 x 8 wide": {"heads": 2, "head_dim": 8},
    "digits: energy, 2 x 16 wide": {"heads": 2, "head_dim": 16},
    "digits: energy, 2 x 8 wide, 3 steps": {"heads": 2, "head_dim": 8, "steps": 3},
}
NAMES = (*DICTIONARY, *DIGITS)
LENGTHS = {**dict.fromkeys(DICTIONARY, (300, 1000)), **dict.fromkeys(DIGITS, (300, 1000))}


def mixer(name: str, settings: dict) -> Mixer:
    """The mixer of a name, drawn from torch's generator."""
    kind = SoftmaxAttention if "softmax" in name else EnergyAttention
    return kind(settings["dim"], **{**DICTIONARY, **DIGITS}[name])


def dictionaries(count: int, settings: dict, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Queries ``[count, 1, dim]``, tokens ``[count, pairs, dim]``, answers ``[count, value]``: all of unit mean square."""
    halves = []
    for width in (settings["key"], settings["value"]):
        drawn = torch.randn(count, settings["pairs"], width, generator=generator)
        halves.append(drawn * width**0.5 / drawn.norm(dim=-1, keepdim=True))
    keys, values = halves  # any order of the pairs is as good as another: ask for the first
    query = torch.cat([keys[:, :1], torch.zeros_like(values[:, :1])], dim=-1)
    return query, torch.cat(halves, dim=-1), values[:, 0]


class Block(nn.Module):
    """One block of a transformer around any mixer, normalised before mixer and network and at the end."""

    def __init__(self, mixer: Mixer) -> None:
        super().__init__()
        self.mixer, self.dim = mixer, mixer.dim
        self.norms = nn.ModuleList(nn.LayerNorm(mixer.dim) for _ in range(3))
        self.network = nn.Sequential(nn.Linear(mixer.dim, 2 * mixer.dim), nn.GELU(), nn.Linear(2 * mixer.dim, mixer.dim))

    def forward(self, x: Tensor) -> Tensor:
        """Tokens ``[batch, n, dim]`` in and out."""
        x = x + self.mixer(self.norms[0](x))
        return self.norms[2](x + self.network(self.norms[1](x)))


def descend_on(loss_of, parameters: list[Tensor], rate: float, steps: int) -> None:
    """Train by Adam with a rate that falls to zero along a cosine, the gradient's norm kept below one."""
    optimiser = torch.optim.Adam(parameters, lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: (1 + math.cos(math.pi * step / steps)) / 2)
    for _ in range(steps):
        optimiser.zero_grad()
        loss_of().backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        schedule.step()


def look_up(key: dict, settings: dict) -> dict:
    """Train one layer on dictionaries that are drawn anew at every step; judge it on 4,096 others."""
    seed = key["fold"] + (100 if key["stage"] == "search" else 0)
    torch.manual_seed(seed)
    layer = mixer(key["name"], settings)
    out = nn.Linear(settings["dim"], settings["value"])
    draw = torch.Generator().manual_seed(1000 + seed)

    def error(count: int) -> Tensor:
        query, tokens, answer = dictionaries(count, settings, draw)
        return (out(layer(query, tokens))[:, 0] - answer).square().mean()

    descend_on(lambda: error(settings["batch"]), [*layer.parameters(), *out.parameters()], key["rate"], key["steps"])
    draw.manual_seed(10_000)
    with torch.no_grad():
        return {"error": rounded(error(4096).item())}


def read_digits(key: dict, settings: dict) -> dict:
    """Train one block on four folds of the digits; what it misreads on the fifth."""
    torch.manual_seed(key["fold"])
    folds = settings["folds"]
    whole = digits() if key["stage"] == "final" else digits().fold(0, folds)[0]
    train, test = whole.fold(key["fold"], folds)
    model = PatchClassifier(Block(mixer(key["name"], settings)), image=(8, 8), patch=tuple(settings["patch"]))
    draw = torch.Generator().manual_seed(key["fold"])

    def loss() -> Tensor:
        some = torch.randint(len(train), (settings["digits_batch"],), generator=draw)
        return F.cross_entropy(model(train.pictures[some]), train.labels[some])

    descend_on(loss, list(model.parameters()), key["rate"], key["steps"])
    found = judged(model, test)
    return found if key["stage"] == "final" else {name: found[name] for name in ("error", "loss")}


def judged(model: nn.Module, test: Images) -> dict:
    """Mistakes and loss on pictures that were not learned from."""
    with torch.no_grad():
        logits = model(test.pictures)
    wrong = torch.nonzero(logits.argmax(-1) != test.labels)[:, 0].tolist()
    loss = F.cross_entropy(logits, test.labels).item()
    return {"tested": len(test), "wrong": wrong, "error": rounded(len(wrong) / len(test)), "loss": rounded(loss)}


def run(key: dict, settings: dict) -> dict:
    """Train and judge one contestant; one whose training breaks down has the error of an answer that knows nothing."""
    torch.set_num_threads(1)
    begin = time.process_time()
    try:
        found = (look_up if key["name"] in DICTIONARY else read_digits)(key, settings)
    except ValueError as error:
        found = {"error": 1.0, "failed": str(error)[:80]}
    return key | found | {"ms_per_step": rounded(1000 * (time.process_time() - begin) / key["steps"])}


def searched(name: str, runs: list[dict], length: int) -> tuple[float | None, list[float]]:
    """The best rate at a length, or the rates still to be tried: the grid, then on where the best is at its edge."""
    mine = [r for r in runs if (r["stage"], r["name"], r["steps"]) == ("search", name, length)]
    tried = {rate: [r["error"] for r in mine if r["rate"] == rate] for rate in {*RATES, *(r["rate"] for r in mine)}}
    missing = sorted(rate for rate, found in tried.items() if len(found) < 2)
    if missing:
        return None, missing
    best = min(sorted(tried), key=lambda rate: sum(tried[rate]))
    for edge, factor in ((max(tried), 3), (min(tried), 1 / 3)):
        if best == edge and 1e-4 < best * factor < 1:
            return None, [float(f"{best * factor:.0e}")]
    return best, []


def due(names: tuple[str, ...], runs: list[dict], settings: dict, lengths: dict) -> list[dict]:
    """The runs to make next, all of one task and one length."""
    have = {(r["stage"], r["name"], r["rate"], r["steps"], r["fold"]) for r in runs}
    for task in (DICTIONARY, DIGITS):
        for length in sorted({length for name in names if name in task for length in lengths[name]}):
            found = []
            for name in (name for name in names if name in task):
                best, rates = searched(name, runs, length)
                keys = [("search", name, rate, length, fold) for rate in rates for fold in range(2)]
                if best is not None:
                    keys += [("final", name, best, length, fold) for fold in range(settings["folds"])]
                found += [dict(zip(("stage", "name", "rate", "steps", "fold"), key)) for key in keys if key not in have]
            if found:
                return found
    return []


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure what is missing, write JSON after every run."""
    parser = records.command(__doc__.split("\n")[0], "a few steps")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, default one")
    options = parser.parse_args(arguments)
    target = options.output or (None if options.quick else RESULTS)
    names = (NAMES[0], NAMES[-1]) if options.quick else NAMES
    lengths = dict.fromkeys(names, (3,)) if options.quick else LENGTHS
    result = {
        **records.head("energy_attention", TITLE, arguments, options.quick, records.versions("torch", "numpy")),
        "seeds": "folds 0 to 4, and 100 and 101 for the search; dictionaries from 1000 + seed, the test from 10000",
        "settings": SETTINGS,
        "parameters": {name: sum(p.numel() for p in mixer(name, SETTINGS).parameters()) for name in NAMES},
        "runs": records.earlier(target, SETTINGS).get("runs", []),
    }
    while keys := due(names, result["runs"], SETTINGS, lengths):
        asked = [joblib.delayed(run)(key, SETTINGS) for key in keys]
        for found in joblib.Parallel(options.jobs, return_as="generator_unordered")(asked):
            result["runs"].append(found)
            print({key: value for key, value in found.items() if key != "wrong"}, flush=True)
            if target:
                write(result, target)
        if options.quick:
            break


def write(result: dict, target: Path) -> None:
    """Write the record, one run a line, in an order that does not depend on who was done first."""
    runs = sorted(result["runs"], key=lambda r: (NAMES.index(r["name"]), r["steps"], r["stage"], r["rate"], r["fold"]))
    head = json.dumps({key: value for key, value in result.items() if key != "runs"}, indent=1, ensure_ascii=False)
    lines = ",\n".join("  " + json.dumps(one) for one in runs)
    partial = target.with_suffix(".partial")
    partial.write_text(f'{head[:-2]},\n "runs": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    partial.replace(target)


if __name__ == "__main__":
    main()
