"""What hides behind a noisy chain? Trained attention against the exact posterior, by rounds, edges and length.

    python experiments/hidden_chain.py [--quick] [--output FILE]

A hidden state moves on a ring of three: it stays with chance 0.8, steps ahead with 0.17 and back with 0.03. At each step one of
three symbols is seen, that of the state with chance 0.6. Forward and backward messages give the exact posterior of each state.
Networks of one, two and four rounds are trained to name the state at each step of chains of 32, drawn anew at each step of
training; they are shown true states, never the posterior. On ``near`` edges each step hears itself and its two neighbours, on
``all`` edges each step hears the whole chain, and ``unordered`` is that without places. Each has a learning rate of its own,
chosen over five seeds by the loss on chains that serve for nothing else. Then the distance to the exact posterior is measured
on other chains, in nats a step, at the trained length and at others; and once more with a mask that is put on after training,
so that no step hears one more than fifteen away. Beside it stands the exact posterior of one who sees only so many steps to
each side: no network of so many rounds on near edges can be better; and of one who sees his own symbol and how often each was
seen, which is all that a network without places can know. All were also trained for a third as many steps, which says whether
more would matter.

The file is written after every run. Where it is already there, with the same settings, only what is missing is measured.
"""

import sys
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
    "rates": [0.003, 0.01, 0.03],
    "short_steps": 1000,
    "short_rates": [0.003, 0.01],
    "seeds": 5,
    "tested": 300,
    "lengths": [8, 32, 128],
    "windows": [0, 1, 2, 3, 4, 6, 8],
    "masked_to": 15,
}
QUICK = SETTINGS | {"steps": 4, "rates": [0.003], "short_steps": 2, "short_rates": [0.003], "seeds": 2, "tested": 10}
QUICK |= {"lengths": [8, 32]}


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


def train(kind: str, rounds: int, rate: float, seed: int, steps: int, settings: dict[str, object]) -> dict[str, object]:
    """One run: the distance by which a rate is chosen, and those from the exact posterior on other chains, by length."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(1000 + seed)
    net = Reader(kind, rounds, settings)
    optimiser = torch.optim.AdamW(net.parameters(), rate, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps)
    found: dict[str, object] = {"model": kind, "rounds": rounds, "rate": rate, "seed": seed, "steps": steps}
    for _ in range(steps):
        hidden, symbols = chains(settings["batch"], settings["length"], settings, generator)
        loss = nn.functional.nll_loss(net(symbols).flatten(0, 1), hidden.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    found["chosen_by"] = distance(net, settings["length"], 1, settings)
    lengths = settings["lengths"]
    found["distance"] = {str(length): distance(net, length, 2, settings) for length in lengths}
    found["masked"] = {str(length): distance(net, length, 2, settings, settings["masked_to"]) for length in lengths}
    return found


def distance(net: nn.Module, length: int, seed: int, settings: dict[str, object], reach: int | None = None) -> float:
    """Mean Kullback-Leibler divergence of the network's chances from the exact ones, in nats a step."""
    _, symbols = chains(settings["tested"], length, settings, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        believed = net(symbols, reach).double()
    return apart(posterior(symbols, settings), believed)


def apart(exact: Tensor, log_believed: Tensor) -> float:
    """The mean divergence, four digits."""
    return float(f"{(torch.special.xlogy(exact, exact) - exact * log_believed).sum(-1).mean().item():.4g}")


def windows(settings: dict[str, object]) -> list[dict[str, object]]:
    """How far from the whole truth the exact posterior is that sees only some steps to each side."""
    found = []
    for length in settings["lengths"]:
        _, symbols = chains(settings["tested"], length, settings, torch.Generator().manual_seed(2))
        exact = posterior(symbols, settings)
        for reach in settings["windows"]:
            value = apart(exact, posterior(symbols, settings, reach).log())
            found.append({"length": length, "reach": reach, "distance": value})
    return found


def counting(settings: dict[str, object]) -> float:
    """How far from the whole truth is who knows his own symbol and all counts, at the trained length; averaged from chains."""
    _, many = chains(200 * settings["tested"], settings["length"], settings, torch.Generator().manual_seed(3))
    _, symbols = chains(settings["tested"], settings["length"], settings, torch.Generator().manual_seed(2))
    alone = tables(settings)[2].mT[torch.arange(3)]  # who has seen nothing but his own symbol
    total = alone.repeat_interleave((settings["length"] + 1) ** 2, 0)
    known = total.index_add(0, known_by_counting(many), posterior(many, settings).flatten(0, 1))
    known = known / known.sum(-1, keepdim=True)
    return apart(posterior(symbols, settings).flatten(0, 1), known[known_by_counting(symbols)].log())


def known_by_counting(symbols: Tensor) -> Tensor:
    """A number for what each step's own symbol and the counts of the chain say together, ``[count * length]``."""
    n = symbols.shape[-1] + 1
    counts = nn.functional.one_hot(symbols, 3).sum(-2)
    return ((symbols * n + counts[:, :1]) * n + counts[:, 1:2]).flatten()


def jobs(settings: dict[str, object]) -> list[tuple[str, int, float, int, int]]:
    """What is to be run, seed by seed: kind, rounds, rate, seed and number of steps."""
    return [
        (kind, rounds, rate, seed, settings[steps])
        for rates, steps in (("rates", "steps"), ("short_rates", "short_steps"))
        for seed in range(settings["seeds"])
        for kind, rounds in MODELS
        for rate in settings[rates]
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run what is missing, and write the file after each run."""
    parser = records.command(__doc__.splitlines()[0], "tiny sizes")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS / "hidden_chain.json")
    by = records.versions("torch", "numpy", "attnlib")
    runs = records.earlier(target, settings, by).get("runs", [])
    seen, counted = windows(settings), counting(settings)
    for job in jobs(settings):
        if any(tuple(run[key] for key in ("model", "rounds", "rate", "seed", "steps")) == job for run in runs):
            continue
        runs.append(train(*job, settings))
        print(runs[-1], file=sys.stderr, flush=True)
        result = {
            **records.head("hidden_chain", TITLE, arguments, options.quick, by),
            "settings": settings,
            "windows": seen,
            "counting": counted,
            "runs": runs,
        }
        records.write(result, target, indent=1)


if __name__ == "__main__":
    main()
