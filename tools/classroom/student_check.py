# @title The checks. Run this cell once; there is no need to read it. { display-mode: "form" }
import json

import torch

_KNOWN = json.loads(r"""{numbers}""")


def _tensor(given):
    if not isinstance(given, dict):
        return given
    kind = getattr(torch, given["dtype"])
    return torch.tensor(given["tensor"], dtype=kind).reshape(given["shape"])


def _same(found, target):
    target = _tensor(target)
    if found.shape != target.shape:
        return False
    loose = 1e-6 if found.dtype in (torch.float64, torch.int64, torch.bool) else 3e-4
    return torch.allclose(found.detach().double(), target.double(), rtol=loose, atol=loose, equal_nan=True)


def _verdict(known, answer):
    found = []
    for call in known["calls"]:
        try:
            result = answer(*map(_tensor, call))
        except Exception as error:
            return f"not yet. It raised {type(error).__name__}: {error}"
        if result is None or result is ...:
            return "not yet. It returns nothing: replace the dots."
        if not isinstance(result, torch.Tensor):
            return f"not yet. It returns a {type(result).__name__}; a tensor was expected."
        if result.dtype in (torch.float16, torch.bfloat16):
            return f"not yet. It returns {result.dtype}, which is too coarse: return float64 or float32."
        found.append(result)
    if all(map(_same, found, known["expected"])):
        return "right on these numbers. Others are used for grading."
    for mistake in known["mistakes"]:
        if all(map(_same, found, mistake["numbers"])):
            return f"not yet. {mistake['message']}"
    for result, expected in zip(found, known["expected"]):
        if list(result.shape) != expected["shape"]:
            return f"not yet. It returns shape {list(result.shape)}; {expected['shape']} was expected."
    return "not yet. The shape is right, the numbers are not."


def check(number, answer):
    """Print whether an answer is right on a few numbers, or what probably went wrong."""
    print(f"question {number}: {_verdict(_KNOWN[number], answer)}")
