"""What page 8b's predictions came to: films that share their noise, coupling from the past, and causal layers.

    python experiments/what_is_forgotten.py [--quick] [--output FILE]

Independent couplings have variance ``1/N`` and no drive; softmax couplings are the softmax of independent Gaussian scores, row
by row, times a spread. What is measured, in the order of ``predictions.md``, under "What is forgotten":

- ``meetings``: the mean time until two films from independent starts meet, of each system, beside that of the chain of counts;
- ``damage``: of each system the mean over frames, and in the last frame the two halves of the spins apart;
- ``past``: the mean time until films from all up and all down meet, for softmax couplings, of each system; ``even``, the same
  for weights that are all equal, exactly;
- ``signs``: the same with signs turned over, and how often a film from a random start is apart at that moment; the distance of
  what coupling from the past would return from the exact law, beside that of as many draws from the law;
- ``cold``: who meets where weights are sharp and spins cold, and where the same norms of rows are spread over all spins;
- ``masks``: how far the stationary laws of parallel updates and of one ordered sweep are apart, and what heat makes of it;
- ``slowest``: how often the first token is the slowest, for two spreads of drives;
- ``overlaps``: of films with noise of their own, frame by frame, beside the map.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import records
import torch
from torch import Tensor

from attnlib.kinetic import damage, exact_kinetic, film, spin_states, transition_matrix

TITLE = "What driven spins forget: films with shared noise, coupling from the past, causal layers"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "what_is_forgotten.json"
SETTINGS: dict[str, Any] = {
    "meetings": [[300, 0.05], [300, 0.1], [300, 0.15], [1000, 0.05], [1000, 0.07], [1000, 0.1]],
    "systems": 10,
    "pairs": 200,
    "never": {"spins": 300, "gain": 0.5, "systems": 3, "pairs": 60, "most": 2000},
    "damage": {"spins": 1500, "gain": 1.0, "burn": 40, "frames": 100},
    "past": [[8, 0.5], [32, 0.5], [128, 0.5], [8, 0.9], [32, 0.9], [128, 0.9], [16, 1.5], [24, 1.5], [32, 1.5]],
    "signs": {"spins": 8, "turned": [0.0, 0.1, 0.2, 0.3, 0.5], "systems": 100, "triples": 1000},
    "biased": {"systems": 10, "samples": 400_000},
    "cold": {"spins": 64, "spread": 4.0, "beta": 3.0, "systems": 10, "pairs": 50, "most": 1000},
    "masks": {"spins": 8, "draws": 100, "betas": [0.05, 1.0]},
    "slowest": {"spins": 7, "draws": 200, "drives": [0.5, 2.0]},
    "overlaps": {"spins": 1500, "gains": [1.0, 2.0], "films": 200, "frames": 8},
}
QUICK: dict[str, Any] = {
    "meetings": [[50, 0.1]],
    "systems": 2,
    "pairs": 10,
    "never": {"spins": 50, "gain": 0.5, "systems": 1, "pairs": 3, "most": 5},
    "damage": {"spins": 60, "gain": 1.0, "burn": 4, "frames": 5},
    "past": [[8, 0.5]],
    "signs": {"spins": 4, "turned": [0.0, 0.5], "systems": 2, "triples": 20},
    "biased": {"systems": 2, "samples": 200},
    "cold": {"spins": 16, "spread": 4.0, "beta": 3.0, "systems": 2, "pairs": 5, "most": 20},
    "masks": {"spins": 4, "draws": 3, "betas": [0.05]},
    "slowest": {"spins": 4, "draws": 5, "drives": [0.5]},
    "overlaps": {"spins": 60, "gains": [1.0], "films": 20, "frames": 2},
}


def seeded(seed: int) -> torch.Generator:
    """A generator of its own for everything that is drawn."""
    return torch.Generator().manual_seed(seed)


def independent(n: int, gain: float, seed: int) -> Tensor:
    """Couplings of variance ``gain^2 / n``."""
    return gain / n**0.5 * torch.randn(n, n, generator=seeded(seed))


def softmax(n: int, spread: float, seed: int, turned: float = 0.0) -> Tensor:
    """Weights ``[n, n]`` of Gaussian scores; each sign turned over with a chance."""
    draw = seeded(seed)
    weights = (spread * torch.randn(n, n, generator=draw)).softmax(-1)
    return torch.where(torch.rand(n, n, generator=draw) < turned, -weights, weights)


def moved(J: Tensor, beta: float, s: Tensor, noise: Tensor) -> Tensor:
    """A step of films ``[k, films, n]``, each k with a noise of its own, ``[k, n]``, which its films share."""
    return torch.where(noise[:, None] < torch.sigmoid(2 * beta * (s @ J.mT)), 1.0, -1.0)


def met(J: Tensor, beta: float, start: Tensor, most: int, seed: int) -> tuple[Tensor, Tensor]:
    """After how many steps the first two of each ``[k, films, n]`` meet (``most`` if they do not), and all films then."""
    draw, k, n = seeded(seed), len(start), start.shape[-1]
    times, found, left, s = torch.full((k,), most), start.clone(), torch.arange(k), start
    for step in range(1, most + 1):
        s = moved(J, beta, s, torch.rand(len(left), n, generator=draw))
        same = (s[:, 0] == s[:, 1]).all(-1)
        times[left[same]], found[left[same]] = step, s[same]
        left, s = left[~same], s[~same]
        if not len(left):
            break
    return times, found


def signs(shape: tuple[int, ...], seed: int) -> Tensor:
    """Films that are drawn."""
    return 2.0 * torch.randint(2, shape, generator=seeded(seed)) - 1


def ends(k: int, n: int) -> Tensor:
    """All up and all down, ``[k, 2, n]``."""
    return torch.tensor([1.0, -1.0])[:, None].expand(k, 2, n)


def differs(share: float, gain: float) -> float:
    """The right side of the damage equation: ``E tanh(g z) erf(z sqrt(d / (2 - 2 d)))``, the larger of two fields."""
    z = torch.linspace(-9, 9, 361, dtype=torch.float64)
    law = (-z.square() / 2).exp()
    return ((law * (gain * z).tanh() * (z * math.sqrt(share / (2 - 2 * share))).erf()).sum() / law.sum()).item()


def chain(n: int, gain: float) -> float:
    """The mean time until two films that differ in half of n spins meet, if the count of spins that differ is a Markov chain.

    Each spin differs with the chance that is the right side of the damage equation at the share that differed before.
    """
    most = round(0.6 * n)
    q = np.array([differs(k / n, gain) for k in range(1, most + 1)])
    logs = np.array([math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)])
    later = np.arange(n + 1)
    P = np.exp(logs + later * np.log(q)[:, None] + (n - later) * np.log1p(-q)[:, None])
    inside = P[:, 1 : most + 1]
    inside[:, -1] += P[:, most + 1 :].sum(-1)
    return float(np.linalg.solve(np.eye(most) - inside, np.ones(most))[n // 2 - 1])


def meetings(settings: dict[str, Any]) -> dict[str, Any]:
    """Independent couplings, independent starts."""
    rows = []
    for n, gain in settings["meetings"]:
        times = [
            met(independent(n, gain, seed), 1.0, signs((settings["pairs"], 2, n), 100 + seed), 20_000, 200 + seed)[0]
            for seed in range(settings["systems"])
        ]
        rows.append({"spins": n, "gain": gain, "chain": chain(n, gain), "systems": [t.double().mean().item() for t in times]})
    asked = settings["never"]
    n, most = asked["spins"], asked["most"]
    still = [
        (met(independent(n, asked["gain"], seed), 1.0, signs((asked["pairs"], 2, n), seed), most, seed)[0] == most).sum().item()
        for seed in range(asked["systems"])
    ]
    return {"rows": rows, "apart": sum(still)}


def damages(settings: dict[str, Any]) -> dict[str, Any]:
    """Of each system: the mean over frames, and both halves of the spins in the last."""
    asked, rows, halves = settings["damage"], [], []
    for seed in range(settings["systems"]):
        J = independent(asked["spins"], asked["gain"], seed)
        start = signs((2, asked["spins"]), 300 + seed)
        frames = film(J, steps=asked["burn"] + asked["frames"], start=start, shared=True, generator=seeded(400 + seed))
        apart = (frames[:, 0] != frames[:, 1])[asked["burn"] + 1 :].double()
        rows.append(apart.mean().item())
        halves.append([half.mean().item() for half in apart[-1].chunk(2)])
    return {"theory": damage(asked["gain"]), "systems": rows, "halves": halves}


def past(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Softmax couplings of spread 1, from all up and all down."""
    rows = []
    for n, beta in settings["past"]:
        times = [
            met(softmax(n, 1.0, seed), beta, ends(settings["pairs"], n), 200_000, 500 + seed)[0].double().mean().item()
            for seed in range(settings["systems"])
        ]
        rows.append({"spins": n, "beta": beta, "systems": times})
    return rows


def even(n: int, beta: float) -> float:
    """The mean time until films from all up and all down meet, with weights that are all equal: an equation of their counts.

    A state is how many spins are up in the lower film, and in how many the films differ: these are up in the upper one only.
    """
    count = torch.arange(n + 1.0, dtype=torch.float64)
    low, gap = torch.cartesian_prod(count, count[1:]).unbind(-1)
    low, gap = low[low + gap <= n], gap[low + gap <= n]
    chances = [torch.sigmoid(2 * beta * (2 * up / n - 1)) for up in (low, low + gap)]
    logs = math.lgamma(n + 1) - (low + 1).lgamma() - (gap + 1).lgamma() - (n - low - gap + 1).lgamma()
    both, one, none = (part.log()[:, None] for part in (chances[0], chances[1] - chances[0], 1 - chances[1]))
    P = (logs + low * both + gap * one + (n - low - gap) * none).exp()
    times = torch.linalg.solve(torch.eye(len(low)).double() - P, torch.ones(len(low)).double())
    return times[(low == 0) & (gap == n)].item()


def claimed(J: Tensor, beta: float, samples: int, seed: int) -> Tensor:
    """What coupling from the past with two films would return, asked of nothing: ``[samples, n]``."""
    draw, n = seeded(seed), len(J)
    found, left, noises = torch.empty(samples, n), torch.arange(samples), torch.empty(0, samples, n)
    while len(left):
        fresh = torch.rand(max(1, len(noises)), len(left), n, generator=draw)  # the first row is the last step
        noises = torch.cat([noises, fresh])
        s = ends(len(left), n)
        for noise in noises.flip(0):
            s = moved(J, beta, s, noise)
        same = (s[:, 0] == s[:, 1]).all(-1)
        found[left[same]] = s[same, 0]
        left, noises = left[~same], noises[:, ~same]
    return found


def distance(samples: Tensor, law: Tensor) -> float:
    """Total variation between samples and a law."""
    numbers = ((samples > 0) * 2 ** torch.arange(samples.shape[-1])).sum(-1)
    return ((torch.bincount(numbers, minlength=len(law)) / len(samples) - law).abs().sum() / 2).item()


def turned(settings: dict[str, Any]) -> dict[str, Any]:
    """Signs of softmax weights turned over."""
    asked, rows = settings["signs"], []
    n, triples = asked["spins"], asked["triples"]
    for chance in asked["turned"]:
        times, apart = [], []
        for seed in range(asked["systems"]):
            start = torch.cat([ends(triples, n), signs((triples, 1, n), 600 + seed)], 1)
            time, films = met(softmax(n, 1.0, seed, chance), 1.0, start, 100_000, 700 + seed)
            times.append(time.double().mean().item())
            apart.append((films[:, 2] != films[:, 0]).any(-1).double().mean().item())
        rows.append({"turned": chance, "times": times, "apart": apart})
    off, true = [], []
    count = settings["biased"]["samples"]
    for seed in range(settings["biased"]["systems"]):
        J = softmax(n, 1.0, seed, 0.5)
        law = exact_kinetic(J.double()).law
        off.append(distance(claimed(J, 1.0, count, 800 + seed), law))
        true.append(distance(spin_states(n)[torch.multinomial(law, count, True, generator=seeded(900 + seed))], law))
    return {"rows": rows, "off": off, "true": true}


def cold(settings: dict[str, Any]) -> dict[str, list[float]]:
    """Who meets where weights are sharp and spins cold: half the signs turned over; Gaussian couplings with the same norms."""
    asked: dict[str, Any] = settings["cold"]
    found: dict[str, list[float]] = {"sharp": [], "leveled": []}
    for seed in range(asked["systems"]):
        J = softmax(asked["spins"], asked["spread"], seed, 0.5)
        even = torch.randn(J.shape, generator=seeded(seed))
        kinds = {"sharp": J, "leveled": even * J.norm(dim=-1, keepdim=True) / even.norm(dim=-1, keepdim=True)}
        for name, K in kinds.items():
            times, _ = met(K, asked["beta"], ends(asked["pairs"], asked["spins"]), asked["most"] + 1, seed)
            found[name].append((times <= asked["most"]).double().mean().item())
    return found


def swept(J: Tensor, beta: float) -> Tensor:
    """The law of one ordered sweep, ``[states]``."""
    states = spin_states(len(J), dtype=J.dtype)
    return torch.sigmoid(2 * beta * states * (states @ J.mT)).prod(-1)


def masks(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Tokens that attend to earlier ones only, the first to none."""
    asked = settings["masks"]
    z = torch.randn(asked["draws"], asked["spins"], asked["spins"], generator=seeded(0), dtype=torch.float64)
    J = z.masked_fill(torch.ones_like(z[0]).triu().bool(), -math.inf).softmax(-1).nan_to_num(0.0)
    hot = 0.5 * (2 / math.pi * J.square().sum((1, 2))).sqrt()
    rows = []
    for beta in asked["betas"]:
        laws = torch.cat([exact_kinetic(part, beta=beta).law for part in J.split(25)])
        apart = torch.stack([(law - swept(one, beta)).abs().sum() / 2 for law, one in zip(laws, J)])
        rows.append({"beta": beta, "apart": apart.tolist(), "hot": (beta * hot).tolist()})
    return rows


def slowest(settings: dict[str, Any]) -> list[dict[str, float]]:
    """Causal softmax with drives: whose eigenvalue is the second one."""
    asked, rows = settings["slowest"], []
    n = asked["spins"]
    for spread in asked["drives"]:
        hits = []
        for seed in range(asked["draws"]):
            z, x = torch.randn(n, n + 1, generator=seeded(seed), dtype=torch.float64).split((n, 1), -1)
            J = z.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf).softmax(-1)
            x = spread * x[:, 0]
            second = torch.linalg.eigvals(transition_matrix(J, x)).abs().sort().values[-2]
            hits.append(((second - ((x[0] + 1).tanh() - (x[0] - 1).tanh()) / 2).abs() < 1e-6).item())
        rows.append({"drive": spread, "first": sum(hits) / len(hits)})
    return rows


def overlaps(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Films with noise of their own, from one start."""
    asked, rows = settings["overlaps"], []
    places, weights = np.polynomial.hermite_e.hermegauss(64)
    weights = weights / weights.sum()
    n, count = asked["spins"], asked["films"]
    for gain in asked["gains"]:
        frames = film(independent(n, gain, 0), steps=asked["frames"], start=torch.ones(count, n), generator=seeded(1))
        Q = ((frames.sum(1).square().sum(-1) / n - count) / (count * (count - 1))).tolist()
        told = [1.0]
        for _ in range(asked["frames"]):
            q = told[-1]
            other = q * places[:, None] + (1 - q * q) ** 0.5 * places
            told.append(float(weights @ (np.tanh(gain * places)[:, None] * np.tanh(gain * other)) @ weights))
        rows.append({"gain": gain, "measured": Q, "theory": told})
    return rows


PARTS = {
    "meetings": meetings,
    "damage": damages,
    "past": past,
    "even": lambda settings: [[n, beta, even(n, beta)] for n, beta in settings["past"] if n <= 32],
    "signs": turned,
    "cold": cold,
    "masks": masks,
    "slowest": slowest,
    "overlaps": overlaps,
}


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure, write the file after each part; a part that stands there is not measured again."""
    options = records.command(__doc__.splitlines()[0], "a few spins, a few films").parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS)
    head = records.head("what_is_forgotten", TITLE, arguments, options.quick, records.versions("attnlib", "torch"))
    before = records.earlier(target, settings, head["versions"])
    result = head | {"settings": settings} | {name: before[name] for name in PARTS if name in before}
    for name, part in PARTS.items():
        if name not in result:
            result[name] = records.rounded(part(settings))
            records.write(result, target)


if __name__ == "__main__":
    main()
