"""One head at one step, under the instruments."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnlib._core.numerics import column
from attnlib.attention import Heads, Mixer
from attnlib.softmax import relative_spread
from attnlib.transformer.energy_law import participation_law
from attnlib.transformer.examination import HeadReading
from attnlib.transformer.instruments import antisymmetric_share, arrow_estimate, symmetric_share, value_kinds
from attnlib.transformer.thermometer import thermometer


@dataclass(frozen=True)
class Look:
    """What a mixer did: weights and scores ``[batch, heads, n, n]``, and the means of its heads, ``[heads, d]``."""

    mixer: Mixer
    step: int
    block: int
    """Counted from 1."""
    weights: Tensor
    scores: Tensor
    visible: Tensor
    """Which keys each query sees, ``[batch, heads, n, n]``; none where it is padding."""
    means: Tensor


def look(
    mixer: Mixer, given: tuple[Any, ...], named: dict[str, Any], real: Tensor, *, step: int = 1, block: int = 1
) -> Look | None:
    """Ask a mixer that has weights; None of one that has none. ``real [batch, n]``: what is a token and no padding."""
    explain = getattr(mixer, "explain", None)
    weights = getattr(explain(*given, **named), "weights", None) if explain is not None else None
    heads = mixer.split(*given, **named)
    shape = (*heads.query.shape[:-1], heads.key.shape[-2])
    if not isinstance(weights, Tensor) or weights.shape != shape or shape[-1] != shape[-2]:
        return None
    mixed = (mixer.mix(heads) * real[:, None, :, None]).sum((0, 2)) / real.sum()
    rows = real[:, None, :, None]
    visible = rows.expand(shape) if heads.mask is None else heads.mask.expand(shape) & rows
    return Look(mixer, step, block, weights.double() * rows, _scores(heads), visible, mixed)


def _scores(heads: Heads) -> Tensor:
    """Beta times the scores, those that a mask hides too."""
    wide = heads.widened()
    scores = wide.query.double() @ wide.key.double().mT
    scores = scores if wide.score_bias is None else scores + wide.score_bias
    return column(wide.beta) * scores


def read(seen: Look, real: Tensor, right_keys: Tensor | None) -> list[HeadReading]:
    """A row for each head of a mixer that was looked at; ``right_keys [batch, n]``, -1 where there is none."""
    columns = _of_weights(seen, real) | _of_maps(seen.mixer)
    found = []
    for head in range(seen.weights.shape[1]):
        numbers: dict[str, float] = {name: float(column[head]) for name, column in columns.items() if name != "eigenvalues"}
        if right_keys is not None and (right_keys >= 0).any():
            told = thermometer(seen.weights[:, head], right_keys)
            numbers["thermometer"] = float(told.ratio)
            if told.error.isfinite():
                numbers["thermometer_error"] = float(told.error)
        values = tuple(columns["eigenvalues"][head].tolist()) if "eigenvalues" in columns else ()
        found.append(HeadReading(seen.step, seen.block, head + 1, **numbers, eigenvalues=values))
    return found


def _of_weights(seen: Look, real: Tensor) -> dict[str, Tensor]:
    """Columns ``[heads]`` of what was measured at queries that see at least two keys."""
    keys = seen.visible.sum(-1)
    chosen = keys > 1
    open_rows = torch.where(chosen[..., None], seen.visible, True)
    spread = relative_spread(seen.scores, mask=open_rows)
    many = keys.clamp(min=2).double()
    unbiased = spread * (2 * many.log()).sqrt() * (many / (many - 1)).sqrt()  # of the distribution that the scores are from
    law = torch.zeros_like(spread)
    law[chosen] = participation_law(unbiased[chosen], keys[chosen])
    participation = seen.weights.square().sum(-1)
    tokens = real.sum(-1).double()
    later = real.clone()
    later[:, 0] = False
    return {
        "spread": _mean(spread, chosen),
        "spread_deviation": _deviation(spread, chosen),
        "participation": _mean(participation, chosen),
        "participation_deviation": _deviation(participation, chosen),
        "participation_law": _mean(law, chosen),
        "first_token": _mean(seen.weights[..., 0], later[:, None].expand(keys.shape)),
        "arrow": (arrow_estimate(seen.weights) * seen.weights.shape[-1] / tokens[:, None]).mean(0),
        "antisymmetric_share": antisymmetric_share(seen.scores, mask=real[:, None]).mean(0),
    }


def _mean(numbers: Tensor, chosen: Tensor) -> Tensor:
    """The mean over batch and queries ``[heads]``, NaN where none is chosen."""
    return torch.where(chosen, numbers, 0.0).sum((0, 2)) / chosen.sum((0, 2))


def _deviation(numbers: Tensor, chosen: Tensor) -> Tensor:
    """The standard deviation over batch and queries ``[heads]``."""
    mean = _mean(numbers, chosen)
    return _mean((numbers - mean[None, :, None]).square(), chosen).sqrt()


def _of_maps(mixer: Mixer) -> dict[str, Tensor]:
    """Columns ``[heads]`` of the maps alone; eigenvalues are ``[heads, d]``."""
    maps = head_maps(mixer)
    if maps is None:
        return {}
    query, key, value, out = maps
    kinds = value_kinds(out, value)
    return {
        "symmetric_share": symmetric_share(query, key),
        "store": kinds.store,
        "walk": kinds.walk,
        "erase": kinds.erase,
        "value_size": kinds.size,
        "eigenvalues": kinds.eigenvalues,
    }


def head_maps(mixer: Mixer) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
    """Maps to queries, keys and values, ``[heads, d, dim]`` in double precision, and the map out, ``[heads, dim, d]``.

    A mixer without keys or values of their own has the one before in their place. None where the context has another width.
    """
    if mixer.bare:
        eye = torch.eye(mixer.dim, dtype=torch.float64, device="cpu")[None]
        return eye, eye, eye, eye
    if mixer.dim != mixer.context_dim:
        return None
    query = _per_head(mixer.to_query.weight, mixer.heads)
    key = _per_head(mixer.to_key.weight, mixer.heads) if mixer.has_keys else query
    value = _per_head(mixer.to_value.weight, mixer.heads) if mixer.has_values else key
    return query, key, value, _per_head(mixer.to_out.weight.mT, mixer.heads).mT


def _per_head(weight: Tensor, heads: int) -> Tensor:
    return weight.detach().double().cpu().unflatten(0, (heads, -1))
