"""What page 8c's predictions came to: closures of driven spins against films and sums, stacks of blocks, and trained heads.

    python experiments/driven_attention.py [--quick] [--output FILE]

In the order of ``predictions.md``, under "Attention as a driven system". What a closure is off by is the root mean square of
the difference in the means over that of the means; where the truth is sampled, what two halves of the films say is multiplied
in place of the square, so that noise does not add to it. Of each closure it is said how often it came to rest (``rested``).

- ``closures``: 200 spins, by symmetry and strength of their couplings, five draws each; films;
- ``softmax``: eight spins with softmax couplings, 50 draws, all states summed: means by beta, and the arrow at beta 1;
- ``stacks``: sixteen tokens as vector spins through five blocks, naive and with moments, by the number of components;
- ``heads``: trained heads, five seeds of each of two tasks, all states summed: means, and the arrow by the source's form
  (``arrow``), by that form at the true means (``arrow_means``), with gains and variances put right (``arrow_gains``), and with
  correlations of equal times put back, too (``arrow_whole``);
- ``delayed``: what delayed correlations lose without those of equal times, by the number of spins and the spread of scores;
- ``digits``: misread shares of classifiers of digits with driven spins in the place of attention.
"""

from pathlib import Path
from typing import Any

import records
import torch
from closure_errors import CLOSURES, closed, off, off_sampled, source_form, with_gains
from driven_heads import MIXERS, heads_of, recalled, searched, sequences, taught
from torch import Tensor

from attnlib.course.data import digits
from attnlib.course.oracles.vectors import drawn_spins
from attnlib.kinetic import (
    exact_kinetic,
    film,
    moments_step,
    stationary_closure,
    stationary_moments,
    vector_response,
)

TITLE = "Closures of driven spins, stacks of blocks, and trained heads"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "driven_attention.json"
SETTINGS: dict[str, Any] = {
    "spins": 200,
    "draws": 5,
    "symmetries": [0.0, 0.25, 0.5, 0.75, 1.0],
    "strengths": [0.25, 0.5, 0.75, 1.0],
    "films": 400,
    "frames": 150,
    "few": {"spins": 8, "draws": 50, "spreads": [2.0, 4.0], "betas": [round(0.1 * k, 1) for k in range(1, 25)]},
    "stacks": {"tokens": 16, "blocks": 5, "widths": [4, 16, 64, 256], "samples": 4000},
    "delayed": [[16, 1.0], [64, 1.0], [256, 1.0], [64, 2.0]],
    "seeds": [1, 2, 3, 4, 5],
    "heads": {
        "dim": 32,
        "heads": 4,
        "steps": 300,
        "rates": [0.003, 0.01, 0.03, 0.1, 0.3],
        "recall rate": 0.01,
        "recall steps": 800,
    },
    "shown": 5,
}
QUICK = SETTINGS | {
    "spins": 12,
    "draws": 1,
    "symmetries": [0.0, 1.0],
    "strengths": [0.5],
    "films": 20,
    "frames": 60,
    "few": {"spins": 3, "draws": 3, "spreads": [2.0], "betas": [0.5, 1.0, 1.5]},
    "stacks": {"tokens": 4, "blocks": 2, "widths": [4, 8], "samples": 100},
    "delayed": [[8, 1.0]],
    "seeds": [1],
    "heads": SETTINGS["heads"] | {"steps": 3, "rates": [0.01], "recall steps": 3},
    "shown": 1,
}


def seeded(seed: int) -> torch.Generator:
    """A generator of its own for everything that is drawn."""
    return torch.Generator().manual_seed(seed)


def spread_out(n: int, symmetry: float, generator: torch.Generator) -> Tensor:
    """Couplings of variance 1/n, without a diagonal, whose two directions have this correlation."""
    A = torch.randn(n, n, generator=generator) / n**0.5
    even, odd = (A + A.mT) / 2**0.5, (A - A.mT) / 2**0.5
    J = ((1 + symmetry) / 2) ** 0.5 * even + ((1 - symmetry) / 2) ** 0.5 * odd
    return J - J.diagonal().diag()


def halves(J: Tensor, x: Tensor, settings: dict[str, Any], seed: int) -> list[Tensor]:
    """The means of a system by two halves of its films: what each spin is on average, given the frame before."""
    start = torch.where(torch.rand(settings["films"], len(J), generator=seeded(seed)) < 0.5, 1.0, -1.0)
    reel = film(J, x, steps=settings["frames"], start=start, generator=seeded(seed + 1))[50:]
    return [(x + part @ J.mT).tanh().mean((0, 1)) for part in reel.chunk(2, 1)]


def by_symmetry(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Each closure against films."""
    rows, n = [], settings["spins"]
    for symmetry in settings["symmetries"]:
        for strength in settings["strengths"]:
            found: dict[str, list[float]] = {name: [] for name in CLOSURES}
            rested = dict.fromkeys(CLOSURES, 0)
            for draw in range(settings["draws"]):
                generator = seeded(draw)
                J, x = strength * spread_out(n, symmetry, generator), 0.5 * torch.randn(n, generator=generator)
                truth = halves(J, x, settings, 100 + 10 * draw)
                for name in CLOSURES:
                    m, rests = closed(J, x, name)
                    found[name].append(off_sampled(m, *truth))
                    rested[name] += int(rests)
            rows.append({"symmetry": symmetry, "strength": strength} | found | {"rested": rested})
    return rows


def by_beta(settings: dict[str, Any]) -> dict[str, Any]:
    """Each closure against sums over all states, for softmax couplings."""
    asked, found = settings["few"], {}
    n, draws = asked["spins"], asked["draws"]
    z, x = torch.randn(draws, n, n, generator=seeded(0)), 0.3 * torch.randn(draws, n, generator=seeded(1))
    for spread in asked["spreads"]:
        J, table = (spread * z).softmax(-1), {name: [] for name in CLOSURES}
        rested: dict[str, list[int]] = {name: [] for name in CLOSURES}
        for beta in asked["betas"]:
            truth = exact_kinetic(J, x, beta=beta).m
            for name in CLOSURES:
                m, rests = closed(J, x, name, beta)
                table[name].append([off(one, other) for one, other in zip(m, truth)])
                rested[name].append(int(rests.sum()))
        truth = exact_kinetic(J, x).entropy_production
        arrows = {name: (stationary_closure(J, x, closure=name).entropy_production / truth - 1).tolist() for name in CLOSURES}
        found[str(spread)] = {"means": table, "rested": rested, "arrow": arrows}
    return found


def stacked(d: int, asked: dict[str, Any], seed: int) -> dict[str, list[float]]:
    """Tokens through some blocks of the same weights: naive, and with moments of three kinds, against samples."""
    n, generator = asked["tokens"], seeded(seed)
    J, values = torch.randn(n, n, generator=generator).softmax(-1), torch.randn(n, d, generator=generator)
    values = values / values.square().mean(-1, keepdim=True).sqrt()
    spins = values.expand(2, asked["samples"] // 2, n, d)
    m, zero = values, torch.zeros(n, n)
    kept = dict.fromkeys(("limit", "half", "exact"), (values, zero))
    rows: dict[str, list[float]] = {name: [] for name in ("naive", *kept)}
    for _ in range(asked["blocks"]):
        fields = values + J @ spins
        truth = vector_response(fields.flatten(0, 1)).unflatten(0, (2, -1)).mean(1)
        m = vector_response(values + J @ m)
        rows["naive"].append(off_sampled(m, *truth))
        for gain, state in kept.items():
            kept[gain] = moments_step(*state, J, values, gain=gain)[:2]
            rows[gain].append(off_sampled(kept[gain][0], *truth))
        spins = drawn_spins(fields, generator)
    return rows


def judged(J: Tensor, x: Tensor) -> dict[str, Any]:
    """Closures and the source's arrow on systems ``[count, n]``, at beta 1: averages over those whose means are not zero."""
    exact, found, rested = exact_kinetic(J, x), {}, {}
    for name in CLOSURES:
        m, rests = closed(J, x, name)
        found[name] = sum(off(one, other) for one, other in zip(m, exact.m)) / len(J)
        rested[name] = rests.double().mean().item()
    found["rested"] = rested
    true, oneself = exact.entropy_production, torch.diag_embed(1 - exact.m.square())
    forms = {"arrow": source_form(J, closed(J, x, "naive")[0]), "arrow_means": source_form(J, exact.m)}
    forms |= {"arrow_gains": with_gains(J, exact, oneself), "arrow_whole": with_gains(J, exact, exact.C[..., 0, :, :])}
    return found | {name: ((form - true).abs().sum() / true.sum()).item() for name, form in forms.items()}


def by_task(settings: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Heads of trained networks, and random couplings with the same drive beside them."""
    asked, found = settings["heads"], {"digits": [], "recall": [], "random": []}
    for seed in settings["seeds"]:
        pictures = digits().fold(seed - 1)
        model, wrong = taught("softmax", asked, 0.01, seed, pictures)
        J, values = heads_of(model, pictures[1].pictures[: settings["shown"]])
        found["digits"].append({"seed": seed, "wrong": wrong} | judged(J, values[..., 0]))
        z = torch.randn(J.shape, generator=seeded(seed), dtype=J.dtype)
        found["random"].append({"seed": seed} | judged(z.softmax(-1), values[..., 0]))
        model, right = recalled(asked, seed)
        J, values = heads_of(model, sequences(settings["shown"], seeded(seed))[:, :-1])
        found["recall"].append({"seed": seed, "right": right} | judged(J, values[..., 0]))
    return found


def lost(n: int, spread: float, seed: int) -> dict[str, float]:
    """What delayed correlations and the arrow lose without correlations of equal times: vector spins, many components."""
    generator = seeded(seed)
    J, x = (spread * torch.randn(n, n, generator=generator)).softmax(-1), torch.randn(n, 512, generator=generator)
    x = x / x.square().mean(-1, keepdim=True).sqrt()
    found = stationary_moments(J, x, beta=0.5, gain="limit")
    m = vector_response(x, beta=0.5, gain="limit")
    for _ in range(200):
        m = vector_response(x + J @ m, beta=0.5, gain="limit")
    k = (x + J @ m).square().mean(-1)
    a = 1 / (1 + (1 + k).sqrt())
    plain = a[:, None] * J * (1 - m.square().mean(-1))
    made = 0.5 * ((J - J.mT) * plain).sum()
    theory = (a.square().mean() / (n * J.square().sum(-1).mean()).sqrt()).item()
    return {
        "loss": off(plain, found.C[1]),
        "theory": theory,
        "arrow": (made / found.entropy_production - 1).abs().item(),
    }


def by_mixer(settings: dict[str, Any]) -> dict[str, Any]:
    """Misread shares on digits, each mixer at the best of its rates."""
    asked, found = settings["heads"], {}
    for name in MIXERS:
        tried = searched(name, asked)
        rate = min(tried, key=lambda row: row[1])[0]
        wrong = [taught(name, asked, rate, seed, digits().fold(seed - 1))[1] for seed in settings["seeds"]]
        found[name] = {"search": tried, "rate": rate, "wrong": wrong}
    return found


def measured(settings: dict[str, Any]) -> dict[str, Any]:
    """Everything that the record holds."""
    seeds, stacks = settings["seeds"], settings["stacks"]
    torch.set_default_dtype(torch.float64)
    found: dict[str, Any] = {"closures": by_symmetry(settings), "softmax": by_beta(settings)}
    found["stacks"] = {str(d): [stacked(d, stacks, seed) for seed in seeds] for d in stacks["widths"]}
    found["delayed"] = [{"n": n, "spread": s, "runs": [lost(n, s, seed) for seed in seeds]} for n, s in settings["delayed"]]
    torch.set_default_dtype(torch.float32)
    return found | {"heads": by_task(settings), "digits": by_mixer(settings)}


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure, write the file."""
    parser = records.command(__doc__.splitlines()[0], "few spins, tokens, steps and seeds")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if options.quick else SETTINGS
    head = records.head("driven_attention", TITLE, arguments, options.quick, records.versions("attnlib", "torch"))
    result = head | {"settings": settings} | records.rounded(measured(settings))
    records.write(result, options.output or (None if options.quick else RESULTS))


if __name__ == "__main__":
    main()
