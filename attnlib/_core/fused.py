"""Torch's fused attention: its shapes, and what it says to those who differentiate it twice."""

from torch import Tensor, compiler
from torch.nn.functional import scaled_dot_product_attention


def fused(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float | int, dropout: float | int
) -> Tensor:
    """Torch's fused attention, which wants exactly two batch axes to be fast; a mask is copied only along axes it has."""
    batch = query.shape[:-2]
    if 0 in batch:  # nothing to compute, and the kernel of torch 2.11 divides by the number of batches
        return query @ key.mT @ value
    if len(batch) < 2:
        lead = (None,) * (2 - len(batch))
        query, key, value = query[lead], key[lead], value[lead]
    elif len(batch) > 2:
        query, key, value = (t.flatten(0, len(batch) - 2) for t in (query, key, value))
    if mask is not None:
        mask = mask[(None,) * (max(2, len(batch)) + 2 - mask.ndim)]
        if len(batch) > 2:
            shared = all(size == 1 for size in mask.shape[: len(batch) - 1])
            mask = (mask if shared else mask.expand(*batch[:-1], *mask.shape[-3:])).flatten(0, len(batch) - 2)
    query, key, value = (t.view_as(t) if t.requires_grad else t for t in (query, key, value))
    out = scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=causal, scale=scale)
    if not compiler.is_compiling() and "ScaledDotProduct" in type(out.grad_fn).__name__:
        for tensor in (query, key, value):
            if tensor.requires_grad:
                tensor.register_hook(_differentiated)
    if len(batch) < 2:
        return out[(0,) * (2 - len(batch))]
    return out.unflatten(0, batch[:-1]) if len(batch) > 2 else out


def _differentiated(gradient: Tensor | None) -> None:
    """What a fused kernel gives cannot be differentiated again, and what torch says of it names no argument."""
    if gradient is not None and gradient.requires_grad:
        gradient.register_hook(_refused)


def _refused(_: Tensor | None) -> None:
    raise RuntimeError("torch's fused attention cannot be differentiated twice; expected twice_differentiable=True")
