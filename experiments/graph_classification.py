"""Which side is each node on? Attention on a graph against mean aggregation, and both against the optimum.

    python experiments/graph_classification.py [--quick] [--output FILE]

Communities: graphs of 16 nodes with independent labels of plus or minus one. Two nodes are joined with chance 0.5 where their
labels agree and 0.15 where not. Each node shows eight numbers: one is its label plus unit noise, seven are noise alone.
Given graph and numbers the labels are an Ising system, so the best possible answer is known exactly, by enumeration. Networks
of two rounds are trained on graphs drawn anew at each step: a map of what is shown to width 32, then in each round attention
with four heads and a small network for each node, both added to what the node holds, then a number for each node. Every node
has an edge to itself. All have the same maps. In three of them messages travel along the edges alone:

- ``attention``;
- ``mean``: attention whose queries are zero for good;
- ``sum``: that mean times the number of edges that reach the node, over six.

In ``pairs`` attention is between all pairs, and told of each pair what it is: a learned number for each head, round and kind of
pair (not joined, joined, a node itself) is added to the scores. Two controls take this apart: ``marked`` is attention along the
edges with the same learned numbers, which tell joined from itself; in ``two_kinds`` all pairs talk, but what they are told is
only which pairs the first three have an edge for.

Each model is trained for 1,200 steps at each of three rates of learning, and chosen by its mean accuracy over five seeds on
graphs that serve for nothing else; then it is tested on others. The first four were also trained for half as many steps, which
says whether more would matter.

Karate club: Zachary's 34 members, of whom only the two who fell out are labelled. Each node shows who it is, and the first
three models are trained on these two labels alone; tested on the other 32, over twenty seeds.

The file is written after every run. Where it is already there, with the same settings, only what is missing is measured.
"""

import functools
import json
import sys
from pathlib import Path

import records
import torch
from torch import Tensor, nn

from attnlib.course.data import planted_graphs
from attnlib.mean_field import exact_ising
from attnlib.message_passing import GraphAttention, edges_mask

TITLE = "Attention on graphs against mean aggregation: communities with a known optimum, and the karate club"
PACKAGES = ("torch", "numpy", "attnlib")
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results"
MODELS = ("attention", "mean", "sum", "pairs", "marked", "two_kinds")
CONTROL = "mean_of_pairs"
"""As ``pairs``, with queries that are zero for good: only the numbers for the kinds weigh. See ``graph_verdicts.py``."""
TOLD = ("pairs", "marked", "two_kinds", CONTROL)
"""Models whose scores are told the kind of each pair."""
ALL_PAIRS = ("pairs", "two_kinds", CONTROL)
AVERAGES = ("mean", "sum", CONTROL)
"""Models whose queries are zero for good."""

SETTINGS = {
    "nodes": 16,
    "inside": 0.5,
    "between": 0.15,
    "strength": 1.0,
    "features": 8,
    "width": 32,
    "heads": 4,
    "rounds": 2,
    "batch": 32,
    "steps": 1200,
    "rates": [0.003, 0.01, 0.03],
    "short_steps": 600,
    "short_rates": [0.001, 0.003, 0.01],
    "seeds": 5,
    "tested": 1000,
    "karate_steps": 100,
    "karate_rates": [0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03],
    "karate_seeds": 20,
}
QUICK = SETTINGS | {"steps": 6, "rates": [0.003], "short_steps": 3, "short_rates": [0.003], "seeds": 2, "tested": 20}
QUICK |= {"karate_steps": 5, "karate_seeds": 2, "karate_rates": [0.01]}


def graphs(count: int, settings: dict[str, object], generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Labels ``[count, n]``, joined or not ``[count, n, n]``, and what the nodes show ``[count, n, d]``."""
    n, d = settings["nodes"], settings["features"]
    labels, joined = planted_graphs(count, n, inside=settings["inside"], between=settings["between"], generator=generator)
    shown = torch.randn(count, n, d, generator=generator)
    shown[..., 0] += settings["strength"] * labels
    return labels, joined, shown


def best(joined: Tensor, shown: Tensor, settings: dict[str, object]) -> Tensor:
    """The exact posterior means of the labels, ``[count, n]``: an Ising system, by enumeration."""
    p, q = settings["inside"], settings["between"]
    at_edge, elsewhere = (0.5 * torch.log(torch.tensor(r, dtype=torch.float64)) for r in (p / q, (1 - p) / (1 - q)))
    J = torch.where(joined, at_edge, elsewhere) * (1 - torch.eye(joined.shape[-1], dtype=torch.float64))
    return exact_ising(J, settings["strength"] * shown[..., 0].double()).m


def edges_of(joined: Tensor, model: str) -> tuple[Tensor, Tensor]:
    """All graphs side by side as one list of edges ``[2, edges]``, each node with an edge to itself, and the kind of each edge.

    A kind is 0 for an edge between two that are not joined (only where all pairs talk), 1 between two that are, 2 at a node
    itself; with ``two_kinds`` a node itself counts as joined.
    """
    n = joined.shape[-1]
    kind = joined + (1 if model == "two_kinds" else 2) * torch.eye(n, dtype=torch.int64)
    graph, target, source = (kind >= (0 if model in ALL_PAIRS else 1)).nonzero(as_tuple=True)
    return torch.stack([n * graph + source, n * graph + target]), kind[graph, target, source]


class Classifier(nn.Module):
    """Rounds of attention along edges, each followed by a map of every node for itself, and a number for each node."""

    def __init__(self, features: int, settings: dict[str, object], model: str) -> None:
        super().__init__()
        width = settings["width"]
        self.into = nn.Linear(features, width)
        self.mixers = nn.ModuleList(GraphAttention(width, heads=settings["heads"]) for _ in range(settings["rounds"]))
        self.alone = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            for _ in self.mixers
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in self.mixers)
        self.out = nn.Linear(width, 1)
        self.model = model
        if model in TOLD:
            self.bias = nn.Parameter(torch.zeros(settings["rounds"], settings["heads"], 3))
        if model in AVERAGES:
            for mixer in self.mixers:
                nn.init.zeros_(mixer.to_query.weight).requires_grad_(False)

    def forward(self, shown: Tensor, edge_index: Tensor, kind: Tensor) -> Tensor:
        """Log odds of a label of plus one, ``[n]``."""
        x = self.into(shown)
        for t, (mixer, norm, alone) in enumerate(zip(self.mixers, self.norms, self.alone, strict=True)):
            bias = self.bias[t][:, kind] if self.model in TOLD else None
            gathered = mixer(norm(x), edge_index=edge_index, edge_bias=bias)
            if self.model == "sum":
                gathered = gathered * (torch.bincount(edge_index[1], minlength=len(x)) / 6)[:, None]
            x = x + gathered
            x = x + alone(x)
        return self.out(x)[:, 0]


def trained(model: str, rate: float, seed: int, steps: int, settings: dict[str, object]) -> "Classifier":
    """A network after ``steps`` steps on graphs that are drawn anew at each."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(1000 + seed)
    net = Classifier(settings["features"], settings, model)
    parameters = [p for p in net.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(parameters, rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps)
    for _ in range(steps):
        labels, joined, shown = graphs(settings["batch"], settings, generator)
        logits = net(shown.flatten(0, 1), *edges_of(joined, net.model))
        loss = nn.functional.softplus(-labels.flatten() * logits).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return net


def train_communities(model: str, rate: float, seed: int, steps: int, settings: dict[str, object]) -> dict[str, object]:
    """One run: accuracies on graphs for choosing and for testing, and how far the odds are from the exact ones."""
    net = trained(model, rate, seed, steps, settings)
    chosen, tested = measure(net, 1, settings), measure(net, 2, settings)
    found: dict[str, object] = {"model": model, "rate": rate, "seed": seed, "steps": steps}
    return found | {"chosen_by": chosen["accuracy"], "accuracy": tested["accuracy"], "excess": tested["excess"]}


def measure(net: nn.Module, seed: int, settings: dict[str, object]) -> dict[str, float]:
    """Accuracy on drawn graphs, that of the optimum, and the excess of the loss over the optimum's, in nats a node."""
    labels, joined, shown, exact = trials(seed, json.dumps(settings))
    with torch.no_grad():
        logits = net(shown.flatten(0, 1), *edges_of(joined, net.model)).view_as(labels).double()
    believed = torch.sigmoid(logits)
    posterior = (1 + exact) / 2
    excess = torch.special.xlogy(posterior, posterior / believed) + torch.special.xlogy(
        1 - posterior, (1 - posterior) / (1 - believed)
    )
    return {
        "accuracy": digits((logits.sign() == labels).double().mean()),
        "optimum": digits((exact.sign() == labels).double().mean()),
        "expected": digits(((1 + exact.abs()) / 2).mean()),
        "alone": digits((shown[..., 0].sign() == labels).double().mean()),
        "excess": digits(excess.mean()),
    }


@functools.cache
def trials(seed: int, settings: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Graphs to be judged by, as :func:`graphs` draws them, and the exact answer; settings come as JSON."""
    wanted = json.loads(settings)
    labels, joined, shown = graphs(wanted["tested"], wanted, torch.Generator().manual_seed(seed))
    return labels, joined, shown, best(joined, shown, wanted)


def karate(model: str) -> tuple[Tensor, Tensor, Tensor]:
    """Labels ``[34]``, edges and kinds of edges of Zachary's karate club, each member with an edge to itself."""
    import networkx

    club = networkx.karate_club_graph()
    labels = torch.tensor([1.0 if club.nodes[i]["club"] == "Mr. Hi" else -1.0 for i in club])
    pairs = torch.tensor(list(club.edges)).mT
    joined = edges_mask(torch.cat([pairs, pairs.flip(0)], 1), len(labels))
    return labels, *edges_of(joined[None], model)


def train_karate(model: str, rate: float, seed: int, steps: int, settings: dict[str, object]) -> dict[str, object]:
    """One run from two labels: the accuracy on the other 32 members."""
    labels, *edges = karate(model)
    torch.manual_seed(seed)
    net, shown = Classifier(34, settings, model), torch.eye(34)
    optimiser = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], rate, weight_decay=1e-2)
    known = torch.tensor([0, 33])
    for _ in range(steps):
        loss = nn.functional.softplus(-labels[known] * net(shown, *edges)[known]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        right = net(shown, *edges).sign() == labels
    right[known] = False
    return {"model": model, "rate": rate, "seed": seed, "steps": steps, "accuracy": digits(right.sum() / 32)}


def digits(number: Tensor) -> float:
    """Four digits, for a file that can be read."""
    return float(f"{number.item():.4g}")


def jobs(settings: dict[str, object]) -> list[tuple[str, str, float, int, int]]:
    """What is to be run, seed by seed: task, model, rate, seed and number of steps."""
    plans = [
        ("karate", MODELS[:3], "karate_rates", "karate_seeds", "karate_steps"),
        ("communities", MODELS[:4], "short_rates", "seeds", "short_steps"),
        ("communities", MODELS, "rates", "seeds", "steps"),
    ]
    return [
        (task, model, rate, seed, settings[steps])
        for task, models, rates, seeds, steps in plans
        for seed in range(settings[seeds])
        for rate in settings[rates]
        for model in models
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run what is missing, and write the file after each run."""
    parser = records.command(__doc__.splitlines()[0], "tiny sizes")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS / "graph_classification.json")
    by = records.versions(*PACKAGES)
    before = records.earlier(target, settings, by)
    runs = {task: before.get(task, []) for task in ("communities", "karate")}
    optimum = measure(Classifier(settings["features"], settings, "mean"), 2, settings)
    for task, *job in jobs(settings):
        if any([run[key] for key in ("model", "rate", "seed", "steps")] == job for run in runs[task]):
            continue
        train = train_communities if task == "communities" else train_karate
        runs[task].append(train(*job, settings))
        print(task, runs[task][-1], file=sys.stderr, flush=True)
        result = {
            **records.head("graph_classification", TITLE, arguments, options.quick, by),
            "settings": settings,
            "optimum": {key: optimum[key] for key in ("optimum", "expected", "alone")},
            **runs,
        }
        records.write(result, target, indent=1)


if __name__ == "__main__":
    main()
