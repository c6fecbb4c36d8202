"""The specimens of page 7d under the instruments of the course, and what becomes of them when something in a head is changed.

    python experiments/examinations.py --weights FOLDER [--quick] [--output FILE]

FOLDER is what ``specimens.py`` was given: ``NETWORK-SEED.pt`` for each of fifteen networks. Each is read before training (its
parameters drawn again from its seed) and after it, on strings that nobody has learned from and nobody was judged by:

- ``before`` and ``after``: a row for each head at each step, as ``attnlib.transformer.examine`` makes it, and the states;
- ``mapper``: the head and the step, counted from 1, at which the largest weight is on the right key most often;
- ``temperature``: its ratio U, the beta where U is one, the beta where the log loss of the right key is least, all in units of
  its own beta, and the network's loss at either;
- ``rules``: the loss, the mapper's right rows at that step and those of the best head, when the mapper, or every head, weighs
  by another rule, at all steps; the loss when each head in turn has its form made symmetric, antisymmetric or transposed, and
  when it says its mean (``silent``), at all steps; and the loss when places are shuffled (``places``);
- ``rest``, of tied blocks: change of a step and loss up to 300 steps, the exponent, and what two solvers find (``mapping``
  is the best head so far; ``mapping_of_steps.py`` has each step);
- ``origins``: cosine between a token of the product and the token that it comes from, step by step: of ``all``, of those that
  are ``hidden`` (what they come from may be, too), and where both are ``shown``. A causal network is shown all.

The file is written after each network. What was predicted stands in ``predictions.md``, under "Specimens".
"""

import dataclasses
import itertools
import math
import warnings
from pathlib import Path
from typing import Any

import records
import specimens
import torch
from specimen_records import record
from torch import Tensor

from attnlib.course.models import interventions
from attnlib.course.models.interventions import Watched, watched
from attnlib.course.models.specimens import mapped, rows_of, specimen
from attnlib.solve import fixed_point
from attnlib.transformer import Examination, LanguageModel, examine, lyapunov_exponent, thermometer

TITLE = "Transformers that learn the language of joinings, under the instruments"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "examinations.json"
SETTINGS: dict[str, Any] = {
    "strings": 500,
    "share": specimens.SETTINGS["share"],
    "seeds": specimens.SETTINGS["seeds"],
    "sizes": specimens.SETTINGS["sizes"],
    "drawn": 3 * 10**9,
    "orders": 5,
    "long": {"strings": 64, "steps": 300, "read": [1, 2, 4, 6, 7, 8, 9, 10, 12, 16, 24, 50, 100, 300], "exponent": [100, 200]},
}
QUICK = SETTINGS | {
    "strings": 6,
    "seeds": 1,
    "sizes": specimens.QUICK["sizes"],
    "long": {"strings": 4, "steps": 6, "read": [1, 2, 6], "exponent": [1, 2]},
}
FACTORS = [2 ** (k / 8) for k in range(-24, 33)]
"""Betas at which a mapper is read, in units of its own: an eighth to sixteen."""
NAMES = ("symmetric", "antisymmetric", "transposed", "sparse", "hard", "two_half_steps", "ghost")
RULES = {name: getattr(interventions, name) for name in NAMES}
RULES |= {"half beta": interventions.at_beta(0.5), "twice beta": interventions.at_beta(2)}


class Asked:
    """Strings for a network, which tokens it is shown, which rows are looked at, and what it is judged by."""

    def __init__(self, network: str, settings: dict[str, Any], count: int | None = None) -> None:
        strings, shown, hidden = specimens.strings_of(settings["drawn"], count or settings["strings"], settings["share"])
        self.causal, self.real = network == "causal", strings.real
        self.tokens = strings.tokens if self.causal else shown
        following = torch.where(strings.real.roll(-1, 1), strings.tokens.roll(-1, 1), -100)
        following[:, -1] = -100
        self.targets = following if self.causal else torch.where(hidden, strings.tokens, -100)
        self.hidden = torch.zeros_like(hidden) if self.causal else hidden
        kinds = rows_of(strings, self.hidden)
        self.keys, self.rows = kinds["next" if self.causal else "hidden"]
        one = self.rows & (self.keys.sum(-1) == 1)
        self.right = torch.where(one, self.keys.int().argmax(-1), -1)
        self.origins = strings.right_keys

    def loss(self, logits: Tensor) -> float:
        """Nats for each token that is asked for."""
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), self.targets.flatten()).item()

    def mapping(self, seen: Watched) -> Tensor:
        """Right rows of each head at each step."""
        return mapped(seen.weights, self.keys, self.rows)


# --- one network ---


def read_off(found: Examination) -> dict[str, Any]:
    """An examination as columns: ``[steps][heads]`` for each instrument, and the states."""
    names = [name for name in found.table()[0] if name not in ("step", "block", "head")]
    grids = {name: found.grid(name) for name in names}
    columns = {name: grid.tolist() for name, grid in grids.items() if not grid.isnan().any()}
    states = [dataclasses.asdict(row) for row in found.states]
    return {"loss": found.loss, "lyapunov": found.lyapunov, "states": states} | columns


def temperature(model: LanguageModel, asked: Asked, whole: Watched, head: int, step: int) -> dict[str, Any]:
    """How hot a mapper is at its best step, where it would be right, and what the network pays there."""
    told = asked.right >= 0
    logs = whole.weights[step, :, head].double().clamp(min=1e-300).log()  # scores but for a constant of each row

    def at(factor: float) -> tuple[float, float]:
        weights = (factor * logs).softmax(-1)
        right = weights.gather(-1, asked.right.clamp(min=0)[..., None])[..., 0]
        return thermometer(weights, asked.right).ratio.item(), -right[told].log().mean().item()

    curve = [[factor, *at(factor)] for factor in FACTORS]
    best = min(curve, key=lambda row: row[2])[0]
    one = crossing(curve)
    found = {"own": list(at(1.0)), "curve": curve, "best": best, "one": one, "error": None, "loss": {}}
    found["error"] = thermometer(whole.weights[step, :, head].double(), asked.right).error.item()
    for name, factor in (("best", best), ("one", one)):
        if factor is not None:
            seen = watched(model, asked.tokens, asked.real, interventions.at_beta(factor), head=head)
            found["loss"][name] = asked.loss(seen.logits)
    return found


def crossing(curve: list[list[float]]) -> float | None:
    """The beta nearest to its own at which U goes through one, by a line between two of the curve; None where it does not."""
    found = []
    for (low, below, _), (high, above, _) in itertools.pairwise(curve):
        if (below - 1) * (above - 1) <= 0 and below != above:
            share = (1 - below) / (above - below)
            found.append(math.exp(math.log(low) + share * math.log(high / low)))
    return min(found, key=lambda factor: abs(math.log(factor)), default=None)


def changed(model: LanguageModel, asked: Asked, whole: Watched, head: int, step: int, orders: int) -> dict[str, Any]:
    """Loss and right rows under other rules of one head and of all; the loss without each head; and with places shuffled."""

    def measured(**how: Any) -> list[float]:
        seen = watched(model, asked.tokens, asked.real, **how)
        shares = asked.mapping(seen)
        return [asked.loss(seen.logits), shares[step, head].item(), shares.max().item()]

    found = {"mapper": {name: measured(rule=rule, head=head) for name, rule in RULES.items()}}
    found |= {"all": {name: measured(rule=rule) for name, rule in RULES.items()}}
    heads = range(whole.weights.shape[2])
    for name in NAMES[:3]:
        found[f"each {name}"] = [measured(rule=RULES[name], head=each)[0] for each in heads]
    found["silent"] = [measured(silent=whole.values, head=each)[0] for each in heads]
    places = model.embed.places.weight
    kept, found["places"] = places.detach().clone(), []
    for order in range(orders):
        with torch.no_grad():
            places.copy_(kept[torch.randperm(len(kept), generator=torch.Generator().manual_seed(order))])
        found["places"].append(measured()[0])
    with torch.no_grad():
        places.copy_(kept)
    return found


def rest(model: LanguageModel, network: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What a tied block does when it goes on: changes of steps, losses, its exponent, and what two solvers find."""
    long = settings["long"]
    asked = Asked(network, settings, long["strings"])
    seen = watched(model, asked.tokens, asked.real, steps=long["steps"])
    real, states = asked.real, seen.states
    change = (states[1:] - states[:-1]).norm(dim=-1) / states[:-1].norm(dim=-1)
    of_text = (change * real).sum(-1) / real.sum(-1)  # [steps, count]
    shares, kept = asked.mapping(seen), real[..., None]

    def step(flat: Tensor) -> Tensor:
        x = torch.where(kept, flat.unflatten(-1, states.shape[2:]), 0.0)
        return torch.where(kept, model.stack.step(x, 0, mask=real[:, None]), 0.0).flatten(1)

    start = torch.where(kept, states[0], 0.0).flatten(1)
    burn, steps = long["exponent"]
    exponent = lyapunov_exponent(step, start, steps=steps, burn_in=burn)
    found = {"change": of_text.mean(-1).tolist(), "last": of_text[-1].tolist(), "exponent": exponent.tolist()}
    found["loss"] = {str(n): asked.loss(model.readout(states[n])) for n in long["read"]}
    found["mapping"] = {str(n): shares[:n].max().item() for n in long["read"]}
    found["cosine"] = {str(n): cosines(states[n], real) for n in long["read"]}
    for name, how in (("damped", {"step": 0.5}), ("anderson", {"method": "anderson"})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solved = fixed_point(step, start, max_steps=long["steps"], on_failure="warn", **how)
        end = solved.solution.unflatten(-1, states.shape[2:])
        found[name] = {"converged": solved.converged.double().mean().item(), "loss": asked.loss(model.readout(end))}
    return found


def cosines(state: Tensor, real: Tensor) -> float:
    """The mean cosine between tokens of a text."""
    unit = torch.nn.functional.normalize(state.double(), dim=-1)
    pairs = (real[:, None] & real[:, :, None]) & ~torch.eye(real.shape[-1], dtype=torch.bool)
    return (unit @ unit.mT)[pairs].mean().item()


def origins(asked: Asked, whole: Watched) -> dict[str, list[float]]:
    """The mean cosine of tokens of the product with the tokens that they come from, in each state, of all, hidden and shown."""
    unit = torch.nn.functional.normalize(whole.states.double(), dim=-1)
    known, keys = asked.origins >= 0, asked.origins.clamp(min=0)
    near = (unit * unit.gather(2, keys[None, ..., None].expand(unit.shape))).sum(-1)
    shown = known & ~asked.hidden & ~asked.hidden.gather(1, keys)
    groups = {"all": known, "shown": shown} if asked.causal else {"all": known, "hidden": known & asked.hidden, "shown": shown}
    return {name: [one[which].mean().item() for one in near] for name, which in groups.items()}


def examined(network: str, seed: int, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Everything about one network."""
    torch.manual_seed(seed)
    model, asked = specimen(network, **settings["sizes"]), Asked(network, settings)
    how = {"mask": asked.real, "targets": asked.targets, "progress": False}
    found: dict[str, Any] = {"network": network, "seed": seed}
    found["before"] = read_off(examine(model, asked.tokens, asked.right, ablate=False, **how))
    model.load_state_dict(torch.load(folder / f"{network}-{seed}.pt", weights_only=True))
    found["after"] = read_off(examine(model, asked.tokens, asked.right, **how))
    whole = watched(model, asked.tokens, asked.real)
    shares = asked.mapping(whole)
    step, head = divmod(int(shares.argmax()), shares.shape[1])
    found |= {"loss": asked.loss(whole.logits), "mapping": shares.tolist()}
    found["mapper"] = {"head": head + 1, "step": step + 1, "right": shares[step, head].item()}
    found["temperature"] = temperature(model, asked, whole, head, step)
    found["rules"] = changed(model, asked, whole, head, step, settings["orders"])
    found["origins"] = origins(asked, whole)
    found["rest"] = rest(model, network, settings) if model.stack.tied else None
    return records.rounded(found, ("seed", "head", "step"))


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and examine what has not been."""
    said = TITLE, __doc__.splitlines()[0], "tiny networks, few strings"
    record(examined, RESULTS, said, (SETTINGS, QUICK), arguments)


if __name__ == "__main__":
    main()
