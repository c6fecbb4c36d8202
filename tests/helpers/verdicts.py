"""What is to come of a hostile call: a right, finite answer, or a ValueError that names the argument and what was expected."""

import dataclasses
import faulthandler
import inspect
import re
import signal
import typing
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from helpers.exactness import inputs, leaves, short, wrong_numbers
from helpers.hostile import Call, Entry, NotApplicable, World, annotation_of, array_kind, is_array, options, value_of
from helpers.spoilers import ACCEPT, REFUSE, SAME
from torch import Tensor, nn

from attnlib import ConvergenceError, ConvergenceWarning, Mixer

TOO_LONG = 60
"""Seconds that no call takes unless it hangs."""


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One hostile call: ``make`` builds it anew each time, ``twin`` builds one that must give the same."""

    entry: Entry
    label: str
    names: tuple[str, ...]
    expect: str
    make: Callable[[], Call]
    twin: Callable[[], Call] | None = None


class Hang(Exception):
    """A call that took too long."""


@contextmanager
def bounded(seconds: int) -> Iterator[None]:
    """Raise in a call that does not end; where it does not even listen, print the stack and end the process."""

    def stop(*_: object) -> None:
        raise Hang(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    faulthandler.dump_traceback_later(3 * seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# What a call gets


def photograph(call: Call) -> list[tuple[Tensor, Tensor, bool, object]]:
    return [(tensor, tensor.detach().clone(), tensor.requires_grad, tensor.grad_fn) for tensor in inputs(call)]


def touched(before: list[tuple[Tensor, Tensor, bool, object]]) -> str | None:
    """What a call did to what it got."""
    for tensor, copied, needed, made_by in before:
        if tensor.requires_grad != needed or tensor.grad_fn is not made_by:
            return "changed requires_grad of an argument"
        if tensor.is_leaf and tensor.grad is not None:
            return "left a gradient in an argument"
        if not tensor.is_meta and not _same_bits(tensor.detach(), copied):
            return "changed an argument"
    return None


def _same_bits(a: Tensor, b: Tensor) -> bool:
    if a.layout != torch.strided or not a.numel():
        return True
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == torch.float8_e4m3fn:
        a, b = a.view(torch.uint8), b.view(torch.uint8)
    return bool(((a == b) | (a != a)).all())


# Verdict


def judge(attempt: Attempt) -> str | None:
    """None, or what is wrong with what came of the attempt."""
    documented = (ValueError, *((NotImplementedError,) if _abstract(attempt.entry) else ()))
    documented += (ConvergenceError,) if _solves(attempt.entry) else ()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            call = attempt.make()
        except NotApplicable:
            return None
        except ValueError as error:  # a record that refuses its fields
            return refusal(error, attempt)
        before, result, fault = photograph(call), None, None
        said.clear()
        try:
            result = call()
        except documented as error:
            fault = refusal(error, attempt)
            return fault or touched(before) or _warned(said)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error) else ''}"
        fault = touched(before) or _warned(said)
    if isinstance(result, nn.Module):
        return fault or _wrong_module(call, result, attempt)
    if attempt.expect == REFUSE:
        return fault or f"accepted, with {short(result)}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fault or wrong_types(call, result) or _wrong_numbers(attempt, call, result)


def _solves(entry: Entry) -> bool:
    """Whether it is a solver, or a method of a module that was made as one."""
    made = Entry("made", entry.owner) if inspect.isclass(entry.owner) and issubclass(entry.owner, nn.Module) else entry
    return "on_failure" in entry.parameters or "on_failure" in made.parameters


def _wrong_numbers(attempt: Attempt, call: Call, result: object) -> str | None:
    slopes = attempt.expect == ACCEPT
    fault = wrong_numbers(call, attempt.twin or attempt.make, result, slopes=slopes)
    if fault and attempt.twin and ("results" in fault or "but in float64" in fault):
        # a result that holds its argument, or two spoiled at once: words that are all padding have a mask of their own
        return wrong_numbers(call, attempt.make, result, slopes=slopes)
    return fault


def _twin_works(attempt: Attempt) -> bool:
    try:
        attempt.twin()()
    except ValueError:
        return False
    return True


def _abstract(entry: Entry) -> bool:
    """Whether it is a call of the mixer that has no mix of its own."""
    return getattr(entry.owner, "mix", None) is Mixer.mix and entry.short.endswith(("mix", "forward"))


def _warned(said: list[warnings.WarningMessage]) -> str | None:
    torchs = "`torch.jit.script` is deprecated"  # said by torch's own forward derivatives, once a process
    others = [w for w in said if not issubclass(w.category, ConvergenceWarning) and not str(w.message).startswith(torchs)]
    return f"warns: {str(others[0].message)[:150]}" if others else None


def refusal(error: Exception, attempt: Attempt) -> str | None:
    """What is wrong with an error that is documented."""
    text = str(error)
    if not isinstance(error, ValueError):
        return None
    if attempt.expect == SAME and _twin_works(attempt):
        return f"refused, while what it stands for is accepted: {text[:200]}"
    if attempt.expect == ACCEPT:
        return f"refused: {text[:200]}"
    if "; expected" not in text:
        return f"does not say what was expected: {text[:200]}"
    fields = [field.name for name in attempt.names for field in _fields(attempt.entry, name)]
    if attempt.names and not any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) for name in (*attempt.names, *fields)):
        return f"does not name {' or '.join(attempt.names)}: {text[:200]}"
    return None


def _fields(entry: Entry, name: str) -> tuple[dataclasses.Field, ...]:
    members = options(entry.parameters[name].annotation) if name in entry.parameters else ()
    records = [member for member in members if dataclasses.is_dataclass(member)]
    return dataclasses.fields(records[0]) if records else ()


def _wrong_module(call: Call, made: nn.Module, attempt: Attempt) -> str | None:
    """What is wrong with a module after a call of it: its forward works, or says what was wrong with the constructor."""
    if not type(made).__module__.startswith("attnlib") or _abstract(Entry("mix", type(made), type(made))):
        return None  # nothing to call
    forward = Entry(f"{attempt.entry.name}.forward", type(made).forward, type(made))
    given = call.arguments.get("dtype")
    dtype = given if isinstance(given, torch.dtype) else next(made.parameters(), torch.zeros(())).dtype

    def probe() -> Call:
        return Call(forward, _fitting(forward, made, dtype), made)

    if attempt.expect != REFUSE:
        expect = ACCEPT if attempt.expect == SAME else attempt.expect
        return judge(Attempt(forward, attempt.label, (*attempt.names, "x", "context"), expect, probe))
    try:
        probe()()
    except ValueError as error:
        return refusal(error, attempt)
    return "accepted, and works"


def _fitting(forward: Entry, made: nn.Module, dtype: torch.dtype) -> dict[str, object]:
    """Arguments of forward for this very module."""
    arguments: dict[str, object] = {}
    for name, parameter in forward.parameters.items():
        wider = name == "context" and getattr(made, "context_dim", 0) != getattr(made, "dim", 0)
        if parameter.default is parameter.empty or wider:
            value = value_of(forward, name, World(dtype=dtype), arguments, made)
            places = next(made.parameters(), None)
            arguments[name] = value if places is None or not isinstance(value, Tensor) else value.to(places.device)
    return arguments


# Types and shapes of what was accepted, as the annotations say


def wrong_types(call: Call, result: object) -> str | None:
    """What in an accepted call, or in its result, contradicts the annotations."""
    sizes: dict[str, object] = {}
    for name, value in call.arguments.items():
        members = options(annotation_of(call.entry, name))
        array = next((member for member in members if is_array(member)), None)
        if isinstance(value, Tensor) and array is not None:
            fault = _contradicts(array, value, sizes)
            if fault:
                return f"accepted {name}, which {fault}"
        elif array is not None and value is not None and float not in members:
            return f"accepted {name}, a {type(value).__name__}, {short(result)}"
    places = {tensor.device for tensor in inputs(call) if tensor.ndim or tensor.device.type != "cpu"}
    if len(places) > 1:
        return f"accepted tensors on {places}"
    return _wrong_result(call.entry.signature.return_annotation, result, sizes) or _wrong_dtype(call, result)


def _wrong_result(annotation: object, result: object, sizes: dict[str, object]) -> str | None:
    if is_array(annotation):
        fault = "is no tensor" if not isinstance(result, Tensor) else _contradicts(annotation, result, sizes)
        return f"returns what {fault}" if fault else None
    if typing.get_origin(annotation) is tuple and isinstance(result, tuple):
        pairs = zip(typing.get_args(annotation), result, strict=False)
        return next((fault for one, item in pairs if (fault := _wrong_result(one, item, sizes))), None)
    if dataclasses.is_dataclass(annotation) and isinstance(result, annotation):
        for field in dataclasses.fields(annotation):
            value = getattr(result, field.name)
            array = next((member for member in options(field.type) if is_array(member)), None)
            if array is not None and isinstance(value, Tensor) and (fault := _contradicts(array, value, sizes)):
                return f"returns {field.name}, which {fault}"
    return None


def _contradicts(annotation: object, tensor: Tensor, sizes: dict[str, object]) -> str | None:
    """How a tensor contradicts a jaxtyping annotation, with the sizes of axes bound so far."""
    kind = array_kind(annotation)
    whole = not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype != torch.bool
    if not {
        "floats": tensor.is_floating_point(),
        "bools": tensor.dtype == torch.bool,
        "ints": whole,
        "complex": tensor.is_complex(),
    }[kind]:
        return f"is {tensor.dtype} where {annotation.__name__} is expected"
    tokens, shape = annotation.dim_str.split(), tuple(tensor.shape)
    free = [i for i, token in enumerate(tokens) if token == "..." or token.startswith("*")]
    spare = len(shape) - (len(tokens) - len(free))
    if spare < 0 or (spare and not free):
        return f"has shape {shape} where {annotation.__name__} is expected"
    parts, at = [], 0
    for i, token in enumerate(tokens):
        size = spare if i in free else 1
        parts.append((token, shape[at : at + size]))
        at += size
    for token, part in parts:
        if token == "..." or "#" in token or "{" in token or not token.strip("*").isidentifier():
            continue
        if sizes.setdefault(token, part) != part:
            return f"has shape {shape} where {annotation.__name__} is expected and {token} is {sizes[token]}"
    return None


def _wrong_dtype(call: Call, result: object) -> str | None:
    """Nothing is cast silently: results have the dtype of the arguments, or single precision where these have half."""
    named = {
        name: value.dtype
        for name, value in call.arguments.items()
        if isinstance(value, Tensor) and value.is_floating_point() and name != "beta"
    }
    if len(set(named.values())) > 1:
        return f"accepted different dtypes: {named}"
    for leaf in leaves(result).values():
        if named and isinstance(leaf, Tensor) and leaf.is_floating_point():
            dtype = next(iter(named.values()))
            if leaf.dtype not in (dtype, torch.promote_types(dtype, torch.float32)):
                return f"returns {leaf.dtype} for {dtype}"
    return None
