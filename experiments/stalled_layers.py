"""Why do blocks of neural mean field break down? Systems without a fixed point after 200 steps, and more of the same steps.

    python experiments/stalled_layers.py [--quick] [--output FILE]

In the race of ``collectives.py`` a run of ``mean-field-neural`` often ends in its first tenth: of 256 systems of a batch, 64
examples with 4 heads, one does not come to rest in 200 damped steps, nor in 200 of Anderson's method from there. New seeds are
trained for ``batches`` here, at a share of 0.01, each twice: as in the race, and with ``more`` steps allowed. Of a run that
breaks down the record holds the batch at which it does, and of each system that did not come to rest there: ``stall``, where
Anderson's method left it, the largest eigenvalue of the map's derivative; ``further``, how many more damped steps bring it to
rest, -1 if ``most`` do not; and ``rest``, the largest eigenvalue there.

What is foreseen stands in ``predictions.md``.

The file is written after every run. Where it is already there, with the same settings, only what is missing is trained.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import collective_contestants as contestants
import records
import torch
from collective_tasks import Spins
from torch import Tensor, nn
from tqdm import tqdm

from attnlib import ConvergenceError
from attnlib.mean_field import MeanFieldAttention
from attnlib.solve import FixedPoint, fixed_point
from attnlib.transformer.training import train_one

TITLE = "Blocks of neural mean field that break down: where, and what more steps do"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "stalled_layers.json"
SOLVER = "attnlib.mean_field.mixer.fixed_point"
SETTINGS: dict[str, Any] = {
    "name": "mean-field-neural",
    "condition": 0.01,
    "rates": [0.001, 0.01],
    "seeds": list(range(2, 10)),
    "batches": 400,
    "steps": 200,
    "more": 2000,
    "most": 10000,
}
QUICK = SETTINGS | {"rates": [0.01], "seeds": [2], "batches": 3, "more": 300}


class Witness:
    """A solver of fixed points that remembers how often it was asked and what it could not solve."""

    def __init__(self) -> None:
        self.asked, self.function, self.length, self.found = 0, None, None, None

    def __call__(self, function: Callable[[Tensor], Tensor], start: Tensor, **how: Any) -> FixedPoint:
        """As :func:`attnlib.solve.fixed_point`."""
        self.asked += how.get("method") != "anderson"  # which goes on where the first call has stopped
        try:
            return fixed_point(function, start, **how)
        except ConvergenceError as error:
            self.function, self.found = function, error.found
            self.length = how["step"](start)[..., None]
            raise


def largest(function: Callable[[Tensor], Tensor], states: Tensor, one: tuple[int, ...]) -> float:
    """Of the systems in ``states [*batch, k]``, the largest eigenvalue, by real part, of one's derivative."""

    def image(state: Tensor) -> Tensor:
        moved = states.clone()
        moved[one] = state
        return function(moved)[one]

    return torch.linalg.eigvals(torch.autograd.functional.jacobian(image, states[one]).double()).real.max().item()


def looked_at(
    function: Callable[[Tensor], Tensor], length: Tensor | float, found: FixedPoint, most: int
) -> list[dict[str, Any]]:
    """Each system that has not come to rest: where it stalls, and how it goes on by damped steps of this length."""
    start, tolerance = found.solution.detach(), torch.finfo(found.solution.dtype).eps ** (2 / 3)
    stalled = [tuple(one) for one in (~found.converged).nonzero().tolist()]
    further, state = dict.fromkeys(stalled, -1), start.clone()
    with torch.no_grad():
        for step in range(1, most + 1):
            image = function(state)
            for one in stalled:
                if further[one] < 0 and (image[one] - state[one]).abs().max() <= tolerance * image[one].abs().max():
                    further[one] = step
            if min(further.values()) > 0:
                break
            state = state + length * (image - state)
    return [
        {"stall": largest(function, start, one), "further": further[one], "rest": largest(function, state, one)}
        for one in stalled
    ]


def run(rate: float, seed: int, steps: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train one network for a while with so many steps allowed, and see where it breaks down."""
    torch.set_num_threads(1)

    def make() -> nn.Module:
        model = contestants.made("spins", settings["name"])
        for part in model.modules():
            if isinstance(part, MeanFieldAttention):
                part.max_steps = steps
        return model

    with mock.patch(SOLVER, Witness()) as solver:
        task = Spins([settings["condition"]], "tokens")
        done = train_one(make, task, rate=rate, seed=seed, steps=settings["batches"], test=64)
    found: dict[str, Any] = {"rate": rate, "seed": seed, "steps": steps, "broke down": bool(done.failure)}
    if done.failure and solver.found is not None:
        found |= {"batch": solver.asked, "systems": looked_at(solver.function, solver.length, solver.found, settings["most"])}
    return records.rounded(found, ("rate",))


def main(arguments: list[str] | None = None) -> None:
    """Make what is missing of this script's record."""
    options = records.command(__doc__ or "", "three batches of one seed").parse_args(arguments)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS)
    top = records.head("stalled_layers", TITLE, arguments, options.quick, records.versions("torch", "attnlib"))
    runs = records.earlier(target, settings, top["versions"]).get("runs", [])
    keys = ("rate", "seed", "steps")
    have = {tuple(one[key] for key in keys) for one in runs}
    jobs = product(*(settings[part] for part in ("rates", "seeds")), (settings["steps"], settings["more"]))
    for job in tqdm([one for one in jobs if one not in have]):
        runs.append(run(*job, settings))
        records.write(top | {"settings": settings, "runs": runs}, target)


if __name__ == "__main__":
    main()
