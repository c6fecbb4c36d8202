"""Whether the numbers of an accepted call are right: finite, and those of the same call in float64.

The tolerance is a few roundings of the result's dtype. Where that is not met, the call in float64 is repeated with arguments
that are perturbed by one rounding: what that does to the answer is not the function's fault.
"""

import copy
import dataclasses
import inspect
import math
from collections.abc import Callable, Iterator
from numbers import Real

import torch
from helpers.hostile import Call
from helpers.spoilers import TRUSTED
from torch import Tensor, nn

from attnlib import ConvergenceError

MAY_CHANGE = {"teach": {"model"}, "teach_labels": {"model"}, "MeanFieldAttention.stabilise": {"module"}}
"""What a function says it changes."""

RANDOM = {
    "hopfield_sample",
    "heat_bath",
    "vector_heat_bath",
    "vector_film",
    "film",
    "from_the_past",
    "ordered_sweep",
    "find_beliefs",
    "train_one",
    "compare",
}
RANDOM |= {f"Comparison.{name}" for name in ("standing", "difference", "best", "rows")}
RANDOM |= {"examine", "Examination.page", "films_under_noise", "nearby_starts"}
"""What draws other numbers in another dtype, goes on from what it has rounded, or takes differences: only finite."""

ITERATED = {"fixed_point", "lyapunov_exponent"}
"""What iterates the caller's function, which rounds in its own precision."""

EVIDENCE = {"iterations"}
"""What a solver says of its way, which is another one in another dtype."""

STATED = ("residual", "consistency")
"""What a solver says of its error: its numbers are right to some times that."""

NATURAL = {"log_sum": None, "gradient_norms": "states"}
NATURAL |= dict.fromkeys(("x", "m", "chi", "V", "residual", "consistency", "spectrum()", "spin_glass_susceptibility()"))
"""Sizes that errors are measured in: of another field, or one, for a logarithm near zero."""


def leaves(thing: object, name: str = "") -> dict[str, object]:
    """Everything in a result that can be compared, by name: tensors, numbers, sets; of records also their properties."""
    if isinstance(thing, nn.Module):
        return dict(thing.named_parameters())
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        found = {}
        for field in dataclasses.fields(thing):
            found |= leaves(getattr(thing, field.name), f"{name}.{field.name}")
        for property_name, member in inspect.getmembers(type(thing)):
            if isinstance(member, property):
                try:
                    found |= leaves(getattr(thing, property_name), f"{name}.{property_name}()")
                except ValueError as error:
                    if "; expected" not in str(error):
                        raise
        return found
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, Tensor) and name.startswith(".log_potentials") and thing.layout == torch.strided:
        return {name: torch.where(thing == -math.inf, -1e4, thing)}  # this never happens: a number that can be compared
    if isinstance(thing, list | tuple):
        found = {}
        for i, item in enumerate(thing):
            found |= leaves(item, f"{name}[{i}]")
        return found
    return {} if thing is None else {name: thing}


def inputs(call: Call) -> Iterator[Tensor]:
    """All tensors that a call gets, and the parameters of its module."""
    given = {**call.arguments, "module": call.module}
    for thing in (value for name, value in given.items() if name not in MAY_CHANGE.get(call.entry.short, ())):
        yield from (leaf for leaf in _flat(thing) if isinstance(leaf, Tensor))


def _flat(thing: object) -> Iterator[object]:
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        thing = [getattr(thing, field.name) for field in dataclasses.fields(thing)]
    if isinstance(thing, list | tuple):
        for item in thing:
            yield from _flat(item)
    else:
        yield from ([*thing.parameters(), *thing.buffers()] if isinstance(thing, nn.Module) else [thing])


def wrong_numbers(call: Call, make: Callable[[], Call], result: object, *, slopes: bool) -> str | None:
    """What is not finite in a result, or differs from what ``make`` gives in float64; with slopes, gradients too."""
    found, gradients = leaves(result), _gradients(call, result)
    if call.entry.short in TRUSTED or type(result).__name__ in TRUSTED:
        return None
    if not all(map(_finite, (*found.values(), *gradients.values()))):
        return f"returns what is not finite, {short(result)}"
    slopes = slopes and not any(map(dataclasses.is_dataclass, call.arguments.values()))  # two fields may be one tensor
    if call.entry.short in RANDOM or any(isinstance(leaf, Tensor) and leaf.is_meta for leaf in found.values()):
        return None
    found |= gradients if slopes else {}
    precision = _precision(call)
    try:
        reference = _in_double(make(), slopes)
    except ConvergenceError:
        return None
    except ValueError as error:  # a check that allows more in half precision
        return None if torch.finfo(precision).eps > 1e-4 else f"works, but in float64: {str(error)[:150]}"
    if {name for name in found if "()" not in name} != {name for name in reference if "()" not in name}:
        return f"differs from float64 in its results: {sorted(found)} and {sorted(reference)}"
    names = [name for name in found if name in reference and name.strip(".") not in EVIDENCE]
    stated = _stated(found) + _stated(reference)
    slack = {name: stated * _magnitude(reference[name]) for name in names}
    near = {name: _close(found[name], reference[name], precision, _size(name, reference), slack[name]) for name in names}
    differing = [name for name in names if not near[name]]
    if not differing:
        return None
    others = [other for seed in range(6) if (other := _perturbed(make, seed, precision, slopes)) is not None]
    for name in differing:
        moved = [other[name] for other in others if name in other]
        allowed = slack[name] + _derived(name, found, call)
        if not _close_within(found[name], reference[name], moved, precision, _size(name, reference), allowed):
            return f"differs from float64: {name} is {short(found[name])} and {short(reference[name])}"
    return None


def short(thing: object) -> str:
    return " ".join(repr(thing).split())[:160]


def _finite(leaf: object) -> bool:
    if isinstance(leaf, Tensor):
        return leaf.is_meta or leaf.layout != torch.strided or bool(torch.isfinite(leaf).all())
    return not isinstance(leaf, float) or math.isfinite(leaf)


def _size(name: str, reference: dict[str, object]) -> float:
    """What errors of a field are measured in, beside its own size."""
    field = name.strip(".").split("[")[0]
    if field not in NATURAL:
        return 0.0
    other = reference.get(f".{NATURAL[field]}")
    return 1.0 if NATURAL[field] is None else other.abs().max().item() if isinstance(other, Tensor) and other.numel() else 0.0


def _stated(result: dict[str, object]) -> float:
    """The error that a result allows itself by what it says of it, relative where numbers are above one."""
    said = [result[f".{name}"] for name in STATED if f".{name}" in result]
    return 32 * max((one.abs().max().item() for one in said if isinstance(one, Tensor) and one.numel()), default=0.0)


def _derived(name: str, found: dict[str, object], call: Call) -> float:
    """The rounding of what is computed from rounded numbers: properties of a record, iterations of the caller's function."""
    leaf, rounds = found[name], "()" in name or call.entry.short in ITERATED
    if not rounds or not isinstance(leaf, Tensor) or not leaf.is_floating_point():
        return 0.0
    return 4 * torch.finfo(leaf.dtype).eps * _magnitude(leaf)


def _magnitude(leaf: object) -> float:
    """The largest number in a leaf, and at least one."""
    if not isinstance(leaf, Tensor) or not leaf.is_floating_point() or not leaf.numel():
        return 1.0
    return max(1.0, leaf.detach().abs().max().item())


# Gradients


def _gradients(call: Call, result: object) -> dict[str, Tensor]:
    """Gradients of a weighted sum of the results with respect to the arguments that ask for one."""
    wanted = {id(tensor): tensor for value in call.arguments.values() for tensor in _flat(value) if _needs(tensor)}
    outputs = [leaf for leaf in leaves(result).values() if _needs(leaf) and leaf.numel()]
    if not wanted or not outputs or isinstance(call.arguments.get("model"), nn.Module):
        return {}
    total = sum((leaf.double() * _weighing(leaf)).sum() for leaf in outputs)
    slopes = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
    return {f"gradient {i}": slope for i, slope in enumerate(slope for slope in slopes if slope is not None)}


def _weighing(leaf: Tensor) -> Tensor:
    return torch.arange(1, leaf.numel() + 1, dtype=torch.float64, device=leaf.device).cos().reshape(leaf.shape)


def _needs(thing: object) -> bool:
    return isinstance(thing, Tensor) and thing.requires_grad and not thing.is_meta


# The same call in float64


def _precision(call: Call) -> torch.dtype:
    """The least precise dtype of a call's tensors, and of its dtype argument."""
    dtypes = [leaf.dtype for leaf in inputs(call) if leaf.is_floating_point()]
    dtypes += [value for value in call.arguments.values() if isinstance(value, torch.dtype) and value.is_floating_point]
    return max(dtypes or [torch.float32], key=lambda dtype: torch.finfo(dtype).eps)


def _in_double(call: Call, slopes: bool, perturb: Callable[[Tensor], Tensor] = lambda tensor: tensor) -> dict[str, object]:
    """The results of the same call in float64, of tensors that lie plainly in memory."""
    torch.set_default_dtype(torch.float64)
    try:
        arguments = {name: _doubled(value, perturb) for name, value in call.arguments.items()}
        double = Call(call.entry, arguments, _doubled(call.module, perturb))
        result = double()
        return leaves(result) | (_gradients(double, result) if slopes else {})
    finally:
        torch.set_default_dtype(torch.float32)


def _doubled(thing: object, perturb: Callable[[Tensor], Tensor]) -> object:
    if isinstance(thing, nn.Module):
        copied = copy.deepcopy(thing).double()
        with torch.no_grad():
            for parameter in copied.parameters():
                parameter.copy_(perturb(parameter))
        return copied
    if isinstance(thing, Tensor):
        plain = thing.detach().clone()
        plain = plain.contiguous() if plain.layout == torch.strided else plain
        return perturb(plain.double()).requires_grad_(thing.requires_grad) if thing.is_floating_point() else plain
    if isinstance(thing, torch.dtype):
        return torch.float64 if thing.is_floating_point else thing
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        changes = {field.name: _doubled(getattr(thing, field.name), perturb) for field in dataclasses.fields(thing)}
        return dataclasses.replace(thing, **changes)
    if isinstance(thing, list | tuple):
        return type(thing)(_doubled(item, perturb) for item in thing)
    return thing


def _perturbed(make: Callable[[], Call], seed: int, precision: torch.dtype, slopes: bool) -> dict[str, object] | None:
    """The results of nearly the same call."""
    generator = torch.Generator().manual_seed(seed)
    call = make()
    inside = call.module is None and not any(map(callable, call.arguments.values()))  # else half precision is computed in
    of = torch.finfo(torch.promote_types(precision, torch.float32) if inside else precision)
    eps, least = of.eps, of.smallest_normal * of.eps  # numbers below the smallest normal one are so far apart

    def shaken(tensor: Tensor) -> Tensor:
        moved = 2 * torch.rand(tensor.shape, generator=generator, dtype=torch.float64) - 1
        moved = moved.to(tensor.device)
        return torch.where(tensor == 0, tensor, tensor * (1 + eps * moved) + least * moved)

    for name, value in call.arguments.items():
        if isinstance(value, float) and not value.is_integer():
            call.arguments[name] = value * (1 + eps * (seed - 2.5))
    try:
        return _in_double(call, slopes, shaken)
    except (ValueError, ConvergenceError):
        return None


# Nearness


def _close(found: object, wanted: object, precision: torch.dtype, size: float, slack: float = 0.0) -> bool:
    numbers = [isinstance(one, Tensor) or (isinstance(one, Real) and not isinstance(one, bool)) for one in (found, wanted)]
    if not all(numbers):
        return found == wanted
    if not isinstance(found, Tensor) and not isinstance(wanted, Tensor):
        bound = slack + 32 * torch.finfo(precision).eps * size
        return math.isclose(found, wanted, rel_tol=64 * torch.finfo(precision).eps, abs_tol=bound)
    found, wanted = (one.detach() if isinstance(one, Tensor) else torch.tensor(float(one)) for one in (found, wanted))
    if found.ndim and wanted.ndim and found.shape != wanted.shape:
        return False
    if not (found.is_floating_point() or wanted.is_floating_point()):
        return torch.equal(found, wanted)
    if not found.is_floating_point() or not found.numel():
        return found.is_floating_point()
    own, inner = torch.finfo(found.dtype), torch.finfo(torch.promote_types(precision, torch.float32))
    error, sizes = (found.double() - wanted).abs(), wanted.abs()
    rounding = 0.51 * own.eps * sizes.clamp(min=size) + 4 * own.smallest_normal * own.eps + 4 * inner.smallest_normal
    return bool((error <= rounding + 32 * inner.eps * max(sizes.max().item(), size) + slack).all())


def _close_within(
    found: object, wanted: object, others: list[object], precision: torch.dtype, size: float, slack: float
) -> bool:
    """Whether the answer is as close as the answers to nearly the same arguments are."""
    if isinstance(wanted, Tensor) and wanted.is_floating_point() and wanted.numel():
        moved = [(other - wanted).abs().max().item() for other in others if other.shape == wanted.shape]
        return _close(found, wanted, precision, size, slack + 32 * max(moved, default=0.0))
    if isinstance(wanted, float):
        return _close(found, wanted, precision, size, slack + 32 * max((abs(other - wanted) for other in others), default=0.0))
    return any(not _close(other, wanted, precision, size) for other in others)
