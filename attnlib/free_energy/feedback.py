"""Couplings that depend on the fields, and what that adds to the response to a field.

If a token sets the field on its spin and the couplings too, then the free energy answers to it in two ways: the spin turns, and
the energy of all pairs is counted with other couplings. Attention's weights are such couplings.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import check_choice, check_field, check_floating, check_number
from attnlib._core.numerics import widened
from attnlib._core.values import check_finite, check_products, check_result

Form = Literal["tanh", "softmax"]
"""How scores of pairs become couplings: each by itself, or each row's as shares of one."""


def field_couplings(
    h: Float[Tensor, "*batch n d"],
    kernel: Float[Tensor, "..."] | None = None,
    *,
    form: Form = "tanh",
    strength: float | int = 1.0,
) -> Float[Tensor, "*batch n n"]:
    r"""Couplings that follow from the fields of the spins, symmetric, without self-coupling.

    .. math:: u_{ij} = \frac{h_i \cdot K h_j}{\sqrt d}, \qquad
        J_{ij} = \frac{g}{\sqrt n} \tanh u_{ij}
        \quad\text{or}\quad J_{ij} = \frac g2 (p_{ij} + p_{ji}), \quad p_{ij} = \mathrm{softmax}_{j \ne i}\, u_{ij}

    Args:
        h: fields, ``[*batch, n, d]``.
        kernel: K, broadcast to ``[*batch, d, d]``, of which the symmetric part acts; default the identity.
        form: ``"tanh"`` (default), or ``"softmax"``, whose couplings are made symmetric: only then is there an energy.
        strength: g, a number.

    Returns:
        ``[*batch, n, n]``.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, products that overflow, another form.

    Source: Bal 2021, Transformers Are Secretly Collectives of Spin Systems, for the question; there the couplings are not made
    symmetric.

    >>> field_couplings(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), form="softmax")
    tensor([[0.0000, 0.3302, 0.5849],
            [0.3302, 0.0000, 0.5849],
            [0.5849, 0.5849, 0.0000]])
    """
    kernel, strength = _checked(h, kernel, form, strength)
    with working(h):
        wide = widened(h)
        found, _ = couplings_and_slopes(wide, kernel.to(wide.dtype), form, strength)
    return check_result(found.to(h.dtype), "h, kernel or strength are")


def coupling_response(
    h: Float[Tensor, "*batch n d"],
    pairs: Float[Tensor, "*batch n n"],
    kernel: Float[Tensor, "..."] | None = None,
    *,
    form: Form = "tanh",
    strength: float | int = 1.0,
) -> Float[Tensor, "*batch n d"]:
    r"""What the motion of the couplings adds to the response to a field: the second term of ``-dF/dh_i``.

    .. math:: -\frac{dF}{dh_i} = \langle s_i \rangle
        + \frac12 \sum_{mn} \langle s_m \cdot s_n \rangle \frac{\partial J_{mn}}{\partial h_i}

    With the couplings of :func:`field_couplings` it is ``sum_n W_in K h_n``: rows mixed by weights W that grow with the
    correlation of two spins, and channels by K. It is no part of a magnetisation, and with it a response can exceed a spin's
    length.

    Args:
        h, kernel, form, strength: as in :func:`field_couplings`; shapes too.
        pairs: ``<s_m . s_n>``, ``[*batch, n, n]``, wherever it is from: of a saddle point, ``d`` times its ``overlaps``.

    Returns:
        The second term, ``[*batch, n, d]``.

    Raises:
        ValueError: as :func:`field_couplings`; also pairs of another shape.

    >>> h = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    >>> coupling_response(h, torch.tensor([[2.0, 0.6], [0.6, 2.0]]))
    tensor([[0.1327, 0.1327],
            [0.2654, 0.0000]])
    """
    kernel, strength = _checked(h, kernel, form, strength)
    check_floating(h=h, pairs=pairs)
    if tuple(pairs.shape) != (*h.shape[:-1], h.shape[-2]):
        shapes = f"pairs has shape {tuple(pairs.shape)} and h {tuple(h.shape)}"
        raise ValueError(f"{shapes}; expected [*batch, n, n] and [*batch, n, d]")
    check_finite(pairs=pairs)
    with working(h):
        wide = widened(h)
        kernel = kernel.to(wide.dtype)
        _, slopes = couplings_and_slopes(wide, kernel, form, strength)
        found = feedback(wide, widened(pairs), kernel, slopes)
    return check_result(found.to(h.dtype), "h, pairs, kernel or strength are")


def _checked(h: Tensor, kernel: Tensor | None, form: Form, strength: float | int) -> tuple[Tensor, float]:
    check_floating(h=h)
    if h.ndim < 2 or 0 in h.shape[-2:]:
        raise ValueError(f"h has shape {tuple(h.shape)}; expected [*batch, n, d] with n >= 1 and d >= 1")
    check_choice("form", form, ("tanh", "softmax"))
    strength = check_number("strength", strength)
    if kernel is None:
        kernel = torch.eye(h.shape[-1], dtype=h.dtype, device=h.device)
    check_field("kernel", kernel, (*h.shape[:-2], h.shape[-1], h.shape[-1]), h)
    check_products("h", h, "h", h)
    if kernel.ndim < 2:
        kernel = kernel.expand(h.shape[-1], h.shape[-1])
    return kernel, strength


def couplings_and_slopes(
    h: Tensor, kernel: Tensor, form: Form, strength: float | Tensor, there: Tensor | None = None
) -> tuple[Tensor, "Slopes"]:
    """Couplings ``[*batch, n, n]``, and what is needed to differentiate them; ``there [*batch, n]`` says which spins are."""
    n, d = h.shape[-2:]
    symmetric = (kernel + kernel.mT) / 2
    scores = h @ symmetric @ h.mT / d**0.5
    others = ~torch.eye(n, dtype=torch.bool, device=h.device)
    if there is not None:
        others = others & there.unsqueeze(-1) & there.unsqueeze(-2)
    if form == "tanh":
        count = float(n) if there is None else there.sum(-1, keepdim=True).unsqueeze(-1).clamp(min=1).to(h.dtype)
        scale = strength / count**0.5
        signs = torch.where(others, scores.tanh(), 0.0)
        return scale * signs, Slopes(torch.where(others, scale * (1 - signs.square()), 0.0), None, strength)
    scores = scores.masked_fill(~others, torch.finfo(scores.dtype).min)
    shares = torch.where(others, scores.softmax(-1), 0.0)
    return strength * (shares + shares.mT) / 2, Slopes(None, shares, strength)


class Slopes:
    """Derivatives of couplings by scores: one for each pair, or the shares of a softmax."""

    def __init__(self, each: Tensor | None, shares: Tensor | None, strength: float | Tensor) -> None:
        self.each, self.shares, self.strength = each, shares, strength

    def weights(self, pairs: Tensor) -> Tensor:
        """W of ``sum_n W_in K h_n sqrt(d)``, ``[*batch, n, n]``, for ``<s_m . s_n>``."""
        if self.each is not None:
            return pairs * self.each
        shares = self.shares if self.shares is not None else torch.zeros_like(pairs)
        moved = self.strength / 2 * shares * (pairs - (shares * pairs).sum(-1, keepdim=True))
        return moved + moved.mT


def feedback(h: Tensor, pairs: Tensor, kernel: Tensor, slopes: Slopes) -> Tensor:
    """The second term of the response, ``[*batch, n, d]``."""
    symmetric = (kernel + kernel.mT) / 2
    pairs = (pairs + pairs.mT) / 2
    return slopes.weights(pairs) @ h @ symmetric / h.shape[-1] ** 0.5
