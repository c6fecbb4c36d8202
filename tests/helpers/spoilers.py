"""What can be wrong, or unusual, with an argument: a table of spoilers by kind of argument, and changes of a whole call.

Each spoiler says what is to come of it: the call must ``refuse`` it, must ``accept`` it, ``either``, where a right answer
and a refusal are both in order, or the ``same`` as of the thing it stands for, such as a number instead of numpy's.
"""

import math
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import torch
from helpers.hostile import Entry, World, annotation_of, build, kinds, optional, options, strided
from torch import Tensor, nn

ACCEPT, REFUSE, EITHER, SAME = "accept", "refuse", "either", "same"
HALF, SINGLE, DOUBLE = (torch.float16, torch.bfloat16), torch.float32, torch.float64
FLOATS = (*HALF, SINGLE, DOUBLE)
INF, NAN = math.inf, math.nan


@dataclass(frozen=True)
class Spoiler:
    """A change of one argument. ``twin`` is what must give the same answer, by default the changed argument itself."""

    label: str
    expect: str
    make: Callable[[object], object]
    twin: Callable[[object], object] | None = None


def given(value: object, expect: str, label: str | None = None, twin: object = None) -> Spoiler:
    """A spoiler that puts a value in the place of whatever was there."""
    return Spoiler(label or repr(value)[:40], expect, lambda _: value, None if twin is None else lambda _: twin)


# Tensors


def _set(value: float, *, everywhere: bool = False) -> Callable[[Tensor], Tensor]:
    def change(tensor: Tensor) -> Tensor:
        changed = tensor.clone(memory_format=torch.contiguous_format)
        changed.view(-1)[slice(None) if everywhere else slice(-1, None)] = value
        return changed

    return change


def _inference(tensor: Tensor) -> Tensor:
    with torch.inference_mode():
        return tensor.clone()


def _mixed(tensor: Tensor) -> Tensor:
    """Rows of very different sizes."""
    scales = torch.tensor([1e-30, 1.0, 1e10, 1e18], dtype=DOUBLE)
    rows = tensor.shape[-1] if tensor.ndim == 1 else tensor.shape[-2] if tensor.ndim else 1
    column = scales.repeat(rows)[:rows]
    return (tensor.double() * (column if tensor.ndim <= 1 else column[:, None])).to(tensor.dtype)


def _without(axis: int) -> Callable[[Tensor], Tensor]:
    return lambda tensor: tensor[(slice(None),) * axis + (slice(0, 0),)] if tensor.ndim > axis else tensor[None][:0]


SHAPES = [
    Spoiler("no axes", EITHER, lambda t: t.reshape(-1)[0] if t.numel() else t.sum()),
    Spoiler("an axis more", EITHER, lambda t: t[None]),
    Spoiler("an axis more, of two", EITHER, lambda t: torch.stack([t, t])),
    Spoiler("an axis more at the end", EITHER, lambda t: t[..., None]),
    Spoiler("first axis missing", EITHER, lambda t: t[0] if t.ndim else t),
    Spoiler("last axis missing", EITHER, lambda t: t[..., 0] if t.ndim else t),
    Spoiler("first axis shorter", EITHER, lambda t: t[1:] if t.ndim else t),
    Spoiler("first axis of one", EITHER, lambda t: t[:1] if t.ndim else t),
    Spoiler("first axis longer", EITHER, lambda t: torch.cat([t, t[:1]]) if t.ndim else t),
    Spoiler("last axis shorter", EITHER, lambda t: t[..., 1:] if t.ndim else t),
    Spoiler("last axis of one", EITHER, lambda t: t[..., :1] if t.ndim else t),
    Spoiler("last axis longer", EITHER, lambda t: torch.cat([t, t[..., :1]], -1) if t.ndim else t),
    Spoiler("middle axis longer", EITHER, lambda t: torch.cat([t, t[..., :1, :]], -2) if t.ndim > 1 else t),
    Spoiler("two axes swapped", EITHER, lambda t: t.transpose(0, -1) if t.ndim else t),
    Spoiler("first axis empty", EITHER, _without(0)),
    Spoiler("second axis empty", EITHER, _without(1)),
    Spoiler("last axis empty", EITHER, lambda t: t[..., :0] if t.ndim else t),
]
LAYOUTS = [
    Spoiler("gaps in memory", ACCEPT, strided),
    Spoiler("not at the start of its storage", ACCEPT, lambda t: torch.stack([t, t])[1]),
    Spoiler("expanded", EITHER, lambda t: t[:1].expand_as(t) if t.ndim else t.expand(1)[0]),
    Spoiler("inference tensor", ACCEPT, _inference),
    Spoiler("sparse", REFUSE, lambda t: t.to_sparse() if t.ndim else None),
    Spoiler("on meta", EITHER, lambda t: t.to("meta")),
]
NO_TENSORS = [
    given(None, REFUSE),
    given(object(), REFUSE, "an object"),
    given("abc", REFUSE),
    given(1.5, REFUSE),
    given(True, REFUSE),
    given(np.float32(1.5), REFUSE),
    Spoiler("a list", REFUSE, lambda t: t.tolist()),
    Spoiler("a tuple of tensors", REFUSE, lambda t: (t,)),
    Spoiler("a numpy array", REFUSE, lambda t: t.detach().float().numpy() if t.is_floating_point() else t.numpy()),
]
FLOAT_VALUES = [
    Spoiler("a NaN", REFUSE, _set(NAN)),
    Spoiler("infinity", REFUSE, _set(INF)),
    Spoiler("minus infinity", REFUSE, _set(-INF)),
    Spoiler("all NaN", REFUSE, _set(NAN, everywhere=True)),
    Spoiler("all minus infinity", REFUSE, _set(-INF, everywhere=True)),
    Spoiler("zeros", EITHER, torch.zeros_like),
    Spoiler("equal numbers", EITHER, torch.ones_like),
    Spoiler("negative", EITHER, lambda t: -t),
    *(Spoiler(f"times {scale:g}", EITHER, lambda t, s=scale: t * s) for scale in (1e-30, 30, 1e4, 1e10, 1e19, 1e30, 1e38)),
    Spoiler("one of 1e38", EITHER, _set(1e38)),
    Spoiler("rows of mixed sizes", EITHER, _mixed),
]
FLOAT_KINDS = [
    *SHAPES,
    *LAYOUTS,
    *NO_TENSORS,
    *(Spoiler(str(dtype), EITHER, lambda t, d=dtype: t.to(d)) for dtype in (*HALF, DOUBLE)),
    *(
        Spoiler(str(dtype), REFUSE, lambda t, d=dtype: t.to(d))
        for dtype in (torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn)
    ),
    Spoiler("requires a gradient", ACCEPT, lambda t: t.clone().requires_grad_()),
    Spoiler("a parameter", ACCEPT, nn.Parameter),
]
FLOAT_TENSORS = [*FLOAT_KINDS, *FLOAT_VALUES]
INT_TENSORS = [
    *SHAPES,
    *LAYOUTS,
    *NO_TENSORS,
    *(Spoiler(f"one is {n}", EITHER, _set(n)) for n in (-1, 0, 1, 5, 100, 2**62, -(2**63))),
    Spoiler("all zero", EITHER, torch.zeros_like),
    *(
        Spoiler(str(d), EITHER, lambda t, d=d: t.to(d))
        for d in (torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16)
    ),
    *(Spoiler(str(d), REFUSE, lambda t, d=d: t.to(d)) for d in (torch.float32, torch.float16, torch.bool, torch.complex64)),
]


def _some(mask: Tensor) -> Tensor:
    """About half of a mask, with something in each row."""
    drawn = torch.rand(mask.shape, generator=torch.Generator().manual_seed(5)) < 0.5
    drawn[..., 0] = True
    return drawn


def _hole(mask: Tensor) -> Tensor:
    holed = mask.clone()
    holed.view(-1, mask.shape[-1])[0] = False
    return holed


MASKS = [
    *SHAPES,
    *LAYOUTS,
    *(spoiler for spoiler in NO_TENSORS if spoiler.label != "None"),
    Spoiler("all True", ACCEPT, torch.ones_like, lambda t: None),
    Spoiler("half", EITHER, _some),
    Spoiler("an empty row", REFUSE, _hole),
    Spoiler("all False", REFUSE, torch.zeros_like),
    Spoiler("one row for all", EITHER, lambda t: _some(t).reshape(-1, t.shape[-1])[0]),
    Spoiler("one row for all, all axes", EITHER, lambda t: _some(t)[(slice(0, 1),) * (t.ndim - 1)]),
    Spoiler("one batch for all", EITHER, lambda t: _some(t[0]) if t.ndim > 1 else t),
    Spoiler("one column for all", EITHER, lambda t: t[..., :1]),
    Spoiler("a single True", EITHER, lambda t: torch.tensor(True)),
    Spoiler("a single False", REFUSE, lambda t: torch.tensor(False)),
    Spoiler("per head", EITHER, lambda t: torch.stack([_some(t), t], -3) if t.ndim > 2 else t),
    Spoiler("one for all heads", EITHER, lambda t: _some(t).unsqueeze(-3) if t.ndim > 2 else t),
    *(
        Spoiler(str(d), REFUSE, lambda t, d=d: t.to(d))
        for d in (*FLOATS, torch.int64, torch.uint8, torch.int8, torch.complex64)
    ),
]

# Numbers

NO_NUMBERS = [
    given(None, REFUSE),
    given(object(), REFUSE, "an object"),
    given("0.5", REFUSE),
    given("inf", REFUSE),
    given([0.5], REFUSE),
    given(True, REFUSE),
    given(np.bool_(True), REFUSE),
    given(1 + 0j, REFUSE),
    given(1j, REFUSE),
    given(np.array(0.5), REFUSE, "numpy array without axes"),
    given(np.array([0.5]), REFUSE, "numpy array"),
    given(Decimal("0.5"), REFUSE),
]
NUMBERS = [
    *NO_NUMBERS,
    given(NAN, REFUSE),
    given(-INF, REFUSE),
    given(np.float64(NAN), REFUSE, "numpy NaN"),
    *(
        given(n, EITHER)
        for n in (0, 0.0, -0.0, -1, -0.5, 1, 2, 0.3, INF, 1e-300, 1e-45, 1e-30, 1e-7, 40, 1e4, 1e10, 1e20, 1e38)
    ),
    *(given(n, EITHER) for n in (1e300, -1e300, 5e-324, 1.7e308)),
    given(10**400, EITHER, "10**400"),
    given(2**70, EITHER, "2**70"),
    *(given(kind(0.5), SAME, f"{kind.__name__}(0.5)", 0.5) for kind in (np.float16, np.float32, np.float64)),
    *(given(kind(2), SAME, f"{kind.__name__}(2)", 2) for kind in (np.int32, np.int64, np.uint8)),
    given(np.float32(1e-30), EITHER, "float32(1e-30)"),
    given(Fraction(1, 2), SAME, "Fraction(1, 2)", 0.5),
    given(torch.tensor(0.5), EITHER, "a tensor", 0.5),
    given(torch.tensor(NAN), REFUSE, "a tensor of NaN"),
]
COUNTS = [
    *(spoiler for spoiler in NO_NUMBERS if spoiler.label != "None"),
    *(given(n, REFUSE) for n in (2.0, 2.5, "3", NAN, INF, -INF, [3], np.float64(2.0))),
    *(given(n, EITHER) for n in (-1, -(2**70), 0, 1, 2, 3, 4, 7)),
    *(given(kind(2), SAME, f"{kind.__name__}(2)", 2) for kind in (np.int64, np.int32, np.uint8)),
    given(torch.tensor(2), EITHER, "a tensor", 2),
    given(torch.tensor(2.0), REFUSE, "a float tensor"),
    given(torch.tensor(True), EITHER, "a bool tensor"),
]
LARGE = [given(10**9, EITHER), given(2**70, EITHER, "2**70"), given(10**400, EITHER, "10**400")]
ALLOCATES_NOTHING = {
    ("freezing_scale", "m"),
    ("freezing_width", "m"),
    ("random_energy", "m"),
    ("flips", None),
    ("degree", None),
    ("probes", None),
    *((name, "max_steps") for name in ("find_fixed_points", "classical_recall", "dense_recall", "storage_trial")),
    ("seed", None),
    ("top_k", None),
}
"""Counts that may be huge: what is not here would take all memory or all day."""


def betas(shape: tuple[int, ...]) -> list[Spoiler]:
    """Inverse temperatures as tensors; shape is that of the distributions, ``[*batch]`` or ``[*batch, n]``."""

    def full(value: float, shape: tuple[int, ...], dtype: torch.dtype = SINGLE) -> Tensor:
        return torch.full(shape, value, dtype=dtype)

    def drawn() -> Tensor:
        return torch.linspace(0.2, 3.0, max(1, math.prod(shape))).reshape(shape)

    shapes = {(), (1,), shape, shape[-1:], (1, *shape), shape[1:], (*shape, 1), (*shape, 5), (5,), (3,), (2,), (3, 1), (0,)}
    shapes |= {(2, 3, 4), (2, 1), (1,) * len(shape), (2, 3, 5), (4,)}
    return [
        *(given(full(0.4, one), EITHER, f"constant tensor {list(one)}", 0.4) for one in sorted(shapes)),
        given(drawn(), EITHER, "one for each distribution"),
        *(given(full(0.4, (), d), EITHER, f"{d} without axes", float(full(0.4, (), d))) for d in FLOATS),
        *(given(full(0.4, shape, d), EITHER, f"{d} {list(shape)}", float(full(0.4, (), d))) for d in FLOATS),
        *(given(full(2, one, d), EITHER, f"{d} {list(one)}", 2) for d in (torch.int64, torch.uint8) for one in ((), shape)),
        *(given(full(1, one, d), REFUSE, f"{d} {list(one)}") for d in (torch.bool, torch.complex64) for one in ((), shape)),
        given(full(0.4, (), torch.float8_e4m3fn), REFUSE, "float8"),
        *(given(full(x, one), REFUSE, f"{x} {list(one)}") for x in (NAN, INF, -INF, -1.0) for one in ((), shape)),
        *(given(full(x, one), EITHER, f"{x} {list(one)}") for x in (0, 1e-45, 1e-30, 1e10, 1e20, 1e38) for one in ((), shape)),
        *(given(full(x, ()), EITHER, f"{x} []", x) for x in (2.0**-100, 2.0**70, 2.0**120)),
        *(given(full(x, (), DOUBLE), EITHER, f"double {x}") for x in (1e-300, 1e300)),
        Spoiler("requires a gradient, no axes", EITHER, lambda _: full(0.4, ()).requires_grad_()),
        Spoiler("requires a gradient", EITHER, lambda _: drawn().requires_grad_()),
        Spoiler("a parameter", EITHER, lambda _: nn.Parameter(drawn())),
        given(full(0.4, ()).to("meta"), REFUSE, "on meta, no axes"),
        given(full(0.4, shape).to("meta"), REFUSE if shape else EITHER, "on meta"),
        Spoiler("inference tensor", EITHER, lambda _: _inference(drawn())),
        given(full(0.4, shape[:1]).expand(shape[:1]), EITHER, "expanded"),
        Spoiler("sparse", REFUSE, lambda _: drawn().to_sparse() if shape else None),
    ]


# Other arguments


def choices(allowed: tuple[object, ...]) -> list[Spoiler]:
    first = allowed[0]
    wrong = ["nonsense", "", f"{first} ", str(first).upper(), 0, True, object(), [], b"error", (first,), np.array([1, 2]), NAN]
    wrong += [np.str_("nonsense"), torch.tensor([1, 2])]
    return [
        *(given(choice, EITHER) for choice in allowed),
        *(given(value, REFUSE) for value in wrong if not any(type(value) is type(one) and value == one for one in allowed)),
        given(None, REFUSE),
    ]


FLAGS = [
    given(True, EITHER),
    given(False, EITHER),
    *(given(value, REFUSE) for value in (0, 1, "yes", 1.0, object(), [], np.bool_(True), torch.tensor(True), "")),
    given(None, REFUSE),
]
TEXTS = [given("a name", EITHER), *(given(value, REFUSE) for value in (3, True, object(), [], b"x", None))]
GENERATORS = [
    *(given(value, REFUSE) for value in (0, 1.5, "0", True, object(), [], torch.tensor(1))),
    Spoiler("numpy's", REFUSE, lambda _: np.random.default_rng(0)),
    Spoiler("the class", REFUSE, lambda _: torch.Generator),
    Spoiler("another", ACCEPT, lambda _: torch.Generator().manual_seed(2**40)),
]
DEVICES = [
    given("cpu", ACCEPT),
    given(torch.device("cpu"), ACCEPT),
    given("meta", EITHER),
    *(given(value, REFUSE) for value in ("nonsense", "", "cpu:x", 1.5, True, object(), [], torch.float32, "CPU", "cuda:99")),
    given(-1, REFUSE),
    given("cpu:7", EITHER),
]
DTYPES = [
    *(given(dtype, ACCEPT) for dtype in FLOATS),
    *(
        given(value, REFUSE)
        for value in (
            torch.int64,
            torch.bool,
            torch.complex64,
            torch.uint8,
            torch.float8_e4m3fn,
            "float32",
            float,
            int,
            3,
            True,
        )
    ),
    *(given(value, REFUSE) for value in (object(), [], np.float32, np.dtype("float32"), torch.FloatTensor, torch.tensor(1.0))),
]
CALLABLES = [given(value, REFUSE) for value in (3, True, "sin", object(), [], torch.ones(2), (math.sin,))]
SEQUENCES = [given(value, REFUSE) for value in (3, True, 1.5, object(), torch.ones(()), math.sin, None)]
SEQUENCES += [
    given([], EITHER),
    given((), EITHER),
    *(given([value], REFUSE) for value in (None, 3, object(), True, [3], (1,), {3: 4}, [None, None], {"x": 1})),
    given(["abc"], EITHER),
    given("abc", EITHER),
    given(b"abc", REFUSE),
    given({}, EITHER),
    given(torch.ones(3), EITHER),
    Spoiler("a tuple", EITHER, tuple),
    Spoiler("twice as long", EITHER, lambda value: [*value, *value]),
    Spoiler("then None", REFUSE, lambda value: [*value, None]),
    Spoiler("then an object", REFUSE, lambda value: [*value, object()]),
]
RECORDS = [given(value, REFUSE) for value in (None, 3, True, "abc", object(), [], torch.ones(2), (torch.ones(2),), {})]
RECORDS += [Spoiler("the class", REFUSE, type), Spoiler("in a list", REFUSE, lambda value: [value])]
BY_KIND = {"floats": FLOAT_TENSORS, "ints": INT_TENSORS, "bools": MASKS, "number": NUMBERS, "scalar": NUMBERS, "count": COUNTS}
BY_KIND |= {"flag": FLAGS, "text": TEXTS, "generator": GENERATORS, "device": DEVICES, "dtype": DTYPES, "callable": CALLABLES}
BY_KIND |= {"sequence": SEQUENCES, "record": RECORDS, "module": RECORDS}

# What only some arguments can be: by name, or by function.argument


def _attention(**settings: object) -> Spoiler:
    return Spoiler(f"torch's with {settings}", EITHER, lambda _: nn.MultiheadAttention(8, 2, **settings))


def _energies() -> list[Spoiler]:
    def shouted(state: Tensor, *_: object, **__: object) -> Tensor:
        return state.square().sum(-1)

    bad = {
        "a number": lambda s, *_, **__: 1.0,
        "None": lambda s, *_, **__: None,
        "the state": lambda s, *_, **__: s,
        "one energy for all": lambda s, *_, **__: s.sum(),
        "zeros": lambda s, *_, **__: s.new_zeros(s.shape[:-1]),
        "detached": lambda s, *_, **__: s.detach().sum(-1),
        "a pair": lambda s, *_, **__: (s.sum(-1), s.sum(-1)),
        "NaN": lambda s, *_, **__: s.sum(-1) * NAN,
        "infinite": lambda s, *_, **__: s.sum(-1) * INF,
        "a NaN gradient": lambda s, *_, **__: (s - s).norm(dim=-1).sqrt(),
        "whole numbers": lambda s, *_, **__: s.sum(-1).long(),
        "complex": lambda s, *_, **__: s.sum(-1) + 1j,
        "huge": lambda s, *_, **__: 1e38 * s.square().sum(-1),
    }
    good = {
        "constant in the state": lambda s, *_, **__: 0 * s.sum(-1),
        "a sum": lambda s, *_, **__: s.sum(-1),
        "square": shouted,
    }
    good["doubled"] = lambda s, *_, **__: s.double().sum(-1)
    return [
        *(
            given(energy, REFUSE if label != "huge" else EITHER, f"an energy that returns {label}")
            for label, energy in bad.items()
        ),
        *(given(energy, EITHER, f"an energy: {label}") for label, energy in good.items()),
    ]


def _placing() -> list[Spoiler]:
    bad = {
        "None": lambda q, k: None,
        "one tensor": lambda q, k: q,
        "three": lambda q, k: (q, k, k),
        "pairs of None": lambda q, k: (None, None),
        "shorter queries": lambda q, k: (q[..., 1:], k),
        "fewer keys": lambda q, k: (q, k[..., 1:, :]),
        "NaN": lambda q, k: (q * NAN, k),
        "whole numbers": lambda q, k: (q.long(), k.long()),
    }
    return [
        *(given(places, REFUSE, f"places that return {label}") for label, places in bad.items()),
        given(lambda q, k: (q, k), EITHER, "no places"),
        given(lambda q, k: [2 * q, k], EITHER, "a list"),
        given(lambda q, k: (q.double(), k.double()), EITHER, "double precision"),
    ]


def _lessons() -> list[Spoiler]:
    whole = torch.tensor([[5, 4, 2]])

    def lesson(**changes: object) -> Callable[[], list[object]]:
        from types import SimpleNamespace

        fields = {"source": whole, "mask": whole != 0, "given": whole, "wanted": whole} | changes
        return lambda: [SimpleNamespace(**{name: value for name, value in fields.items() if value is not None})]

    bad = {
        "nothing": list,
        "None": lambda: None,
        "a number": lambda: 3,
        "numbers": lambda: [1, 2],
        "strings": lambda: "abc",
        "no source": lesson(source=None),
        "no wanted words": lesson(wanted=None),
        "wanted words of another shape": lesson(wanted=whole[:, 1:]),
        "wanted words as floats": lesson(wanted=whole.float()),
        "wanted words out of range": lesson(wanted=whole * 100),
        "negative wanted words": lesson(wanted=-whole),
        "only padding wanted": lesson(wanted=0 * whole),
        "a source out of range": lesson(source=whole * 100),
        "a list": lesson(source=whole.tolist()),
    }
    return [given(batches, REFUSE, f"batches: {label}") for label, batches in bad.items()]


def _links() -> list[Spoiler]:
    link = frozenset({(0, 0)})
    bad = [[{1, 2}], [frozenset({(1, 2, 3)})], [frozenset({"ab"})], [frozenset({(0.5, 0)})], [[(0, 0)]], [(0, 0)], [link, None]]
    return [
        *(given(value, REFUSE) for value in bad),
        *(given(value, EITHER) for value in ([frozenset()], [link] * 2, [link], [{(0, 0)}], [frozenset({(-1, 0)})], (link,))),
        given(iter([link]), REFUSE, "an iterator"),
        given([frozenset({(np.int64(0), 0)})], EITHER, "numpy links"),
    ]


def _sentences() -> list[Spoiler]:
    bad = [["abc"], "abc", [["a", 3]], [[None]], [None], [3], [[["a"]]], {"a": "b"}, [[b"a"]]]
    return [
        *(given(value, REFUSE) for value in bad),
        *(given(value, EITHER) for value in ([[]], [["a"]], [["a"], ["b"]], (("a", "b"),), [[""]], [["a b"]])),
        given(iter([["a"]]), REFUSE, "an iterator"),
    ]


def _pieces() -> list[Spoiler]:
    scores, value = torch.linspace(0, 1, 30).reshape(2, 3, 5), torch.linspace(-1, 1, 60).reshape(2, 5, 6)
    good = (scores, value)
    bad = [[good[:1]], [(*good, value)], [scores], [(scores, None)], [(None, value)], [good, (scores[:1], value[:1])]]
    bad += [[good, (scores.double(), value.double())], [good, (scores, value[..., :3])], [good, ([1.0], [2.0])]]
    return [
        *(given(pieces, REFUSE, f"bad pieces {i}") for i, pieces in enumerate(bad)),
        Spoiler("an iterator", ACCEPT, iter),
        given(torch.ones(2, 2, 3, 3), EITHER, "one tensor"),
        given([list(good)], EITHER, "pairs as lists"),
    ]


def _trials() -> list[Spoiler]:
    trial = {"m": 3, "d": 6, "degree": 2}
    bad = [
        [trial | {"nonsense": 1}],
        [{"m": 3}],
        [{}],
        [trial | {"d": 0}],
        [trial | {"m": "3"}],
        [trial | {"degree": 1}],
        trial,
    ]
    bad += [[trial | {"seed": "x"}], [trial, 3], [list(trial.items())], [{1: 2}]]
    return [
        *(given(trials, REFUSE) for trials in bad),
        given([trial | {"flips": 1}], EITHER),
        Spoiler("a tuple", ACCEPT, tuple),
    ]


SIGMAS = [
    *(given(value, EITHER) for value in (0.0, 1e-300, 1e-10, 5.0, 12, 41, 1e4)),
    *(given(torch.tensor(value), EITHER, f"a tensor of {value}") for value in ([0.0, 1.0], [], [[1.0], [2.0]], 12.0, 1e-30)),
    *(given(torch.tensor(value), REFUSE, f"a tensor of {value}") for value in ([-1.0, 1.0], [41.0], [1.0, NAN], INF, [1, 2])),
]
JOBS = [given(None, ACCEPT), given(1, ACCEPT), given(np.int64(1), EITHER, "int64(1)")]
JOBS += [given(value, REFUSE) for value in (0, True, 1.0, 2.5, "1", object(), [], NAN, np.bool_(True))]
MODULES = [
    *(_attention(**{name: True}) for name in ("batch_first", "add_bias_kv", "add_zero_attn")),
    *(_attention(**settings) for settings in ({"bias": False}, {"kdim": 6}, {"kdim": 6, "vdim": 6}, {"dropout": 0.3})),
    *(_attention(**settings) for settings in ({"dropout": 1.0}, {"device": "meta"}, {"dtype": DOUBLE}, {"dtype": HALF[1]})),
    Spoiler("evaluating", ACCEPT, lambda _: nn.MultiheadAttention(8, 2).eval()),
]
SPECIAL = {
    "energy": _energies(),
    "Mixer.places": _placing(),
    "SoftmaxAttention.places": _placing(),
    "EnergyAttention.places": _placing(),
    "batches": _lessons(),
    "found": _links(),
    "sure": _links(),
    "possible": _links(),
    "translations": _sentences(),
    "references": _sentences(),
    "online_softmax.parts": _pieces(),
    "trials": _trials(),
    "prior": [given(value, REFUSE) for value in (3, "binary", object(), torch.ones(2))],
    "function": [given(value, REFUSE) for value in (3, "cos", object(), torch.ones(2), None)],
    "sigma": SIGMAS,
    "from_torch.module": MODULES,
    "seed": [given(2**64, EITHER, "2**64"), given(-(2**63) - 1, EITHER, "-2**63-1")],
    "watch": [],
}
SOLVERS = ("find_fixed_points", "fixed_point", "naive_mean_field", "tap", "adaptive_tap", "MeanFieldAttention", "amp")
FOLLOWS_DTYPE = dict.fromkeys((f"{solver}.tolerance" for solver in SOLVERS), torch.finfo(SINGLE).eps ** (2 / 3))
FOLLOWS_DTYPE |= {"belief_propagation.tolerance": 64 * torch.finfo(SINGLE).eps}
"""Defaults that depend on the dtype, as they are in single precision."""

NOT_TAKEN = [given(None, ACCEPT), given(torch.zeros(2, 3, 8), REFUSE, "a tensor"), given(3, REFUSE)]
OWN = [
    f"{kind}.{method}.{name}"
    for kind in ("MeanFieldAttention", "VectorSpinAttention", "KineticAttention")
    for method in ("forward", "split", "explain")
    for name in ("context", "score_bias")
]
GRAPHS = [*SHAPES, *LAYOUTS, *NO_TENSORS, given(torch.ones(3, 5), REFUSE, "floats")]
"""What a mask can be that is a graph: a row of it may be empty."""
LISTS = [replace(one, expect=EITHER) if one.label == "[3]" else one for one in SEQUENCES]
"""What a list of numbers can be."""
SEVERAL = [one for one in LISTS if one.label != "[3]"]
"""What a list can be over which errors are taken: one number has none."""
LONG = ("40", "10000.0", "10000000000.0", "1e+20", "1e+38", "1e+300", "1.7e+308", "2**70")
SECONDS = [given(None, ACCEPT), *(one for one in NUMBERS if one.label not in ("None", *LONG))]
"""A time that is really spent."""


def _blocks() -> list[Spoiler]:
    """A block, or a list of such."""
    alone = [replace(one, expect=EITHER) if one.label == "in a list" else one for one in RECORDS]
    return [*alone, *(replace(one, make=lambda block, make=one.make: make([block])) for one in SEQUENCES)]


ONLY = {"jobs": JOBS, "mask_edges.mask": GRAPHS, "Stack.blocks": _blocks(), **dict.fromkeys(OWN, NOT_TAKEN)}
ONLY |= {"compare.seconds": SECONDS, **dict.fromkeys(("rates", "compare.seeds"), LISTS), "fresh_seeds": SEVERAL}
"""Arguments for which nothing else is tried: more jobs would start processes, and what is not taken is only refused."""


# The spoilers of an argument


def inside(change: Spoiler) -> Spoiler:
    """The same spoiler for the first tensor in a sequence of tensors, or of pairs of tensors."""

    def make(value: object) -> object:
        first, *others = value
        if isinstance(first, tuple):
            return [(change.make(first[0]), *first[1:]), *others]
        return [change.make(first), *others]

    return Spoiler(f"its first tensor: {change.label}", change.expect, make)


def _first(value: object) -> tuple[object, ...]:
    first = value[0] if isinstance(value, list) and value else None
    return first if isinstance(first, tuple) else (first,)


def _has_tensors(value: object) -> bool:
    return isinstance(_first(value)[0], Tensor)


MAY_NOT_FIT = {
    *("PatchClassifier.dtype", "MeanFieldAttention.largest"),
    *("Block.dtype", "Embedding.places", "LanguageModel.readout", "load.dtype", "Stack.dim", "Stack.dtype"),
}
"""What is right in itself, and need not fit what it is called with: another dtype or width, an unstable system, no readout."""

NEEDED = {"LanguageModel.readout"}
"""What may be None when a module is made, and not when it is called."""

TRUSTED = {"Heads"}
"""Records whose numbers were looked at before, which a second look in every call of a mixer would only slow down."""


def _of_fields(record: object) -> Iterator[Spoiler]:
    """A record with one field spoiled."""
    if type(record).__module__.startswith("attnlib._"):
        return  # of no concern to callers
    for field in fields(record):
        value = getattr(record, field.name)
        changes = [given(None, EITHER), given("abc", EITHER), given(object(), EITHER, "an object")]
        if isinstance(value, Tensor):
            changes += FLOAT_KINDS if type(record).__name__ in TRUSTED else FLOAT_TENSORS
        elif isinstance(value, float | int) and not isinstance(value, bool):
            changes += [one for one in NUMBERS if not one.label.startswith("a tensor")]
        for change in changes:
            expect = ACCEPT if change.expect == ACCEPT else EITHER

            def make(record: object, change: Spoiler = change, name: str = field.name) -> object:
                return replace(record, **{name: change.make(getattr(record, name))})

            yield Spoiler(f"{field.name}: {change.label}", expect, make)


LOGARITHMS = {"log_potentials", "log_initial", "log_transition", "log_likelihood", "pair", "single"}
"""Arguments in which minus infinity means what it says: this never happens."""


def spoilers(entry: Entry, name: str) -> list[Spoiler]:
    """Everything that is tried on one argument."""
    keys = (name, f"{entry.short.split('.')[-1]}.{name}", f"{entry.short}.{name}")
    for key in keys:
        if key in ONLY:
            return ONLY[key]
    found, several = [], kinds(entry, name)
    call = build(entry, World(), [name])
    value = call.arguments[name]
    for kind in sorted(several):
        own = choices(_allowed(entry, name)) if kind == "choice" else BY_KIND[kind]
        found += own if len(several) == 1 else [_relaxed(one) for one in own]
    if "scalar" in several:
        found += betas(distributions(entry, call))
    if "record" in several:
        found += list(_of_fields(value))
    if "sequence" in several and _has_tensors(value):
        floats = next(leaf for leaf in _first(value) if isinstance(leaf, Tensor)).is_floating_point()
        found += [inside(one) for one in (FLOAT_TENSORS if floats else INT_TENSORS)]
    if "count" in several and ({(entry.short, name), (name, None)} & ALLOCATES_NOTHING):
        found += LARGE
    for key in keys:
        found += SPECIAL.get(key, [])
    if f"{entry.short}.{name}" in MAY_NOT_FIT:
        found = [_relaxed(one) for one in found if one.expect != SAME]
    if entry.short in TRUSTED:
        found = [one if one in FLOAT_KINDS or one in RECORDS else _relaxed(one) for one in found if one not in FLOAT_VALUES]
    if name in LOGARITHMS:
        found = [_relaxed(one) if "minus infinity" in one.label else one for one in found]
    if f"{entry.short}.{name}" in FOLLOWS_DTYPE:
        same = FOLLOWS_DTYPE[f"{entry.short}.{name}"]
        found = [replace(one, twin=lambda _: same) if one.label == "None" else one for one in found]
    may_be_none = optional(annotation_of(entry, name)) or entry.parameters[name].default is None
    if may_be_none and f"{entry.short}.{name}" not in NEEDED:
        found = [replace(one, expect=ACCEPT) if one.label == "None" else one for one in found]
    return found


def _relaxed(one: Spoiler) -> Spoiler:
    return one if one.expect == SAME else replace(one, expect=EITHER)


def _allowed(entry: Entry, name: str) -> tuple[object, ...]:
    members = options(annotation_of(entry, name))
    return next(typing.get_args(member) for member in members if typing.get_origin(member) is typing.Literal)


def distributions(entry: Entry, call: object) -> tuple[int, ...]:
    """The shape of what is normalised, less its last axis: as far as the call's tensors say."""
    if entry.makes_module:
        return (call.arguments["heads"],)
    tensors = [value for value in call.arguments.values() if isinstance(value, Tensor) and value.is_floating_point()]
    names = list(call.arguments)
    if "J" in names:  # one distribution for each system
        return tuple(call.arguments["J"].shape[:-2])
    if "target" in names:
        return (*tensors[0].shape[:-1], call.arguments["n"])
    if len(tensors) == 1 and "scores" not in names:
        return tuple(tensors[0].shape[:-2])
    return tuple(tensors[0].shape[:-1])


# Changes of all tensors at once


def worlds(entry: Entry) -> Iterator[tuple[World, str]]:
    """The same call with other dtypes, batches, sizes and magnitudes, and what is to come of it."""
    annotations = [annotation_of(entry, name) for name in entry.parameters]
    texts = " ".join(getattr(member, "dim_str", "") for one in annotations for member in _members(one)).strip()
    symbols = set(texts.replace("*batch", "").replace("...", "").split())
    if not texts:
        yield World(), ACCEPT
        return
    for dtype in FLOATS:
        yield World(dtype=dtype), ACCEPT
    for change in ("grad", "inference", "strided"):
        yield World(change=change), ACCEPT
        yield World(change=change, batch=()), ACCEPT
    yield World(change="meta"), EITHER
    yield World(change="grad", dtype=DOUBLE), ACCEPT
    if "*batch" in texts:
        for batch in ((), (0,), (1,), (3, 2), (0, 2), (2, 0), (2, 1, 2)):
            yield World(batch=batch), ACCEPT
    elif "batch" in symbols:
        for batch in ((0,), (1,)):
            yield World(batch=batch), EITHER
    for symbol in sorted(symbols):
        for size in (0, 1, 2, 6):
            yield World(sizes=((symbol, size),)), EITHER
    for dtype in HALF:
        for scale in (1e-6, 1e-3, 30, 300, 1e4, 6e4):
            yield World(dtype=dtype, scale=scale), EITHER
    for scale in (1e-38, 1e-30, 1e-10, 30, 1e4, 1e9, 1e10, 1e15, 1e19, 1e25, 1e30, 1e38):
        yield World(scale=scale), EITHER
    for scale in (1e-300, 1e-100, 1e30, 1e75, 1e100, 1e150, 1e300):
        yield World(scale=scale, dtype=DOUBLE), EITHER


def _members(annotation: object) -> Iterator[object]:
    for member in options(annotation):
        yield member
        yield from (inner for arg in typing.get_args(member) for inner in _members(arg) if not isinstance(arg, str | int))
