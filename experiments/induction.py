"""Two blocks learn to guess by pairs: which guess they are nearest to, step by step, and where their heads come to rest.

    python experiments/induction.py [--quick] [--output FILE]

Two blocks of softmax attention and two of energy attention on the Markov chains of ``collectives.py``, at the rates and from
the seeds of its final runs. Every few steps: the Kullback-Leibler divergence, in nats, from each of three guesses to what the
network says, on chains that it does not learn from: uniform, by how often each state has come, by how often each has followed
the present one (Bayes). Energy attention is trained for its first steps only, on the same course of the learning rate.

Of softmax's heads, when they are trained: the weight on the place before, and where a query comes to rest, by
``attnlib.hopfield.find_fixed_points``, if it attends again and again among the keys that it sees: ``sharing``, which share of
these keys have more than half of the largest weight there, and ``single``, how often that is one key. And, as means over
queries that see ten keys or more: ``spread``, that of the scores over sqrt(2 ln m), for m keys; ``Y2``, and ``law``, what the
random energy model gives at the spread of each query; ``match``, the weight on what followed the present state before; ``U``,
the thermometer of the weights summed by state, the right one being the state that follows. ``ideal`` is the thermometer of
a head that weighs what followed alike, and ``said`` that of what the network says.

The file is written after every network. Where it is already there, with the same settings, only what is missing is trained.
"""

from collections.abc import Callable
from typing import Any

import collective_contestants as contestants
import records
import torch
import torch.nn.functional as F
from collective_interventions import mixers, seen
from collective_tasks import LENGTH, STATES, Markov
from torch import Tensor, nn
from tqdm.auto import tqdm
from walkers import RESULTS

from attnlib.course.data.markov import MarkovChains, markov_chains, markov_guesses
from attnlib.hopfield import find_fixed_points
from attnlib.softmax import relative_spread
from attnlib.transformer import thermometer
from attnlib.transformer.energy_law import participation_law
from attnlib.transformer.training import FRESH, train_one

TITLE = "Two blocks on Markov chains, step by step, and where their heads come to rest"
GUESSES = ("uniform", "unigram", "bigram")
NAMES = ("softmax, 2 blocks", "energy, 2 blocks")
SETTINGS: dict[str, Any] = {
    "seeds": [11, 12, 13, 14, 15],
    "rate": 0.03,
    "steps": 4000,
    "batch": 32,
    "chains": 128,
    "every": [[10, 400], [50, 800], [400, 4000]],
    "first": 800,
    "rest": [32, [20, 41, 62]],
    "keys": 10,
}
"""``every``: how far apart looks are, up to which step; ``first``: how far energy attention is trained; ``rest``: of how many
chains, and at which places, queries are brought to rest; ``keys``: how many a query must see for spreads and thermometers to
be read."""

QUICK = SETTINGS | {"seeds": [11], "steps": 6, "chains": 4, "every": [[2, 6]], "first": 4, "rest": [1, [5, 20]]}


class Enough(Exception):
    """A training has gone as far as it is looked at."""


def looks(every: list[list[int]]) -> list[int]:
    """At which steps a network is looked at, from 0 on."""
    found = [0]
    for apart, last in every:
        found += range(found[-1] + apart, last + 1, apart)
    return found


def divergences(model: nn.Module, chains: MarkovChains) -> list[float]:
    """From each guess to what the network says, as means over places."""
    guesses = markov_guesses(chains)
    with torch.no_grad():
        said = model(states_of(chains)).double().log_softmax(-1)
    return [float((guesses[name] * (guesses[name].log() - said)).sum(-1).mean()) for name in GUESSES]


def states_of(chains: MarkovChains) -> Tensor:
    """What a network is shown: all states but the last."""
    return F.one_hot(chains.states[:, :-1], STATES).float()


def rests(model: nn.Module, chains: MarkovChains, places: list[int]) -> list[list[dict[str, float]]]:
    """Of each block and head: the weight on the place before, and what rests where, over chains and places."""
    found: list[list[dict[str, float]]] = []
    for mixer in mixers(model):
        with torch.no_grad(), seen(mixer) as (looked):
            model(states_of(chains))
        one = looked[0]
        found.append([])
        for head in range(mixer.heads):
            sharing = []
            for chain in range(len(chains.states)):
                for place in places:
                    query, keys = one.query[chain, head, place][None], one.key[chain, head, : place + 1]
                    ends = find_fixed_points(
                        query.double(), keys.double(), beta=float(mixer.beta), max_steps=100_000, tolerance=1e-7
                    )
                    sharing.append([float(ends.sharing[ends.reached[0]]), place + 1.0])
            count, of = torch.tensor(sharing).T
            back = one.weights[:, head].diagonal(-1, -2, -1).mean()
            means = {"back": back, "single": (count == 1).float().mean(), "sharing": (count / of).mean()}
            found[-1].append({name: float(value) for name, value in means.items()})
    return found


def readings(model: nn.Module, chains: MarkovChains, least: int) -> dict[str, Any]:
    """Of each block and head: spread, Y2 and its law, match and thermometer; and the thermometer of what is said."""
    states = chains.states[:, :-1]
    count = torch.arange(1, states.shape[1] + 1)
    sees = count >= least
    # what followed the present state before stands behind it: [chains, queries, keys]
    followed = F.pad(states[:, :, None] == states[:, None, :-1], (1, 0)) & (count[:, None] >= count)
    shares = followed.double() / followed.sum(-1, keepdim=True).clamp(min=1)
    known = sees & followed.any(-1)

    def u(chances: Tensor, which: Tensor) -> float:  # of [chains, queries, states]
        return float(thermometer(chances[which], chains.next[which]).ratio)

    with torch.no_grad():
        said = model(states_of(chains)).double().softmax(-1)
        found: dict[str, Any] = {"said": u(said, sees.expand_as(states)), "heads": []}
        found["ideal"] = u(_by_state(shares, states), known)
        for mixer in mixers(model):
            with seen(mixer) as looked:
                model(states_of(chains))
            weights, scores = looked[0].weights.double(), looked[0].scores.double()[..., sees, :]
            causal = (count[:, None] >= count)[sees]
            spread = relative_spread(scores, beta=mixer.beta, mask=causal)
            keys = count[sees].expand(spread.shape)
            law = participation_law(spread * (2 * keys.double().log()).sqrt(), keys)
            read = {"spread": spread, "Y2": weights[..., sees, :].square().sum(-1), "law": law}
            means = {name: value.mean((0, 2)) for name, value in read.items()}
            means["match"] = torch.stack([(p * followed).sum(-1)[known].mean() for p in weights.unbind(1)])
            means["U"] = torch.tensor([u(_by_state(p, states), known) for p in weights.unbind(1)])
            found["heads"].append([{name: float(value[h]) for name, value in means.items()} for h in range(mixer.heads)])
    return found


def _by_state(weights: Tensor, states: Tensor) -> Tensor:
    """Weights ``[chains, queries, keys]`` summed over keys of the same state, ``[chains, queries, states]``."""
    return weights @ F.one_hot(states, STATES).to(weights)


def run(name: str, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train one network, and look at it on the way and at the end."""
    torch.set_num_threads(1)
    chains = markov_chains(settings["chains"], STATES, length=LENGTH, generator=torch.Generator().manual_seed(FRESH + seed))
    at, last = set(looks(settings["every"])), settings["first"] if name.startswith("energy") else settings["steps"]
    found: dict[str, Any] = {"name": name, "seed": seed, "steps": [], **{guess: [] for guess in GUESSES}}

    def watch(model: nn.Module, step: int) -> None:
        if step in at:
            found["steps"].append(step)
            for guess, apart in zip(GUESSES, divergences(model, chains), strict=True):
                found[guess].append(apart)
        if step == last < settings["steps"]:
            raise Enough

    how = {key: settings[key] for key in ("rate", "steps", "batch")}
    make: Callable[[], nn.Module] = lambda: contestants.made("markov", name)  # noqa: E731
    try:
        trained = train_one(make, Markov([], "tokens"), seed=seed, test=2048, watch=watch, **how)
    except Enough:
        return records.rounded(found)
    few, places = settings["rest"]
    some = MarkovChains(chains.states[:few], chains.law[:few])
    network = trained.model.eval()
    found |= {"rests": rests(network, some, places), "read": readings(network, chains, settings["keys"])}
    return records.rounded(found | {"score": trained.score})


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and train who is missing."""
    options = records.command(__doc__.splitlines()[0], "six steps from one seed").parse_args(arguments)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS / "induction.json")
    head = records.head("induction", TITLE, arguments, options.quick, records.versions("torch", "attnlib"))
    rows: list[dict[str, Any]] = records.earlier(target, settings, head["versions"]).get("rows", [])
    have = {(row["name"], row["seed"]) for row in rows}
    jobs = [(name, seed) for name in NAMES for seed in settings["seeds"] if (name, seed) not in have]
    for name, seed in tqdm(jobs, desc="induction", disable=None):
        rows.append(run(name, seed, settings))
        records.write(head | {"settings": settings, "rows": rows}, target)


if __name__ == "__main__":
    main()
