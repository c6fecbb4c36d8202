"""What page 8a's predictions came to: films, arrows and responses of eight driven spins, over 200 draws of their couplings.

    python experiments/arrow_of_time.py [--quick] [--output FILE]

Couplings are the softmax of independent Gaussian scores, row by row, times a spread; there is no drive, and all 256 states are
summed. What is measured, in the order of ``predictions.md``, under "The arrow of time":

- ``films``: four couplings each of four kinds, 4,000 films: the variance of the log odds S over twice their mean, the share
  told right beside ``Phi(sqrt(e_p T / 2))``, and the mean of ``exp(-S)``, at lengths T at which ``e_p T`` is near 1 to 10;
- ``arrows``: the mean entropy production by spread and beta, with the hot limit, and ``peaks``, where it is largest: the top of
  a parabola through the largest mean and its neighbours, for all draws and for ten parts of them;
- ``signed``, ``causal``, ``tied``, ``symmetric``: means with couplings of both signs, a mask, tied vectors, symmetric scores;
- ``response``: the rank correlation of the squared failure of the theorem at lag 0 with the arrow, over 100 couplings.
"""

import math
from pathlib import Path
from typing import Any

import records
import torch
from torch import Tensor

from attnlib.course.data.seeds import over_runs
from attnlib.kinetic import exact_kinetic, exact_response, film, spin_states, transition_matrix

TITLE = "The arrow of eight driven spins, over 200 draws"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "arrow_of_time.json"
SETTINGS: dict[str, Any] = {
    "spins": 8,
    "draws": 200,
    "spreads": [0.5, 1.0, 2.0, 4.0],
    "betas": [0.25, 0.5, *(round(1 + 0.05 * k, 2) for k in range(15)), 2.0, 3.0],
    "signed": [1.0, 2.0, 4.0],
    "films": {"kinds": [[2.0, 0.3], [2.0, 0.5], [2.0, 1.0], [1.0, 1.0]], "couplings": 4, "count": 4000, "steps": 40},
    "nats": [1, 2, 3, 5.4, 8, 10],
    "responses": 100,
    "parts": 10,
}
QUICK = SETTINGS | {
    "spins": 4,
    "draws": 6,
    "betas": [0.5, 1.0, 1.25, 1.5, 3.0],
    "films": {"kinds": [[2.0, 0.5]], "couplings": 1, "count": 100, "steps": 10},
    "responses": 6,
    "parts": 2,
}


def seeded(seed: int) -> torch.Generator:
    """A generator of its own for everything that is drawn."""
    return torch.Generator().manual_seed(seed)


def arrow(J: Tensor, beta: float) -> Tensor:
    """Entropy production of each of many couplings, some at a time."""
    return torch.cat([exact_kinetic(part, beta=beta).entropy_production for part in J.split(25)])


def told(J: Tensor, beta: float, settings: dict[str, Any], seed: int) -> list[dict[str, float]]:
    """Films of one layer, read at some lengths."""
    asked, found = settings["films"], exact_kinetic(J, beta=beta)
    start = spin_states(len(J))[torch.multinomial(found.law, asked["count"], True, generator=seeded(seed))]
    frames = film(J, beta=beta, steps=asked["steps"], start=start, generator=seeded(seed + 1))
    at = ((frames > 0) * 2 ** torch.arange(len(J))).sum(-1)
    P = transition_matrix(J, beta=beta)
    odds = (P[at[:-1], at[1:]] / P[at[1:], at[:-1]]).log().cumsum(0) + (found.law[at[:1]] / found.law[at[1:]]).log()
    made, rows = float(found.entropy_production), []
    for nats in settings["nats"]:
        T = round(nats / made)
        if 1 <= T <= asked["steps"]:
            S = odds[T - 1]
            right = ((S > 0).double() + 0.5 * (S == 0)).mean().item()
            rows.append(
                {
                    "asked": nats,
                    "nats": made * T,
                    "variance": (S.var() / 2 / S.mean()).item(),
                    "told": right,
                    "gaussian": 0.5 + 0.5 * math.erf(math.sqrt(made * T) / 2),
                    "mean of exp(-S)": (-S).exp().mean().item(),
                }
            )
    return rows


def top(betas: list[float], means: Tensor) -> float:
    """Where a parabola through the largest mean and its neighbours is highest; the end of the betas if that is the largest."""
    at = int(means.argmax())
    if not 0 < at < len(betas) - 1:
        return betas[at]
    x, y = torch.tensor(betas[at - 1 : at + 2], dtype=torch.float64), means[at - 1 : at + 2]
    square, line = torch.linalg.solve(torch.stack([x**2, x, torch.ones(3, dtype=torch.float64)], -1), y)[:2]
    return float(-line / (2 * square))


def failure(J: Tensor) -> Tensor:
    """How far the theorem of equilibrium is off at lag 0, squared, between different spins, at beta 1/2."""
    C, away = exact_kinetic(J, beta=0.5, lags=2).C, ~torch.eye(J.shape[-1], dtype=torch.bool)
    off = exact_response(J, beta=0.5, lags=0)[:, 0] - 0.5 * (C[:, 0] - C[:, 2])
    return off[:, away].square().sum(-1)


def measured(settings: dict[str, Any]) -> dict[str, Any]:
    """Everything that the record holds."""
    n, draws, betas = settings["spins"], settings["draws"], settings["betas"]
    z = torch.randn(draws, n, n, generator=seeded(0))
    found: dict[str, Any] = {"arrows": {}, "peaks": {}, "hot": {}, "films": []}
    for spread in settings["spreads"]:
        J = (spread * z).softmax(-1)
        curves = torch.stack([arrow(J, beta) for beta in betas])  # [betas, draws]
        found["hot"][str(spread)] = (n - 1) * (J.square().sum(-1).mean().item() - 1 / n)
        found["arrows"][str(spread)] = [[b, over_runs(row).mean, over_runs(row).error] for b, row in zip(betas, curves)]
        parts = [top(betas, part.mean(1)) for part in curves.chunk(settings["parts"], 1)]
        found["peaks"][str(spread)] = {"all": top(betas, curves.mean(1)), "parts": parts}
    found["signed"] = [arrow(z / n**0.5, beta).mean().item() for beta in settings["signed"]]
    masked = (2 * z).masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf).softmax(-1)
    vectors = torch.randn(draws, n, 4, generator=seeded(1))
    kinds = {"causal": masked, "tied": (vectors @ vectors.mT).softmax(-1), "symmetric": (2**0.5 * (z + z.mT)).softmax(-1)}
    found |= {name: arrow(J, 0.5).mean().item() for name, J in kinds.items()}
    for spread, beta in settings["films"]["kinds"]:
        for seed in range(settings["films"]["couplings"]):
            J = (spread * torch.randn(n, n, generator=seeded(seed))).softmax(-1)
            found["films"] += [
                {"spread": spread, "beta": beta, "seed": seed} | row for row in told(J, beta, settings, 10 + seed)
            ]
    spreads = 3 * torch.rand(settings["responses"], generator=seeded(5))
    J = (spreads[:, None, None] * torch.randn(len(spreads), n, n, generator=seeded(6))).softmax(-1)
    ranks = [v.argsort().argsort().double() for v in (torch.cat([failure(one) for one in J.split(25)]), arrow(J, 0.5))]
    return found | {"response": torch.corrcoef(torch.stack(ranks))[0, 1].item()}


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure, write the file."""
    parser = records.command(__doc__.splitlines()[0], "four spins, six draws")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    settings = QUICK if options.quick else SETTINGS
    head = records.head("arrow_of_time", TITLE, arguments, options.quick, records.versions("attnlib", "torch"))
    result = head | {"settings": settings} | records.rounded(measured(settings))
    records.write(result, options.output or (None if options.quick else RESULTS))


if __name__ == "__main__":
    main()
