"""Every public function has the same derivative along a direction in forward mode as in reverse: ``w . (J v) = (J^T w) . v``.

In reverse it is also the same where it can be differentiated again: a derivative of its own may be another formula there, which
a second derivative is consistent with, right or wrong.
The entry points and a call of each are those of the hostile calls (``hostile.py``).
"""

import pytest
import torch
from helpers.draw import normal
from helpers.exactness import RANDOM, leaves
from helpers.hostile import Entry, NotApplicable, World, build, entry_points
from torch import Tensor
from torch.autograd import forward_ad

pytestmark = [pytest.mark.double, pytest.mark.usefixtures("unchecked")]

DOUBLE = World(dtype=torch.float64)
TRAINS = {"teach", "teach_labels"}
WITHOUT = {"links", "classical_recall", "dense_recall", "descend", "find_fixed_points", "splitting_beta", "fixed_point"}
WITHOUT |= {"spectral_radius", "with_derivatives", "lyapunov_exponent", "nearby_starts", "norm_readings"}
WITHOUT |= {"thermometer", "value_kinds"}
"""What comes back has no derivative: signs, links, a search; or does not depend on tensors given, but on a function's own."""


def changeable(entry: Entry) -> dict[str, Tensor]:
    """The arguments of a call that have derivatives."""
    if entry.short in RANDOM | TRAINS:
        return {}
    try:
        arguments = build(entry, DOUBLE).arguments
    except NotApplicable:
        return {}
    return {name: x.detach() for name, x in arguments.items() if isinstance(x, Tensor) and x.is_floating_point()}


def direction(name: str, value: Tensor) -> Tensor:
    """Random numbers; couplings stay symmetric, and no spin gets one to itself."""
    drawn = normal(*value.shape, seed=sum(map(ord, name)))
    return drawn if name != "J" else (drawn + drawn.mT) * (1 - torch.eye(value.shape[-1], dtype=drawn.dtype))


def results(entry: Entry, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """All numbers that the call returns with these arguments in place of its own."""
    call = build(entry, DOUBLE)
    call.arguments |= given
    return {name: x for name, x in leaves(call()).items() if isinstance(x, Tensor) and x.is_floating_point()}


ENTRIES = [entry for entry in entry_points() if entry.name != "attention.Mixer.forward"]


def test_there_are_many():
    assert len([entry for entry in ENTRIES if changeable(entry)]) > 40


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
@pytest.mark.sweep(1 / 2)
def test_forward_and_reverse_agree(entry):
    point = changeable(entry)
    if not point:
        return  # nothing of what it takes has a derivative
    along = {name: direction(name, x) for name, x in point.items()}
    leaf = {name: x.clone().requires_grad_() for name, x in point.items()}
    found = {name: x for name, x in results(entry, leaf).items() if x.requires_grad}
    assert bool(found) != (entry.short in WITHOUT)
    if not found:
        return
    weights = {name: normal(*x.shape, seed=len(name)) for name, x in found.items()}
    score = sum((x * weights[name]).sum() for name, x in found.items())
    back = torch.autograd.grad(score, tuple(leaf.values()), allow_unused=True, retain_graph=True)
    again = torch.autograd.grad(score, tuple(leaf.values()), allow_unused=True, create_graph=True)
    for once, twice in zip(back, again, strict=True):
        assert (once is None) == (twice is None)
        if once is not None:
            torch.testing.assert_close(once, twice.detach(), rtol=1e-8, atol=1e-10)
    reverse = sum((slope * along[name]).sum() for name, slope in zip(leaf, back, strict=True) if slope is not None)
    with forward_ad.dual_level():
        moving = results(entry, {name: forward_ad.make_dual(x, along[name]) for name, x in point.items()})
        slopes = {name: forward_ad.unpack_dual(moving[name]).tangent for name in found}
        forward = sum((slope * weights[name]).sum() for name, slope in slopes.items() if slope is not None)
    torch.testing.assert_close(torch.as_tensor(forward, dtype=torch.float64), reverse.detach(), rtol=1e-6, atol=1e-8)
