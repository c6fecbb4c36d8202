"""How wrong are the mean-field theories? Naive, TAP and adaptive TAP against enumeration, from weak to strong coupling.

    python experiments/mean_field_comparison.py [--quick] [--output FILE]

Sherrington-Kirkpatrick glasses of 12 Ising spins in Gaussian fields of standard deviation 0.3. System s draws its couplings
and fields from seed s, and is the same one at every beta, which multiplies both. Each theory starts from the answer to the
fields alone. For each system: the root mean square error of the magnetisations and of the covariances of different spins,
whether the theory's iteration converged, and the stability of what it found; once, the distance from the Almeida-Thouless
line at the exact magnetisations.

The file is written after every beta. Where it is already there, with the same settings, only what is missing is measured.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import records
import torch
from torch import Tensor

from attnlib import ConvergenceWarning
from attnlib.mean_field import (
    MeanField,
    adaptive_tap,
    almeida_thouless,
    exact_ising,
    naive_mean_field,
    sherrington_kirkpatrick,
    tap,
)

TITLE = "Mean-field theories of spin glasses against enumeration"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results"
THEORIES: dict[str, Callable[..., MeanField]] = {"naive": naive_mean_field, "tap": tap, "adaptive_tap": adaptive_tap}
BETAS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
SETTINGS = {"n": 12, "systems": 20, "field": 0.3, "max_steps": 2000}


def draw(n: int, systems: int, field: float) -> tuple[Tensor, Tensor]:
    """Couplings ``[systems, n, n]`` and fields ``[systems, n]``, each system from a seed of its own."""
    couplings, fields = [], []
    for seed in range(systems):
        generator = torch.Generator().manual_seed(seed)
        couplings.append(sherrington_kirkpatrick(n, generator=generator, dtype=torch.float64))
        fields.append(field * torch.randn(n, generator=generator, dtype=torch.float64))
    return torch.stack(couplings), torch.stack(fields)


def digits(numbers: Tensor) -> list[float]:
    """Four digits of each, for a file that can be read."""
    return [float(f"{number:.4g}") for number in numbers.tolist()]


def row(beta: float, settings: dict[str, object]) -> dict[str, object]:
    """All theories at one beta, system by system."""
    J, h = draw(settings["n"], settings["systems"], settings["field"])
    exact = exact_ising(J, h, beta=beta)
    apart = ~torch.eye(settings["n"], dtype=torch.bool)
    found: dict[str, object] = {"beta": beta, "almeida_thouless": digits(almeida_thouless(J, exact.m, beta=beta))}
    for name, theory in THEORIES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            one = theory(J, h, beta=beta, max_steps=settings["max_steps"], on_failure="warn")
        found[name] = {
            "m_error": digits((one.m - exact.m).square().mean(-1).sqrt()),
            "chi_error": digits((one.chi - exact.chi)[:, apart].square().mean(-1).sqrt()),
            "converged": one.converged.tolist(),
            "stability": digits(one.stability),
        }
    return found


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure what is missing, write JSON after every row."""
    parser = argparse.ArgumentParser(description="Mean-field theories against enumeration, from weak to strong coupling.")
    parser.add_argument(
        "--quick", action="store_true", help="few small systems, seconds; writes no file unless --output names one"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write the JSON")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = SETTINGS | ({"n": 6, "systems": 3} if options.quick else {})
    target = options.output or (None if options.quick else RESULTS / "mean_field_comparison.json")
    by = records.versions("torch", "attnlib")
    rows = {one["beta"]: one for one in records.earlier(target, settings, by).get("rows", [])}
    for beta in BETAS[::4] if options.quick else BETAS:
        rows[beta] = rows.get(beta) or row(beta, settings)
        medians = {name: torch.tensor(rows[beta][name]["m_error"]).median().item() for name in THEORIES}
        print(f"beta {beta}: median errors {', '.join(f'{name} {error:.2g}' for name, error in medians.items())}", flush=True)
        result = {
            **records.head("mean_field_comparison", TITLE, arguments, options.quick, by),
            "seeds": "system s draws its couplings, then its fields, from seed s, s = 0, 1, ..., systems - 1",
            "settings": settings,
            "rows": [rows[beta] for beta in sorted(rows)],
        }
        records.write(result, target, indent=1)
    if target:
        print(f"written to {target}")


if __name__ == "__main__":
    main()
