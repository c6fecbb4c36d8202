"""Instruments for a head: whether its couplings have an energy, what its value map does, its arrow of time."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor

from attnlib._core.checks import check_broadcast, check_floating
from attnlib._core.numerics import widened
from attnlib._core.values import check_finite, check_result, check_visible
from attnlib.transformer.tokens import check_some_token


@dataclass(frozen=True)
class ValueKinds:
    """What value maps do: eigenvalues ``[*heads, d]``, shares that add up to one, and sizes, each ``[*heads]``.

    ``store``: what is read is written back as it is. ``walk``: it is written as something else. ``erase``: it is taken away,
    or nothing is written. ``size``: the root of the sum of the map's squared entries.

    >>> eye = torch.eye(3)
    >>> value_kinds(eye, eye).store, value_kinds(eye, eye.roll(1, 0)).walk, value_kinds(eye, 0 * eye).erase
    (tensor(1.), tensor(1.), tensor(1.))
    """

    eigenvalues: Complex[Tensor, "*heads d"]
    store: Float[Tensor, "*heads"]
    walk: Float[Tensor, "*heads"]
    erase: Float[Tensor, "*heads"]
    size: Float[Tensor, "*heads"]


def symmetric_share(
    query_map: Float[Tensor, "*heads d dim"], key_map: Float[Tensor, "*heads d dim"]
) -> Float[Tensor, "*heads"]:
    r"""How much of a head's bilinear form between tokens is symmetric, so that it can come from an energy.

    .. math:: \frac{|S|^2}{|S|^2 + |A|^2} = \frac12 + \frac{\operatorname{tr} M^2}{2 |M|^2}, \qquad
        M = W_Q^\top W_K = S + A, \quad S = S^\top, \quad A = -A^\top

    One: tokens attend to each other alike, as in an energy of pairs. Zero: what draws i to j repels j from i. Random maps give
    ``1/2 + 1/(2 dim)`` on average. The form itself, ``[dim, dim]``, is never made.

    Args:
        query_map, key_map: ``[*heads, d, dim]``, as in ``to_query.weight``, cut into heads.

    Returns:
        ``[*heads]``, from 0 to 1, differentiable; one where the form is zero.

    Raises:
        ValueError: shapes that differ or have less than two axes, entries that are not finite.

    Source: Saponati et al. 2025 (arXiv 2502.10927), whose score is twice this minus one.

    >>> query = torch.tensor([[1.0, 0.0]])  # W_Q^T W_K couples the first component of the query to the second of the key
    >>> symmetric_share(query, query), symmetric_share(query, query.flip(-1))
    (tensor(1.), tensor(0.5000))
    """
    check_floating(query_map=query_map, key_map=key_map)
    if query_map.ndim < 2 or query_map.shape != key_map.shape or 0 in query_map.shape[-2:]:
        shapes = f"query_map has shape {tuple(query_map.shape)}, key_map {tuple(key_map.shape)}"
        raise ValueError(f"{shapes}; expected [*heads, d, dim] twice")
    check_finite(query_map=query_map, key_map=key_map)
    query, key = _scaled(query_map), _scaled(key_map)
    cross = key @ query.mT
    square = ((query @ query.mT) * (key @ key.mT)).sum((-2, -1))
    turned = (cross * cross.mT).sum((-2, -1))
    share = (1 + turned / torch.where(square > 0, square, 1.0)) / 2
    return torch.where(square > 0, share, 1.0).clamp(0, 1).to(query_map.dtype)


def value_kinds(out_map: Float[Tensor, "*heads dim d"], value_map: Float[Tensor, "*heads d dim"]) -> ValueKinds:
    r"""What heads do with what they read: store it, walk on from it, or erase it.

    .. math:: M = W_O W_V, \qquad \mathrm{store} = \frac{\max(\operatorname{tr} M, 0)}{\sum_i \sigma_i}, \quad
        \mathrm{erase} = \frac{\max(-\operatorname{tr} M, 0)}{\sum_i \sigma_i}, \quad
        \mathrm{walk} = 1 - \mathrm{store} - \mathrm{erase}

    The trace is the sum of the eigenvalues, and its size at most the sum of the singular values: they are equal only where M
    is positive, as it is for values tied to keys and a memory that is read as it was stored. Minus the identity takes from the
    stream what it finds there. A permutation without fixed points has the trace zero, and so has a map that reads one part of
    the stream and writes into another: both write what was not there, and k steps of it are a walk of k hops. A map that is
    zero erases. Random maps walk. What positive and negative eigenvalues share counts as a walk; look at them to tell.

    Args:
        out_map: ``[*heads, dim, d]``, as in ``to_out.weight``, cut into heads.
        value_map: ``[*heads, d, dim]``, as in ``to_value.weight``, cut into heads.

    Returns:
        :class:`ValueKinds`, without gradients; the d eigenvalues are those that can differ from zero, largest first.

    Raises:
        ValueError: shapes that do not fit, entries that are not finite.

    Source: the trace over the sum of the eigenvalues' sizes is the copying score of Elhage et al. 2021; singular values, which
    are no smaller together (Weyl 1949), tell a map that writes elsewhere from one that writes nothing.

    >>> read = torch.eye(4)[:2]  # reads the first two components, writes into the last two
    >>> value_kinds(torch.eye(4)[:, 2:], read).walk, value_kinds(-torch.eye(4)[:, :2], read).erase
    (tensor(1.), tensor(1.))
    """
    check_floating(out_map=out_map, value_map=value_map)
    if out_map.ndim < 2 or out_map.mT.shape != value_map.shape or 0 in out_map.shape[-2:]:
        shapes = f"out_map has shape {tuple(out_map.shape)}, value_map {tuple(value_map.shape)}"
        raise ValueError(f"{shapes}; expected [*heads, dim, d] and [*heads, d, dim]")
    check_visible(out_map=out_map)
    check_finite(out_map=out_map, value_map=value_map)
    (out, large), (value, long) = _in_units(out_map.detach().double()), _in_units(value_map.detach().double())
    within = value @ out  # it has the eigenvalues of M that are not zero
    eigenvalues = torch.linalg.eigvals(within)  # of numbers that do not overflow: it would end the process
    order = eigenvalues.abs().sort(dim=-1, descending=True, stable=True).indices
    singular = torch.linalg.svdvals(torch.linalg.qr(out).R @ torch.linalg.qr(value.mT).R.mT)
    whole, trace = singular.sum(-1), within.diagonal(dim1=-2, dim2=-1).sum(-1)
    part = torch.where(whole > 0, trace / torch.where(whole > 0, whole, 1.0), 0.0).clamp(-1, 1)
    store, erase = part.clamp(min=0), torch.where(whole > 0, -part.clamp(max=0), 1.0)
    unit = (large * long)[..., 0]
    size = check_result((singular.norm(dim=-1) * unit[..., 0]).to(out_map.dtype), "out_map and value_map are")
    wide = torch.promote_types(out_map.dtype, torch.float32)
    complex_type = torch.complex128 if wide == torch.float64 else torch.complex64
    kinds = (x.to(out_map.dtype) for x in (store, 1 - store - erase, erase, size))
    return ValueKinds((eigenvalues.gather(-1, order) * unit).to(complex_type), *kinds)


def arrow_estimate(weights: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch"]:
    r"""Entropy that a head would produce for each token and step, to lowest order in its weights, in nats.

    .. math:: \frac{e_p}{n} = \frac{1}{2n} \sum_{ij} (p_{ij} - p_{ji})^2 + \dots

    It is the arrow of time of n binary spins without drive that are updated together with couplings p. Zero where every token
    gives what it gets. With a causal mask nothing is given back. The next order is the fourth in the weights.

    Args:
        weights: ``[*batch, n, n]``, from each token to each.

    Returns:
        ``[*batch]``, differentiable.

    Raises:
        ValueError: a shape that is not ``[*batch, n, n]``, entries that are not finite.

    Source: the entropy production of asymmetric couplings, Aguilera et al. 2021, expanded at high temperature.

    >>> arrow_estimate(torch.tensor([[0.5, 0.5], [0.1, 0.9]]))  # two spins: half of .4 squared
    tensor(0.0800)
    """
    check_floating(weights=weights)
    _check_square("weights", weights)
    check_finite(weights=weights)
    p = widened(weights)
    found = (p - p.mT).square().sum((-2, -1)) / (2 * p.shape[-1])
    return check_result(found.to(weights.dtype), "weights are")


def antisymmetric_share(
    scores: Float[Tensor, "*batch n n"], *, mask: Bool[Tensor, "*#batch n"] | None = None
) -> Float[Tensor, "*batch"]:
    r"""How much of what softmax sees of scores between tokens is antisymmetric: where the arrow comes from, to first order.

    .. math:: \frac{\sum_{i \neq j} (c_{ij} - c_{ji})^2}{4 \sum_{i \neq j} c_{ij}^2}, \qquad
        c_{ij} = s_{ij} - \frac{1}{n - 1} \sum_{k \neq i} s_{ik}

    What a whole row has in common is taken away first, since softmax does not see it: then the weights are ``(1 + c) / n`` to
    first order. Independent scores give about one half, scores of an energy that also has equal rows zero. Symmetric scores
    with unequal rows give more than zero: the normalisation of a row has an arrow of its own.

    Args:
        scores: beta times query times key, ``[*batch, n, n]``; also those that a causal mask hides.
        mask: ``[*batch, n]``, True for what is a token and no padding.

    Returns:
        ``[*batch]``, from 0 to 1, differentiable; zero where all scores in a row are equal.

    Raises:
        ValueError: a shape that is not ``[*batch, n, n]``, entries that are not finite, a mask that does not fit or
            leaves no token.

    Source: the split of couplings into parts with and without an energy; the order is that of :func:`arrow_estimate`.

    >>> turn = torch.tensor([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
    >>> antisymmetric_share(turn), antisymmetric_share(turn.abs() + torch.ones(3, 1))
    (tensor(1.), tensor(0.))
    """
    check_floating(scores=scores)
    _check_square("scores", scores)
    check_finite(scores=scores)
    pair = ~torch.eye(scores.shape[-1], dtype=torch.bool, device=scores.device)
    if mask is not None:
        check_broadcast("mask", mask, scores.shape[:-1], scores.device)
        if mask.dtype != torch.bool or not mask.ndim or mask.shape[-1] != scores.shape[-1]:
            raise ValueError(f"mask is {mask.dtype} of shape {tuple(mask.shape)}; expected booleans [*batch, n]")
        check_some_token(mask)
        pair = pair & mask.unsqueeze(-1) & mask.unsqueeze(-2)
    pair = pair.expand(scores.shape)
    wide = _scaled(scores.double())
    mean = torch.where(pair, wide, 0.0).sum(-1, keepdim=True) / pair.sum(-1, keepdim=True).clamp(min=1)
    c = torch.where(pair, wide - mean, 0.0)
    whole = 4 * c.square().sum((-2, -1))
    share = (c - c.mT).square().sum((-2, -1)) / torch.where(whole > 0, whole, 1.0)
    return share.clamp(0, 1).to(scores.dtype)


def _scaled(tensor: Tensor) -> Tensor:
    """In single precision or better, with a largest entry of one: no square overflows."""
    return _in_units(widened(tensor))[0]


def _in_units(wide: Tensor) -> tuple[Tensor, Tensor]:
    """The same with a largest entry of one, and what that was, ``[*batch, 1, 1]``."""
    size = wide.detach().abs().amax((-2, -1), keepdim=True)
    size = torch.where(size > 0, size, 1.0)
    return wide / size, size


def _check_square(name: str, tensor: Tensor) -> None:
    if tensor.ndim < 2 or tensor.shape[-1] != tensor.shape[-2] or not tensor.shape[-1]:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}; expected [*batch, n, n] with n >= 1")
