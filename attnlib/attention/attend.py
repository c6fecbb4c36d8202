"""Attention: values averaged with Boltzmann weights of the scores."""

import math

from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._core.checks import Empty, Scalar, check_beta, check_field, check_flag, check_floating, check_states, check_tensors
from attnlib._core.numerics import Mask, attention_average, attention_weights_of, open_mask
from attnlib._core.values import check_finite


def attention_weights(
    query: Float[Tensor, "*batch n d"],
    key: Float[Tensor, "*batch m d"],
    *,
    beta: Scalar | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    causal: bool = False,
    score_bias: Float[Tensor, "..."] | None = None,
    empty: Empty = "error",
) -> Float[Tensor, "*batch n m"]:
    r"""The weights of :func:`attend`: ``softmax(beta q . k)`` over the keys, ``[*batch, n, m]``.

    Arguments and errors are those of :func:`attend`. Half precision is computed in float32 inside.

    >>> attention_weights(torch.tensor([[2.0, 0.0]]), torch.eye(2), beta=1)
    tensor([[0.8808, 0.1192]])
    """
    check_states("query", query, "key", key)
    beta, seen = _settings(query, key, beta, mask, causal, score_bias, empty)
    return seen.close(attention_weights_of(query, key, beta, seen, score_bias).to(query.dtype))


def attend(
    query: Float[Tensor, "*batch n d"],
    key: Float[Tensor, "*batch m d"],
    value: Float[Tensor, "*batch m c"],
    *,
    beta: Scalar | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    causal: bool = False,
    score_bias: Float[Tensor, "..."] | None = None,
    empty: Empty = "error",
    twice_differentiable: bool = False,
) -> Float[Tensor, "*batch n c"]:
    r"""Average the values with Boltzmann weights of the scores.

    .. math:: \mathrm{attend}(q, K, V)_i = \sum_j p_{ij} v_j, \qquad p_{ij} \propto \exp \beta (q_i \cdot k_j + b_{ij})

    Args:
        query, key, value: ``[*batch, n, d]``, ``[*batch, m, d]``, ``[*batch, m, c]``, of one floating dtype, finite.
        beta: inverse temperature, default ``d ** -0.5``; a number in ``[0, inf]`` or a finite tensor that broadcasts to
            ``[*batch, n]``, one for each distribution (one per head: ``[heads, 1]``). The energies of ``attnlib.hopfield``,
            whose step this is, take 1 by default.
        mask: boolean, broadcasts to ``[*batch, n, m]``; True means: may be attended to.
        causal: query i sees the keys up to its own place, the last query all of them; needs ``m >= n``. With ``m = n`` and
            neither a mask nor a bias, torch's kernel does this without an ``[n, m]`` mask.
        score_bias: ``b``, an external field on the scores, broadcasts to ``[*batch, n, m]``; default none. It stands beside
            the score, inside beta: a bias that is to be added after the scale is given divided by beta.
        empty: a query that may attend to nothing is an ``"error"`` (default), or its result is ``"zero"``.
        twice_differentiable: torch's fused kernel is used by default and differentiates once; True takes the explicit formula,
            which differentiates as often as you like and stores the ``[*batch, n, m]`` weights.

    Returns:
        ``[*batch, n, c]``.

    Raises:
        ValueError: shapes that do not fit, mixed or integer dtypes, non-finite entries, negative or NaN beta, a mask that is
            not boolean or does not broadcast, a row of the mask with no True in it (unless ``empty="zero"``).

    Source: Vaswani et al. 2017, eq. (1), where ``beta = 1/sqrt(d_k)``.

    >>> key = torch.eye(2)
    >>> attend(torch.zeros(1, 2), key, key)
    tensor([[0.5000, 0.5000]])
    """
    check_states("query", query, "key", key)
    check_tensors(value=value)
    if value.shape[:-1] != key.shape[:-1]:
        raise ValueError(f"value has shape {tuple(value.shape)}; expected {(*key.shape[:-1], 'c')}, one row per key")
    check_floating(query=query, value=value)
    if value is not key:
        check_finite(value=value)
    beta, seen = _settings(query, key, beta, mask, causal, score_bias, empty)
    check_flag(twice_differentiable=twice_differentiable)
    return seen.close(attention_average(query, key, value, beta, seen, score_bias, explicit=twice_differentiable))


def _settings(
    query: Tensor,
    key: Tensor,
    beta: Scalar | None,
    mask: Tensor | None,
    causal: bool,
    score_bias: Tensor | None,
    empty: Empty,
) -> tuple[Scalar, Mask]:
    """Check what both functions take beside query and key; the inverse temperature and the mask to compute with."""
    shape = (*query.shape[:-1], key.shape[-2])
    beta = check_beta(query.shape[-1] ** -0.5 if beta is None else beta, limits=(0, math.inf), like=query, shape=shape[:-1])
    if score_bias is not None:
        check_field("score_bias", score_bias, shape, query)
    return beta, open_mask(mask, shape, empty, query, causal)
