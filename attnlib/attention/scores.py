"""Scores: three ways to compare a query with a key, before the softmax."""

from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_floating, check_states, check_tensors
from attnlib._core.numerics import widened
from attnlib._core.values import check_finite, check_result


def dot_scores(query: Float[Tensor, "*batch n d"], key: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch n m"]:
    r"""Scores ``s_ij = q_i . k_j``, unscaled: the inverse temperature comes with the softmax.

    Takes ``[*batch, n, d]`` and ``[*batch, m, d]``, returns ``[*batch, n, m]``.

    Raises:
        ValueError: shapes that do not fit, different dtypes, non-finite entries, scores that overflow the dtype.

    Source: Luong et al. 2015, eq. (8), "dot".

    >>> dot_scores(torch.tensor([[1.0, 2.0]]), torch.eye(2))
    tensor([[1., 2.]])
    """
    check_states("query", query, "key", key)
    return _narrowed(widened(query) @ widened(key).mT, query, "query or key are")


def bilinear_scores(
    query: Float[Tensor, "*batch n d"], key: Float[Tensor, "*batch m c"], weight: Float[Tensor, "d c"]
) -> Float[Tensor, "*batch n m"]:
    r"""Scores ``s_ij = q_i . W k_j``: a learned comparison of two spaces, which may have different widths.

    Takes ``[*batch, n, d]``, ``[*batch, m, c]`` and ``[d, c]``, returns ``[*batch, n, m]``. With ``W = 1`` these are
    :func:`dot_scores`, and with ``W = A^T B`` the dot products of ``A q`` and ``B k``: the query and key maps of a transformer.

    Raises:
        ValueError: shapes that do not fit, different dtypes, non-finite entries, scores that overflow the dtype.

    Source: Luong et al. 2015, eq. (8), "general".

    >>> query, key = torch.tensor([[1.0, 2.0]]), torch.eye(3)  # widths 2 and 3
    >>> bilinear_scores(query, key, weight=torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    tensor([[1., 2., 3.]])
    """
    check_states("query", query, "key", key, one_width=False)
    _check_weight("weight", weight, (query.shape[-1], key.shape[-1]), query, query=query, key=key)
    return _narrowed(widened(query) @ widened(weight) @ widened(key).mT, query, "query, key or weight are")


def additive_scores(
    query: Float[Tensor, "*batch n d"],
    key: Float[Tensor, "*batch m c"],
    weight_query: Float[Tensor, "h d"],
    weight_key: Float[Tensor, "h c"],
    vector: Float[Tensor, "h"],
) -> Float[Tensor, "*batch n m"]:
    r"""Scores ``s_ij = v . tanh(W_q q_i + W_k k_j)``: a small network compares; no score exceeds ``|v_1| + ... + |v_h|``.

    Takes ``[*batch, n, d]``, ``[*batch, m, c]``, ``[h, d]``, ``[h, c]`` and ``[h]``, returns ``[*batch, n, m]``. Holds
    ``[*batch, n, m, h]`` numbers on the way.

    Raises:
        ValueError: shapes that do not fit, different dtypes, non-finite entries; scores, ``W_q q`` or ``W_k k`` that overflow
            the dtype.

    Source: Bahdanau et al. 2015, appendix A.1.2.

    >>> query, key, both = torch.tensor([[1.0, 2.0]]), torch.eye(2), torch.eye(2)
    >>> additive_scores(query, key, weight_query=both, weight_key=both, vector=torch.ones(2))  # never above 2
    tensor([[1.9281, 1.7566]])
    """
    check_states("query", query, "key", key, one_width=False)
    check_tensors(vector=vector)
    _check_weight("vector", vector, vector.shape if vector.ndim == 1 else ("h",), query)
    _check_weight("weight_query", weight_query, (len(vector), query.shape[-1]), query, vector=vector, query=query)
    _check_weight("weight_key", weight_key, (len(vector), key.shape[-1]), query, vector=vector, key=key)
    query_part = check_result(widened(query) @ widened(weight_query).mT, "query or weight_query are")
    key_part = check_result(widened(key) @ widened(weight_key).mT, "key or weight_key are")  # tanh would hide an infinity
    hidden = query_part[..., :, None, :] + key_part[..., None, :, :]
    return _narrowed(hidden.tanh() @ widened(vector), query, "query, key, weight_query, weight_key or vector are")


def _narrowed(scores: Tensor, query: Tensor, names: str) -> Tensor:
    """Scores in the query's dtype, which must be able to hold them."""
    return check_result(scores.to(query.dtype), names)


def _check_weight(name: str, weight: Tensor, shape: tuple[int | str, ...], like: Tensor, **others: Tensor) -> None:
    """Raise unless the weight has this shape, which follows from the others, and the dtype and device of ``like``."""
    check_tensors(**{name: weight})
    if tuple(weight.shape) != tuple(shape):
        of = "".join(f", since {other} has shape {tuple(tensor.shape)}" for other, tensor in others.items())
        raise ValueError(f"{name} has shape {tuple(weight.shape)}; expected {tuple(shape)}{of}")
    check_floating(**{"query": like, name: weight})
    check_finite(**{name: weight})
