"""What hides behind a noisy chain? Trained attention against the exact posterior, by rounds, edges and length.

    python experiments/hidden_chain.py [--quick] [--output FILE]

A hidden state moves on a ring of three: it stays with chance 0.8, steps ahead with 0.17 and back with 0.03. At each step one of
three symbols is seen, that of the state with chance 0.6. Forward and backward messages give the exact posterior of each state.
Networks of one, two and four rounds are trained to name the state at each step of chains of 32, drawn anew at each step of
training; they are shown true states, never the posterior. On ``near`` edges each step hears itself and its two neighbours, on
``all`` edges each step hears the whole chain, and ``unordered`` is that without places. All are trained for two lengths, which
says whether more would matter.

- ``search``: each network has a learning rate of its own at each length, chosen over five seeds by the distance to the exact
  posterior, in nats a step, on chains that serve for nothing else. A rate that has lost after some seeds gets no more.
- ``report``: each network at its rate, on seeds that no choice has seen. Run s is tested on chains of its own, the same ones
  for all networks, at the trained length and at others; and once more with a mask that is put on after training, so that no
  step hears one more than fifteen away.
- ``windows`` and ``counting``: on the chains of run s, the distance of the exact posterior of one who sees only so many steps
  to each side (no network of so many rounds on near edges can be better), and of one who sees his own symbol and how often
  each was seen (which is all that a network without places can know).

The file is written after every run. Where it is already there, with the same settings, only what is missing is measured. What
was predicted before the runs stands in ``predictions.md``.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import records
import torch
from torch import Tensor, nn

from attnlib.attention import rotary_places
from attnlib.course.oracles import forward_backward
from attnlib.message_passing import GraphAttention, edges_mask, window_edges

TITLE = "Attention on a hidden Markov chain: its distance from the exact posterior, by rounds, edges and length"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results"
MODELS = (("near", 1), ("near", 2), ("near", 4), ("all", 1), ("all", 2), ("unordered", 2))
SETTINGS = {
    "stay": 0.8,
    "ahead": 0.17,
    "seen_right": 0.6,
    "length": 32,
    "width": 16,
    "heads": 2,
    "batch": 32,
    "steps": 3000,
    "short_steps": 1000,
    "rates": [0.003, 0.01, 0.03, 0.1],
    "search_seeds": 5,
    "searched_on": 300,
    "first_seed": 101,
    "seeds": 10,
    "tested": 1000,
    "lengths": [8, 32, 128],
    "windows": [0, 1, 2, 3, 4, 6, 8],
    "masked_to": 15,
}
QUICK = SETTINGS | {"steps": 4, "short_steps": 2, "rates": [0.003, 0.01], "search_seeds": 1, "searched_on": 10}
QUICK |= {"seeds": 2, "tested": 10, "lengths": [8, 32]}
KEYS = ("stage", "model", "rounds", "rate", "seed", "steps")

Run = dict[str, object]


def tables(settings: dict[str, object]) -> tuple[Tensor, Tensor, Tensor]:
    """Chances of the first state ``[3]``, of the next state ``[3, 3]`` and of the symbol seen ``[3, 3]``, by state."""
    stay, ahead, right = (settings[key] for key in ("stay", "ahead", "seen_right"))
    ring = torch.eye(3, dtype=torch.float64)
    moves = stay * ring + ahead * ring.roll(1, 1) + (1 - stay - ahead) * ring.roll(-1, 1)
    return torch.full((3,), 1 / 3, dtype=torch.float64), moves, (1 - right) / 2 + (1.5 * right - 0.5) * ring


def chains(count: int, length: int, settings: dict[str, object], generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Hidden states and the symbols seen, each ``[count, length]``."""
    _, moves, seen = tables(settings)
    jumps = torch.multinomial(moves[0], count * length, replacement=True, generator=generator).view(count, length)
    jumps[:, 0] = torch.randint(3, (count,), generator=generator)
    slips = torch.multinomial(seen[0], count * length, replacement=True, generator=generator).view(count, length)
    states = jumps.cumsum(1) % 3  # a ring looks the same from each of its states
    return states, (states + slips) % 3


def posterior(symbols: Tensor, settings: dict[str, object], reach: int | None = None) -> Tensor:
    """Exact chances of each state ``[count, length, 3]`` given all symbols, or those up to ``reach`` steps away."""
    first, moves, seen = (table.log() for table in tables(settings))
    said = seen.mT[symbols]
    if reach is None:
        return forward_backward(first, moves, said).marginals
    said = nn.functional.pad(said, (0, 0, reach, reach))  # a step where nothing is seen
    windows = said.unfold(1, 2 * reach + 1, 1).mT
    return forward_backward(first, moves, windows).marginals[..., reach, :]


class Reader(nn.Module):
    """Rounds of attention along a chain, each followed by a map of every step for itself, and log chances of three states."""

    def __init__(self, kind: str, rounds: int, settings: dict[str, object]) -> None:
        super().__init__()
        width, places = settings["width"], None if kind == "unordered" else rotary_places
        self.kind = kind
        self.into = nn.Linear(3, width)
        self.mixers = nn.ModuleList(GraphAttention(width, heads=settings["heads"], places=places) for _ in range(rounds))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(rounds))
        self.alone = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            for _ in range(rounds)
        )
        self.out = nn.Linear(width, 3)

    def forward(self, symbols: Tensor, reach: int | None = None) -> Tensor:
        """Logarithms of chances, ``[*batch, length, 3]``; a step hears those up to ``reach`` away, or as its kind does."""
        length = symbols.shape[-1]
        reach = 1 if self.kind == "near" else reach
        mask = None if reach is None else edges_mask(window_edges(length, reach), length)
        x = self.into(nn.functional.one_hot(symbols, 3).to(self.into.weight.dtype))
        for mixer, norm, alone in zip(self.mixers, self.norms, self.alone, strict=True):
            x = x + mixer(norm(x), mask=mask)
            x = x + alone(x)
        return self.out(x).log_softmax(-1)


def trained(kind: str, rounds: int, rate: float, seed: int, steps: int, settings: dict[str, object]) -> Reader:
    """A network after so many steps."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(1000 + seed)
    net = Reader(kind, rounds, settings)
    optimiser = torch.optim.AdamW(net.parameters(), rate, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps)
    for _ in range(steps):
        hidden, symbols = chains(settings["batch"], settings["length"], settings, generator)
        loss = nn.functional.nll_loss(net(symbols).flatten(0, 1), hidden.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return net


def run(job: Run, settings: dict[str, object]) -> Run:
    """Train and test one network: the distance by which a rate is chosen, or those that are reported, by length."""
    net = trained(*(job[key] for key in KEYS[1:]), settings)
    if job["stage"] == "search":
        symbols = chains(settings["searched_on"], settings["length"], settings, torch.Generator().manual_seed(1))[1]
        return job | {"chosen_by": distance(net, symbols, settings)}
    shown = {str(length): tests(job["seed"], length, settings) for length in settings["lengths"]}
    return job | {
        "distance": {length: distance(net, symbols, settings) for length, symbols in shown.items()},
        "masked": {length: distance(net, symbols, settings, settings["masked_to"]) for length, symbols in shown.items()},
    }


def tests(seed: int, length: int, settings: dict[str, object]) -> Tensor:
    """The symbols ``[tested, length]`` that the run of a seed is tested on."""
    return chains(settings["tested"], length, settings, torch.Generator().manual_seed(10_000 + seed))[1]


def distance(net: nn.Module, symbols: Tensor, settings: dict[str, object], reach: int | None = None) -> float:
    """Mean Kullback-Leibler divergence of the network's chances from the exact ones, in nats a step."""
    with torch.no_grad():
        believed = net(symbols, reach).double()
    return apart(posterior(symbols, settings), believed)


def apart(exact: Tensor, log_believed: Tensor) -> float:
    """The mean divergence, four digits."""
    return float(f"{(torch.special.xlogy(exact, exact) - exact * log_believed).sum(-1).mean().item():.4g}")


def windows(seed: int, settings: dict[str, object]) -> list[Run]:
    """How far from the whole truth, on the chains of a seed, is the exact posterior that sees some steps to each side only."""
    found = []
    for length in settings["lengths"]:
        symbols = tests(seed, length, settings)
        exact = posterior(symbols, settings)
        for reach in settings["windows"]:
            value = apart(exact, posterior(symbols, settings, reach).log())
            found.append({"seed": seed, "length": length, "reach": reach, "distance": value})
    return found


def counting(settings: dict[str, object]) -> list[Run]:
    """How far from it is who knows his own symbol and all counts, at the trained length; averaged from many chains."""
    _, many = chains(60_000, settings["length"], settings, torch.Generator().manual_seed(3))
    alone = tables(settings)[2].mT[torch.arange(3)]  # who has seen nothing but his own symbol
    total = alone.repeat_interleave((settings["length"] + 1) ** 2, 0)
    known = total.index_add(0, known_by_counting(many), posterior(many, settings).flatten(0, 1))
    known = known / known.sum(-1, keepdim=True)
    found = []
    for seed in reported(settings):
        symbols = tests(seed, settings["length"], settings)
        value = apart(posterior(symbols, settings).flatten(0, 1), known[known_by_counting(symbols)].log())
        found.append({"seed": seed, "distance": value})
    return found


def known_by_counting(symbols: Tensor) -> Tensor:
    """A number for what each step's own symbol and the counts of the chain say together, ``[count * length]``."""
    n = symbols.shape[-1] + 1
    counts = nn.functional.one_hot(symbols, 3).sum(-2)
    return ((symbols * n + counts[:, :1]) * n + counts[:, 1:2]).flatten()


def reported(settings: dict[str, object]) -> range:
    """The seeds that have chosen nothing."""
    return range(settings["first_seed"], settings["first_seed"] + settings["seeds"])


def sums(job: Run, runs: list[Run], settings: dict[str, object]) -> dict[float, tuple[float, bool]]:
    """For each rate of a network's search at the length of a job: the sum of its distances, and whether it is whole."""
    same = ("model", "rounds", "steps")
    known = [run for run in runs if run["stage"] == "search" and all(run[key] == job[key] for key in same)]
    found = {rate: [run["chosen_by"] for run in known if run["rate"] == rate] for rate in settings["rates"]}
    return {rate: (sum(tried), len(tried) == settings["search_seeds"]) for rate, tried in found.items()}


def best_rate(job: Run, runs: list[Run], settings: dict[str, object]) -> float | None:
    """The rate with the smallest sum; None while another could still end below it, for no distance is negative."""
    found = sums(job, runs, settings)
    rate = min(found, key=lambda rate: found[rate][0])
    return rate if found[rate][1] else None


def is_out(job: Run, runs: list[Run], settings: dict[str, object]) -> bool:
    """Whether a run of the search cannot change the choice: its rate has already lost to one that is whole."""
    found = sums(job, runs, settings)
    return found[job["rate"]][0] > min((total for total, whole in found.values() if whole), default=float("inf"))


def jobs(runs: list[Run], settings: dict[str, object]) -> list[Run]:
    """What is to be run, in the order in which it is: the search, then all networks at their rates, seed by seed."""
    lengths = (settings["steps"], settings["short_steps"])
    found = [
        ("search", kind, rounds, rate, seed, steps)
        for steps in lengths
        for seed in range(settings["search_seeds"])
        for kind, rounds in MODELS
        for rate in settings["rates"]
    ]
    asked = [{"model": kind, "rounds": rounds, "steps": steps} for steps in lengths for kind, rounds in MODELS]
    best = [best_rate(job, runs, settings) for job in asked]
    if None not in best:
        found += [
            ("report", job["model"], job["rounds"], rate, seed, job["steps"])
            for seed in reported(settings)
            for job, rate in zip(asked, best, strict=True)
        ]
    return [dict(zip(KEYS, job, strict=True)) for job in found]


def due(runs: list[Run], settings: dict[str, object]) -> list[Run]:
    """The jobs that have no run yet, but for runs of the search that cannot change a choice."""
    have = {tuple(run[key] for key in KEYS) for run in runs}
    missing = [job for job in jobs(runs, settings) if tuple(job.values()) not in have]
    return [job for job in missing if job["stage"] != "search" or not is_out(job, runs, settings)]


def measure(result: dict, settings: dict[str, object]) -> Iterator[dict]:
    """Make what is missing, and hand over the result after every run."""
    while missing := due(result["runs"], settings):
        result["runs"].append(run(missing[0], settings))
        print(result["runs"][-1], file=sys.stderr, flush=True)
        yield result


def main(arguments: list[str] | None = None) -> None:
    """Run what is missing, and write the file after each run."""
    parser = records.command(__doc__.splitlines()[0], "tiny sizes")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS / "hidden_chain.json")
    by = records.versions("torch", "numpy", "attnlib")
    result = {
        **records.head("hidden_chain", TITLE, arguments, options.quick, by),
        "seeds": "run s draws its parameters from seed s, its chains from 1000 + s, and is tested on chains from 10000 + s",
        "settings": settings,
        "windows": [row for seed in reported(settings) for row in windows(seed, settings)],
        "counting": counting(settings),
        "runs": records.earlier(target, settings, by).get("runs", []),
    }
    for now in measure(result, settings):
        records.write(now, target, indent=1)


if __name__ == "__main__":
    main()
