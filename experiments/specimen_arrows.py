"""Heads of page 7d's networks as driven spins: their arrow of time, from films, to lowest order, and closed.

Nothing to run here: ``driven_specimens.py`` asks for it.
"""

from typing import Any, cast

import torch
from examinations import Asked
from torch import Tensor

from attnlib.attention import SoftmaxAttention
from attnlib.course.models.interventions import symmetric
from attnlib.course.models.specimens import mapped, weights_of
from attnlib.kinetic import stationary_closure
from attnlib.transformer import LanguageModel, arrow_estimate, examine


def couplings(model: LanguageModel, asked: Asked, *, even: bool = False) -> Tensor:
    """Weights of heads, by step: ``[steps, count, heads, n, n]``, zero at filling; ``even``: of scores made symmetric."""
    queries = asked.real[:, None, :, None]
    if not even:
        return weights_of(model, asked.tokens, asked.real) * queries
    found = []
    for step, x in enumerate(model.states(asked.tokens, asked.real)[:-1]):
        mixer = cast("SoftmaxAttention", model.stack.blocks[0 if model.stack.tied else step].mixer)
        seen = mixer.explain(x, mask=asked.real[:, None])
        visible = asked.real[:, None, None, :].expand(seen.scores.shape)
        found.append(symmetric(seen.scores * mixer.beta, seen.key, visible) * queries)
    return torch.stack(found)


def arrows(J: Tensor, settings: dict[str, Any], generator: torch.Generator) -> Tensor:
    """Entropy production of systems ``[*systems, n, n]`` at beta 1 without drive, nats a step: a mean over films.

    In each frame the chance of the next is known, so that only what stood before is sampled.
    """
    flat = J.flatten(0, -3)
    s = torch.randint(0, 2, (len(flat), settings["films"], J.shape[-1]), generator=generator).to(J.dtype) * 2 - 1
    total = torch.zeros(len(flat), dtype=torch.float64)
    for frame in range(settings["before"] + settings["frames"]):
        h = s @ flat.mT
        m = h.tanh()
        if frame >= settings["before"]:
            total += (m * (h - s @ flat)).sum(-1).mean(-1).double()
        s = torch.where(torch.rand(m.shape, generator=generator) < (1 + m) / 2, 1.0, -1.0)
    return (total / settings["frames"]).reshape(J.shape[:-2])


def closed(J: Tensor) -> tuple[Tensor, Tensor]:
    """The same by the correlated Gaussian at rest, and which of the systems had come to rest."""
    found = stationary_closure(J.double(), closure="correlated", on_failure="warn")
    return found.entropy_production, found.converged


def rank_correlation(first: Tensor, second: Tensor) -> float:
    """Spearman's: the correlation of ranks, of numbers that are not equal."""
    ranks = [one.flatten().argsort().argsort().double() for one in (first, second)]
    return torch.corrcoef(torch.stack(ranks))[0, 1].item()


def arrow_of(model: LanguageModel, network: str, settings: dict[str, Any], seed: int, *, trained: bool) -> dict[str, Any]:
    """``[steps][heads]`` of the arrow for each token, three ways, and of what else an examination says of these heads."""
    few, generator = Asked(network, settings, settings["few"]), torch.Generator().manual_seed(seed)
    J, tokens = couplings(model, few), few.real.sum(-1)[:, None].double()

    def mean(produced: Tensor) -> list[list[float]]:
        return (produced / tokens).mean(1).tolist()

    sampled = arrows(J, settings, generator)
    found = {"arrow": mean(sampled), "lowest": mean(arrow_estimate(J).double() * J.shape[-1])}
    if not trained:
        return found
    said, rested = closed(J)
    found |= {"closed": mean(said), "rested": rested.double().mean().item()}
    if network != "causal":
        found["even"] = mean(arrows(couplings(model, few, even=True), settings, generator))
    many = Asked(network, settings)
    seen = examine(model, many.tokens, many.right, mask=many.real, targets=many.targets, progress=False)
    names = ("participation", "antisymmetric_share", "ablation")
    found |= {name: seen.grid(name).tolist() for name in names}
    lowest, participation, cost = (torch.tensor(found[name]) for name in ("lowest", "participation", "ablation"))
    found["ranks"] = {
        "lowest": rank_correlation(lowest, torch.tensor(found["arrow"])),
        "cost": rank_correlation(torch.tensor(found["arrow"]), cost),
        "participation cost": rank_correlation(participation, cost),
    }
    shares = mapped(weights_of(model, many.tokens, many.real), many.keys, many.rows)
    step, head = divmod(int(shares.argmax()), shares.shape[1])
    return found | {"mapper": {"head": head + 1, "step": step + 1, "right": shares[step, head].item()}}
