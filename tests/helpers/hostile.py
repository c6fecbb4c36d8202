"""Every public entry point of the library and of the course's models, and for each a call that works, built from its signature.

A new function is found without being named here. What an annotation cannot say (couplings are symmetric, weights sum to one)
stands in ``RECIPES``, by the name of the argument or by ``function.argument``.
"""

import copy
import dataclasses
import importlib
import inspect
import math
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from types import SimpleNamespace

import course
import torch
from torch import Tensor, nn

from attnlib._core.numerics import Mask

SIZES = {"n": 3, "m": 5, "d": 4, "c": 6, "h": 7}
"""Sizes of axes by their names in annotations; a module's own sizes (``dim``, ``words``) are looked up there."""

ALWAYS = dict.fromkeys(("Mixer", "SoftmaxAttention", "EnergyAttention", "MeanFieldAttention"), ("heads",))
ALWAYS |= {"GraphAttention": ("heads", "empty")}
ALWAYS |= {f"GraphAttention.{name}": ("edge_index",) for name in ("forward", "explain")}
ALWAYS |= {"amp": ("tolerance",), "amp_path": ("steps",), "belief_propagation": ("tolerance",)}
ALWAYS |= dict.fromkeys(("heat_bath", "vector_heat_bath"), ("chains", "sweeps", "burn_in"))
ALWAYS |= dict.fromkeys(("find_fixed_points", "fixed_point", "naive_mean_field", "tap", "adaptive_tap"), ("tolerance",))
ALWAYS |= {"MeanFieldAttention": ("heads", "tolerance"), "Seq2Seq.greedy": ("longest",), "Seq2Seq.beam": ("longest",)}
ALWAYS |= {"lyapunov_exponent": ("steps", "burn_in"), "nearby_starts": ("steps",)}
ALWAYS |= {"films_under_noise": ("films", "steps", "last")}
ALWAYS |= dict.fromkeys(("closure_step", "stationary_closure", "moments_step", "stationary_moments"), ("x",))
ALWAYS |= {"vector_film": ("films", "steps", "burn_in")}
ALWAYS |= {"compare": ("rates", "seeds", "fresh_seeds", "steps", "batch", "test", "progress")}
ALWAYS |= {"LanguageModel": ("readout",), "examine": ("progress",)}
ALWAYS |= {"train_one": ("steps", "batch", "test")}
ALWAYS |= {"KineticAttention": ("heads",), "VectorSpinAttention": ("heads", "sites"), "vector_spin_free_energy": ("h",)}
"""Optional arguments of every call: two heads, since one hides mistakes; a tolerance that is not of the dtype; few steps."""

COUNTS = {"dim": 8, "heads": 2, "hidden": 8, "embedding": 6, "vocabulary": 12, "source_words": 12, "target_words": 12}
COUNTS |= {"n": 3, "m": 5, "d": 4, "steps": 2, "flips": 1, "probes": 2, "most": 10, "longest": 3, "degree": 3}
COUNTS |= {"sites": 6, "fields": 2, "systems": 2, "k": 4, "height": 8, "width": 8, "samples": 6, "classes": 4}
COUNTS |= {"reach": 1}


@dataclasses.dataclass(frozen=True)
class World:
    """What all tensors of a call have in common."""

    batch: tuple[int, ...] = (2,)
    dtype: torch.dtype = torch.float32
    scale: float = 1.0
    sizes: tuple[tuple[str, int], ...] = ()
    change: str = ""
    """One of grad, inference, strided, meta: what is done to every tensor."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A function, a constructor, or a method together with the class of its module."""

    name: str
    function: Callable
    owner: type | None = None

    @cached_property
    def signature(self) -> inspect.Signature:
        found = inspect.signature(self.function, eval_str=True)
        parameters = list(found.parameters.values())
        if self.owner is not None and not inspect.ismethod(self.function):
            parameters = parameters[1:]
        by_name = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        return found.replace(parameters=by_name)  # what is handed on as it is has no hostile calls of its own

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        return dict(self.signature.parameters)

    @property
    def short(self) -> str:
        return self.name.split(".", 1)[-1]

    @property
    def makes_module(self) -> bool:
        return inspect.isclass(self.function) and issubclass(self.function, nn.Module)


@dataclasses.dataclass
class Call:
    entry: Entry
    arguments: dict[str, object]
    module: nn.Module | None = None

    def __call__(self) -> object:
        torch.default_generator.manual_seed(0)  # torch.manual_seed takes longer than most calls
        if self.module is None:
            return self.entry.function(**self.arguments)
        if self.entry.function.__name__ == "forward":
            return self.module(**self.arguments)
        return self.entry.function(self.module, **self.arguments)


class NoRecipe(Exception):
    """Nothing says how to build an argument."""


class NotApplicable(Exception):
    """What makes an argument refuses such a world itself."""


# Entry points


@cache
def packages() -> tuple[types.ModuleType, ...]:
    """What is called: the solvers, the chapters, the models and oracles of the course."""
    return tuple(importlib.import_module(f"attnlib.{name}") for name in (*course.LIBRARY, "course.models", "course.oracles"))


@cache
def entry_points() -> tuple[Entry, ...]:
    """Functions, constructors that can refuse, and public methods, of everything in the packages' ``__all__``."""
    found = []
    for package in packages():
        for name in package.__all__:
            thing, where = getattr(package, name), f"{package.__name__.rsplit('.', 1)[1]}.{name}"
            if inspect.isclass(thing):
                found += list(_of_class(thing, where))
            elif typing.get_origin(thing) is None and callable(thing):
                found.append(Entry(where, thing))
    return tuple(found)


def _of_class(thing: type, where: str) -> Iterable[Entry]:
    if issubclass(thing, BaseException) or getattr(thing, "_is_protocol", False):
        return
    module, record = issubclass(thing, nn.Module), dataclasses.is_dataclass(thing)
    if not record or hasattr(thing, "__post_init__"):
        yield Entry(where, thing)
    seen = set()
    for cls in thing.__mro__:
        for name, member in vars(cls).items() if cls.__module__.startswith("attnlib") else ():
            if name.startswith("_") or name in seen or (cls is not thing and name != "forward" and _exported(cls)):
                continue  # what a base class that is public itself does is tried there
            seen.add(name)
            if isinstance(member, classmethod) or (inspect.isfunction(member) and (module or record)):
                yield Entry(f"{where}.{name}", getattr(thing, name), thing)


def _exported(cls: type) -> bool:
    return any(getattr(package, cls.__name__, None) is cls for package in packages())


# Annotations


def options(annotation: object) -> list[object]:
    """The members of a union, without None."""
    members = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    return [member for member in members if member is not types.NoneType]


def optional(annotation: object) -> bool:
    return _is_union(annotation) and types.NoneType in typing.get_args(annotation)


def _is_union(annotation: object) -> bool:
    return isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union


def is_array(annotation: object) -> bool:
    return hasattr(annotation, "dim_str") and getattr(annotation, "array_type", None) is Tensor


def array_kind(annotation: object) -> str:
    """What a jaxtyping annotation holds: floats, ints or bools."""
    kind = annotation.dtype.__name__.lower()
    return {"float": "floats", "int": "ints", "integer": "ints", "bool": "bools", "complex": "complex"}[kind]


def kind_of(annotation: object) -> str | None:
    """The kind of one member of an annotation, which says what can be wrong with it."""
    origin = typing.get_origin(annotation)
    if is_array(annotation):
        return array_kind(annotation)
    if origin is typing.Literal:
        return "choice"
    if annotation in (bool, int, float, str):
        return {bool: "flag", int: "count", float: "number", str: "text"}[annotation]
    for cls, kind in ((Tensor, "floats"), (torch.Generator, "generator"), (torch.device, "device"), (torch.dtype, "dtype")):
        if annotation is cls:
            return kind
    if origin is not None and inspect.isclass(origin):
        if origin is Callable or issubclass(origin, type):
            return "callable"
        return "sequence" if issubclass(origin, Iterable) else None
    if inspect.isclass(annotation):
        if issubclass(annotation, nn.Module):
            return "module"
        return "record" if dataclasses.is_dataclass(annotation) else None
    return None


def kinds(entry: Entry, name: str) -> set[str]:
    """All kinds of things that the argument may be."""
    members = options(annotation_of(entry, name))
    found = {kind_of(member) for member in members} - {None}
    if float in members:  # an int is then a number too, and a tensor an inverse temperature
        found -= {"count"}
        if "floats" in found and not any(map(is_array, members)):
            return {"scalar"}
    return found - {"text"} if "device" in found else found


def annotation_of(entry: Entry, name: str) -> object:
    """The annotation, or where it says only Tensor that of the same argument of ``forward``."""
    annotation = entry.parameters[name].annotation
    if options(annotation) == [Tensor] and entry.owner is not None:
        forward = Entry("forward", entry.owner.forward, entry.owner).parameters
        return forward[name].annotation if name in forward else annotation
    return annotation


# Baseline calls


def build(entry: Entry, world: World, given: Iterable[str] = ()) -> Call:
    """A call that works: the required arguments, and those optional ones that are asked for."""
    module = _module(entry.owner, world.dtype) if _bound(entry) else None
    arguments: dict[str, object] = {}
    for name, parameter in entry.parameters.items():
        asked = name in given
        if parameter.default is parameter.empty or asked or name in ALWAYS.get(entry.short, ()):
            arguments[name] = value_of(entry, name, world, arguments, module)
    return Call(entry, arguments, module)


def broken(call: Call, parameter: str) -> Call:
    """The same call of a module with a parameter that is NaN, as after training that went wrong."""
    call.module = copy.deepcopy(call.module)
    with torch.no_grad():
        call.module.get_parameter(parameter).fill_(math.nan)
    return call


def _bound(entry: Entry) -> bool:
    return entry.owner is not None and not inspect.ismethod(entry.function)


@cache
def _module(owner: type, dtype: torch.dtype) -> object:
    """One instance for all calls; a call that changes it is found out."""
    torch.manual_seed(1)
    if dataclasses.is_dataclass(owner) and not hasattr(owner, "__post_init__"):
        return made_by_another(owner, World(dtype=dtype), None)
    made = build(Entry(owner.__name__, owner), World(dtype=dtype))()
    return made.to(dtype) if isinstance(made, nn.Module) else made


def value_of(entry: Entry, name: str, world: World, arguments: Mapping[str, object], module: nn.Module | None) -> object:
    """The argument of a call that works."""
    about = SimpleNamespace(entry=entry, world=world, arguments=arguments, module=module, owner=entry.function)
    for key in (f"{entry.short}.{name}", f"{entry.short.split('.')[-1]}.{name}", name):
        if key in RECIPES:
            return changed(RECIPES[key](about), world)
    annotation = annotation_of(entry, name)
    default = entry.parameters[name].default
    if default not in (inspect.Parameter.empty, None) and kind_of(options(annotation)[0]) not in ("floats", "ints", "bools"):
        return default
    for member in options(annotation):
        try:
            return made(member, name, about)
        except NoRecipe:
            continue
    raise NoRecipe(
        f"no baseline for {name}: {annotation} of attnlib.{entry.name}; "
        f'add a recipe "{entry.short}.{name}" (or "{name}", for all functions) to RECIPES in tests/helpers/hostile.py'
    )


def made(annotation: object, name: str, about: SimpleNamespace) -> object:
    """A good value of an annotation."""
    world, kind, origin = about.world, kind_of(annotation), typing.get_origin(annotation)
    if is_array(annotation):
        return changed(array(annotation, name, about), world)
    if kind == "count":
        return dict(world.sizes).get(name, COUNTS.get(name, 3))
    if kind == "number":
        return 0.7
    if kind in ("flag", "text"):
        return annotation()
    if kind == "choice":
        return typing.get_args(annotation)[0]
    if kind == "generator":
        return torch.Generator().manual_seed(3)
    if kind == "device":
        return "cpu"
    if kind == "dtype":
        return world.dtype
    if kind == "module":
        known = {nn.MultiheadAttention: lambda: nn.MultiheadAttention(8, 2, dtype=world.dtype)}
        return known[annotation]() if annotation in known else _module(annotation, world.dtype)
    if kind == "record":
        return made_by_another(annotation, world, about.module)
    if kind == "sequence" and origin is tuple:
        return tuple(made(member, name, about) for member in typing.get_args(annotation) if member is not ...)
    if kind == "sequence" and issubclass(origin, frozenset | set | Sequence):
        member = made(typing.get_args(annotation)[0], name, about)
        return frozenset([member]) if issubclass(origin, frozenset | set) else [member]
    raise NoRecipe


def made_by_another(record: type, world: World, module: nn.Module | None) -> object:
    """A record as a public function returns it, or a method of the module."""
    for entry in entry_points():
        same = entry.owner is None or isinstance(module, entry.owner)
        if same and not inspect.isclass(entry.function) and entry.signature.return_annotation is record and record:
            if record in (parameter.annotation for parameter in entry.parameters.values()):
                continue
            call = build(entry, world)
            call.module = module if entry.owner else None
            try:
                return call()
            except ValueError as error:
                raise NotApplicable from error
    raise NoRecipe


def array(annotation: object, name: str, about: SimpleNamespace) -> Tensor:
    """Random numbers, words or an all-True mask, of the shape that the annotation says."""
    shape, kind = shape_of(annotation, about), array_kind(annotation)
    generator = torch.Generator().manual_seed(sum(map(ord, name)))
    if kind == "bools":
        return torch.ones(shape, dtype=torch.bool)
    if kind == "ints":
        most = min(4, getattr(about.module, "vocabulary", 4))
        return torch.randint(min(1, most - 1), most, shape, generator=generator)
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (drawn * about.world.scale).to(about.world.dtype)


def shape_of(annotation: object, about: SimpleNamespace) -> tuple[int, ...]:
    shape: list[int] = []
    for token in annotation.dim_str.split():
        if token == "..." or token.startswith(("*#", "#")) or not token.strip("*").isidentifier():
            if not token.isdigit():
                raise NoRecipe
            shape.append(int(token))
        elif token.startswith("*"):
            shape += about.world.batch
        else:
            shape.append(size_of(token, about))
    return tuple(shape)


def size_of(symbol: str, about: SimpleNamespace) -> int:
    sizes = dict(about.world.sizes)
    if symbol in sizes:
        return sizes[symbol]
    sites = getattr(about.module, "sites", None)
    if symbol == "n" and isinstance(sites, int):
        return min(SIZES["n"], sites)
    own = getattr(about.module, symbol, None)
    if isinstance(own, int) and not isinstance(own, bool):
        return own
    if symbol == "batch":
        return math.prod(about.world.batch)
    return SIZES.get(symbol, COUNTS.get(symbol, 3))


def changed(value: object, world: World) -> object:
    """What the world does to every tensor of the call."""
    if isinstance(value, list | tuple):
        return type(value)(changed(item, world) for item in value)
    if not isinstance(value, Tensor) or not world.change:
        return value
    if world.change == "grad":
        return value.requires_grad_() if value.is_floating_point() else value
    if world.change == "inference":
        with torch.inference_mode():
            return value.clone()
    if world.change == "meta":
        return value.to("meta")
    return strided(value)


def strided(value: Tensor) -> Tensor:
    """The same numbers with gaps between them, and the last two axes swapped in memory."""
    if value.ndim == 0:
        return torch.stack([value, value])[1]
    wide = torch.stack([value, value], -1)[..., 0]
    return wide if value.ndim < 2 else wide.mT.clone(memory_format=torch.contiguous_format).mT


# Recipes


def _draw(about: SimpleNamespace, *shape: int | str, seed: int = 0) -> Tensor:
    sizes = [size_of(size, about) if isinstance(size, str) else size for size in shape]
    drawn = torch.randn(sizes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn.to(about.world.dtype)


def _spins(rows: str, about: SimpleNamespace) -> Tensor:
    axes = () if rows == "" else (rows,)
    drawn = _draw(about, *about.world.batch, *axes, "d", seed=len(rows))
    return torch.where(drawn > 0, 1.0, -1.0).to(about.world.dtype)


def _couplings(about: SimpleNamespace) -> Tensor:
    drawn = _draw(about, *about.world.batch, "d", "d")
    drawn = (drawn + drawn.mT) * about.world.scale
    return drawn - torch.diag_embed(drawn.diagonal(dim1=-2, dim2=-1))


def _glass(about: SimpleNamespace) -> Tensor:
    """Couplings between n spins, so weak that mean-field theories converge."""
    drawn = 0.3 * _draw(about, *about.world.batch, "n", "n").double()
    drawn = (drawn + drawn.mT) / 2 * about.world.scale
    return (drawn - torch.diag_embed(drawn.diagonal(dim1=-2, dim2=-1))).to(about.world.dtype)


def _driven(about: SimpleNamespace) -> Tensor:
    """Couplings of no symmetry between n spins, so weak that closures come to rest."""
    return (0.3 * _draw(about, *about.world.batch, "n", "n").double() * about.world.scale).to(about.world.dtype)


def _one_driven(about: SimpleNamespace) -> Tensor:
    """The same of one system, positive and each spin by those before it: what any film takes."""
    return (0.3 * _draw(about, "n", "n").abs().tril(-1).double() * about.world.scale).to(about.world.dtype)


def _pairs(about: SimpleNamespace) -> Tensor:
    rows = _draw(about, *about.world.batch, "n", "d").double()
    return (rows @ rows.mT).to(about.world.dtype)


def _edges(about: SimpleNamespace) -> Tensor:
    """Two edges to each node, or one where there is only one to come from."""
    n, m = about.world_size if hasattr(about, "world_size") else _ends(about)
    target = torch.arange(n).repeat_interleave(min(2, m))
    return torch.stack([(target + torch.arange(len(target)) % 2) % max(m, 1), target])


def _ends(about: SimpleNamespace) -> tuple[int, int]:
    """Numbers of queries and of keys of a call along edges."""
    rows = [about.arguments.get(name) for name in ("query", "key", "x", "context")]
    sizes = [value.shape[-2] for value in rows if isinstance(value, Tensor) and value.ndim > 1]
    if sizes:
        return sizes[0], sizes[0] if "x" in about.arguments else sizes[-1]  # a context may be taken away
    return size_of("n", about), size_of("n", about)


def _path(about: SimpleNamespace) -> Tensor:
    """A path through n variables."""
    place = torch.arange(max(0, size_of("n", about) - 1))
    return torch.stack([place, place + 1])


def _tables(about: SimpleNamespace) -> Tensor:
    k = size_of("k", about)
    return _draw(about, *about.world.batch, about.arguments["edge_index"].shape[1], k, k) * about.world.scale


def _edge_bias(about: SimpleNamespace) -> Tensor:
    edges = about.arguments.get("edge_index")
    edges = _edges(about) if edges is None else edges
    return _draw(about, *about.world.batch, edges.shape[1]) * about.world.scale


def _signal_matrix(about: SimpleNamespace) -> Tensor:
    return 0.3 * _draw(about, *about.world.batch, "m", "n") * about.world.scale


def _map(about: SimpleNamespace) -> object:
    return lambda z: z.sin() / 2 + 0.3


def _prior(about: SimpleNamespace) -> object:
    from attnlib.mean_field import Binary, Gaussian

    spins = ("naive_mean_field", "adaptive_tap", "amp", "amp_path", "state_evolution")
    return Binary() if about.entry.short in spins else Gaussian()


def _probabilities(about: SimpleNamespace) -> Tensor:
    batch = () if about.entry.short == "links" else about.world.batch
    rows = ("n",) if about.entry.short == "links" else ()
    drawn = (48 * _draw(about, *batch, *rows, "m").double().softmax(-1)).floor()  # parts of 64, exact in every dtype
    if drawn.shape[-1]:
        drawn[..., 0] += 64 - drawn.sum(-1)
    return (drawn / 64).to(about.world.dtype)


def _scores_shape(about: SimpleNamespace) -> tuple[int, ...]:
    """The shape of the scores of a call: those given, or queries by keys."""
    tensors = {name: value for name, value in about.arguments.items() if isinstance(value, Tensor)}
    if "scores" in tensors:
        return tuple(tensors["scores"].shape)
    first, *others = tensors.values()
    if first.ndim + 1 == (others[0].ndim if others else 0):  # one question
        return tuple(others[0].shape[:-1])
    if not first.is_floating_point():  # words
        return tuple(first.shape[:2])
    keys = next((other for other in others if other.ndim >= 2), first)
    return (*first.shape[:-1], keys.shape[-2])


def _mask(about: SimpleNamespace) -> Tensor:
    return torch.ones(_scores_shape(about), dtype=torch.bool)


class _Classifier(nn.Module):
    """Logits of four classes from the mean of an input of any shape, and a ValueError for another dtype."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(1, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        if inputs.dtype != self.linear.weight.dtype:
            raise ValueError(f"inputs is {inputs.dtype}; expected {self.linear.weight.dtype}")
        return self.linear(inputs.flatten(1).mean(-1, keepdim=True) if inputs.ndim > 1 else inputs[:, None])


def _parts(about: SimpleNamespace) -> list[tuple[Tensor, Tensor]]:
    batch, scale = about.world.batch, about.world.scale
    return [(_draw(about, *batch, "n", m, seed=m) * scale, _draw(about, *batch, m, "c", seed=m + 9) * scale) for m in (2, 5)]


def _quadratic(state: Tensor) -> Tensor:
    return state.square().sum(-1) / 2 + state.sum(-1).cos()


def _quartic(state: Tensor, memory: Tensor, *, beta: object, mask: object, score_bias: object = None) -> Tensor:
    return (state - memory.mean(-2, keepdim=True)).square().sum(-1) / 2 + state.pow(4).sum(-1) / 40


def _batch(about: SimpleNamespace) -> SimpleNamespace:
    source = torch.tensor([[5, 4, 2], [6, 2, 0]])
    pair = SimpleNamespace(source=("a", "b"), target=("c",), alignment=frozenset({(0, 1)}))
    return SimpleNamespace(source=source, mask=source != 0, given=source.clone(), wanted=source.flip(1), pairs=(pair, pair))


def _merged(about: SimpleNamespace) -> Tensor:
    return _draw(about, *about.world.batch, about.module.heads, "n", about.module.head_dim)


def _places(about: SimpleNamespace) -> object:
    from attnlib.attention import rotary_places

    return "sinusoids" if "MemoryNetwork" in about.entry.name else rotary_places


class _Lesson:
    """A task: every number of two tokens is to be one."""

    def batch(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        return torch.randn(n, 2, 8, generator=generator), torch.ones(n, 2, 8)

    def model(self, mixer: nn.Module) -> nn.Module:
        return mixer

    def loss(self, output: Tensor, targets: Tensor) -> Tensor:
        return (output - targets).square().mean()

    score = loss


def _examined(about: SimpleNamespace) -> nn.Module:
    """A model that can be examined, in double precision or better than half."""
    torch.manual_seed(0)
    stack = _class("Stack")(_class("Block")(_class("SoftmaxAttention")(8, heads=2, causal=True)), steps=2)
    return _class("LanguageModel")(_Patches(8, 8), stack, nn.Linear(8, 12)).to(about.world.dtype)


class _Patches(nn.Linear):
    """An embedding of tokens that are no words, with a ValueError for what it cannot take."""

    def forward(self, tokens: Tensor) -> Tensor:
        if not isinstance(tokens, Tensor) or (tokens.dtype, tokens.shape[-1:], tokens.device) != (
            self.weight.dtype,
            (8,),
            self.weight.device,
        ):
            raise ValueError(f"tokens is {type(tokens).__name__}; expected {self.weight.dtype} [*batch, n, 8]")
        return super().forward(tokens)


def _one_graph(about: SimpleNamespace) -> object:
    """A graph without batch axes."""
    from attnlib.message_passing import FactorGraph

    tables = [_draw(about, 2, 2) * about.world.scale, _draw(about, 1, 2, 3, seed=1) * about.world.scale]
    return FactorGraph((2, 3), [torch.tensor([[0], [0]]), torch.tensor([[0, 1]])], tables)


SYSTEMS = ("exact_ising", "heat_bath", "naive_mean_field", "tap", "adaptive_tap", "almeida_thouless")
"""Functions of couplings and fields of spins."""

VECTORS = ("saddle_potential", "saddle_gradient", "saddle_hessian", "saddle_point", "vector_spin_free_energy")
VECTORS += ("response_tensor", "vector_heat_bath", "spherical_point", "semidefinite_bound")
"""Functions of couplings between vector spins; most take fields too."""

FILMS = ("film", "from_the_past", "ordered_sweep")
DRIVEN = ("transition_matrix", "exact_kinetic", "exact_response", "closure_step", "stationary_closure")
VECTORS_DRIVEN = ("moments_step", "stationary_moments", "vector_film")
"""Functions of couplings between driven spins: of one system, of many, of vector spins."""

RECIPES: dict[str, Callable[[SimpleNamespace], object]] = {
    "J": _couplings,
    "h": lambda about: _draw(about, "d"),
    **dict.fromkeys((f"{name}.J" for name in SYSTEMS), _glass),
    **dict.fromkeys((f"{name}.h" for name in SYSTEMS), lambda about: _draw(about, "n")),
    **dict.fromkeys((f"{name}.start" for name in SYSTEMS), lambda about: 0.3 * _draw(about, "n")),
    **dict.fromkeys((f"{name}.J" for name in VECTORS), _glass),
    **dict.fromkeys((f"{name}.h" for name in VECTORS), lambda about: _draw(about, *about.world.batch, "n", "d")),
    **dict.fromkeys((f"{name}.z" for name in VECTORS), lambda about: 4 + _draw(about, "n").abs()),
    **dict.fromkeys((f"{name}.J" for name in FILMS), _one_driven),
    **dict.fromkeys((f"{name}.J" for name in (*DRIVEN, *VECTORS_DRIVEN)), _driven),
    "peretto_law.J": _glass,
    **dict.fromkeys((f"{name}.x" for name in (*FILMS, *DRIVEN, "peretto_law")), lambda about: _draw(about, "n")),
    **dict.fromkeys((f"{name}.x" for name in VECTORS_DRIVEN), lambda about: _draw(about, *about.world.batch, "n", "d")),
    "film.start": lambda about: _draw(about, 2, "n").sign(),
    "closure_step.m": lambda about: 0.3 * _draw(about, *about.world.batch, "n"),
    "stationary_closure.start": lambda about: 0.3 * _draw(about, "n"),
    "moments_step.m": lambda about: 0.3 * _draw(about, *about.world.batch, "n", "d"),
    "vector_film.start": lambda about: _draw(about, *about.world.batch, "n", "d"),
    "stationary_moments.start": lambda about: 0.3 * _draw(about, "n", "d"),
    **dict.fromkeys(
        ("closure_step.C", "moments_step.C"),
        lambda about: torch.eye(size_of("n", about)).expand(*about.world.batch, -1, -1).to(about.world.dtype, copy=True),
    ),
    "vector_response.h": lambda about: _draw(about, *about.world.batch, "n", "d") * about.world.scale,
    "damage.gain": lambda about: 0.7,
    "films": lambda about: 4,
    "saddle_point.start": lambda about: 4 + _draw(about, "n").abs(),
    "spherical_point.h": lambda about: _draw(about, *about.world.batch, "fields", "n", "d") * about.world.scale,
    "vector_spin_free_energy.d": lambda about: about.arguments["h"].shape[-1],
    "gap": lambda about: 1e-3,
    **dict.fromkeys(
        ("field_couplings.h", "coupling_response.h"),
        lambda about: _draw(about, *about.world.batch, "n", "d") * about.world.scale,
    ),
    "kernel": lambda about: _draw(about, "d", "d"),
    "pairs": lambda about: _pairs(about),
    "strength": lambda about: 0.7,
    "gaussian_response.J": _glass,
    "gaussian_response.h": lambda about: _draw(about, *about.world.batch, "fields", "n") * about.world.scale,
    **dict.fromkeys(
        ("symmetric_couplings.J", "flat_couplings.J", "bounded_couplings.J"),
        lambda about: _draw(about, *about.world.batch, "n", "n", "d", "d") * about.world.scale,
    ),
    "almeida_thouless.m": lambda about: 0.3 * _draw(about, "n"),
    "Gaussian.covariance": lambda about: (1.5 * torch.eye(size_of("d", about))).to(about.world.dtype),
    "chains": lambda about: 4,
    "sweeps": lambda about: 6,
    "burn_in": lambda about: 2,
    "function": _map,
    "prior": _prior,
    "weights": _probabilities,
    "sigma": lambda about: _draw(about, *about.world.batch).abs() + 0.5,
    "mask": _mask,
    "score_bias": lambda about: _draw(about, *_scores_shape(about)) * about.world.scale,
    "edge_index": _edges,
    "GraphAttention.empty": lambda about: "error",
    "amp_path.steps": lambda about: 3,
    "edge_bias": _edge_bias,
    "mask_edges.mask": lambda about: torch.ones(size_of("n", about), size_of("m", about), dtype=torch.bool),
    "log_likelihood": lambda about: _draw(about, *about.world.batch, 2, "k") * about.world.scale,
    "pairwise_graph.single": lambda about: _draw(about, *about.world.batch, "n", "k") * about.world.scale,
    "log_initial": lambda about: _draw(about, *about.world.batch, "k") * about.world.scale,
    "log_transition": lambda about: _draw(about, *about.world.batch, "k", "k") * about.world.scale,
    "pairwise_graph.edge_index": _path,
    "pairwise_graph.pair": _tables,
    "segment_softmax.target": lambda about: torch.arange(about.arguments["scores"].shape[-1]) % size_of("n", about),
    "ising_graph.J": _glass,
    "ising_graph.h": lambda about: _draw(about, "n"),
    "states": lambda about: (2, 3),
    "scopes": lambda about: [torch.tensor([[0], [0]]), torch.tensor([[0, 1]])],
    "log_potentials": lambda about: [
        _draw(about, *about.world.batch, 2, 2) * about.world.scale,
        _draw(about, *about.world.batch, 1, 2, 3, seed=1) * about.world.scale,
    ],
    "find_beliefs.graph": _one_graph,
    "A": _signal_matrix,
    "y": lambda about: _draw(about, *about.world.batch, "m") * about.world.scale,
    "delta": lambda about: 0.8,
    "noise": lambda about: 0.3,
    "density": lambda about: 0.2,
    "classical_recall.state": partial(_spins, "n"),
    "dense_recall.state": partial(_spins, "n"),
    "dense_recall.memory": partial(_spins, "m"),
    "dense_local_field.state": partial(_spins, "n"),
    "dense_local_field.memory": partial(_spins, "m"),
    "flip_spins.state": partial(_spins, ""),
    "parts": _parts,
    "energy": lambda about: _quartic if about.entry.makes_module else _quadratic,
    "places": _places,
    "mixed": _merged,
    "check_heads.heads": lambda about: _module(_class("SoftmaxAttention"), about.world.dtype).split(
        _draw(about, *about.world.batch, "n", 8) * about.world.scale
    ),
    "seen": lambda about: Mask(),
    "found": lambda about: [frozenset({(0, 0), (1, 2)})],
    "sure": lambda about: [frozenset({(0, 0)})],
    "possible": lambda about: [frozenset({(0, 0), (1, 1)})],
    "translations": lambda about: [["a", "b", "c", "d", "e"]],
    "references": lambda about: [["a", "b", "c", "d", "f"]],
    "batches": lambda about: lambda: [_batch(about)],
    "watch": lambda about: lambda step: None,
    **dict.fromkeys(
        ("teach.model", "evaluate.model"),
        lambda about: build(Entry("Seq2Seq", _class("Seq2Seq")), about.world)().to(about.world.dtype),
    ),
    "said": lambda about: array(annotation_of(about.entry, "said"), "said", about).clamp(min=3),  # no beginning, no end
    "evaluate.batches": lambda about: [_batch(about)],
    "evaluate.decode": lambda about: lambda numbers: [str(number) for number in numbers],
    "teach_labels.model": lambda about: _Classifier().to(about.world.dtype),
    "size": lambda about: (2, 4),
    "image": lambda about: (8, 8),
    "patch": lambda about: (2, 4),
    "mixer": lambda about: build(Entry("SoftmaxAttention", _class("SoftmaxAttention")), about.world)(),
    "folder": lambda about: str(course.ROOT / "tests" / "transformer" / "folders" / "gpt2"),
    "to_csv.path": lambda about: os.devnull,
    "grid.name": lambda about: "spread",
    "page.title": lambda about: "a model",
    "examine.model": lambda about: _examined(about),
    "examine.tokens": lambda about: _draw(about, 2, 3, 8) * about.world.scale,
    "examine.loss": lambda about: torch.mean,
    "right_keys": lambda about: torch.zeros(*about.world.batch, size_of("n", about), dtype=torch.long),
    "examine.right_keys": lambda about: torch.zeros(2, 3, dtype=torch.long),
    "examine.targets": lambda about: torch.ones(2, 3, dtype=torch.long),
    "examine.mask": lambda about: torch.ones(2, 3, dtype=torch.bool),
    "examine.noises": lambda about: (),  # a call with some takes ten seconds
    **dict.fromkeys(("films_under_noise.sigma", "nearby_starts.sigma"), lambda about: 0.5),
    **dict.fromkeys(("films_under_noise.mask", "nearby_starts.mask"), lambda about: torch.ones(3, 3, dtype=torch.bool)),
    "films_under_noise.films": lambda about: 4,
    "films_under_noise.last": lambda about: 1,
    "norm_readings.stack": lambda about: _module(_class("Stack"), about.world.dtype),
    "norm_readings.x": lambda about: _draw(about, *about.world.batch, "n", 8) * about.world.scale,
    "norm_readings.mask": lambda about: torch.ones(*about.world.batch, size_of("n", about), dtype=torch.bool),
    "thermometer.weights": lambda about: _draw(about, *about.world.batch, "n", "m").softmax(-1),
    "arrow_estimate.weights": lambda about: _draw(about, *about.world.batch, "n", "n").softmax(-1),
    "antisymmetric_share.mask": lambda about: torch.ones(*about.world.batch, size_of("n", about), dtype=torch.bool),
    "Block.feed_forward": lambda about: nn.Linear(8, 8, dtype=about.world.dtype),
    "embed": lambda about: _Patches(8, 8, dtype=about.world.dtype),
    "stack": lambda about: build(Entry("Stack", _class("Stack")), about.world)(),
    "readout": lambda about: nn.Linear(8, 12, dtype=about.world.dtype),
    "LanguageModel.forward.tokens": lambda about: _draw(about, *about.world.batch, "n", 8) * about.world.scale,
    "LanguageModel.states.tokens": lambda about: _draw(about, *about.world.batch, "n", 8) * about.world.scale,
    "LanguageModel.forward.mask": lambda about: torch.ones(*about.world.batch, size_of("n", about), dtype=torch.bool),
    "LanguageModel.states.mask": lambda about: torch.ones(*about.world.batch, size_of("n", about), dtype=torch.bool),
    "load.forward.tokens": lambda about: torch.ones(*about.world.batch, 3, dtype=torch.long),
    "blocks": lambda about: build(Entry("Block", _class("Block")), about.world)(),
    "task": lambda about: _Lesson(),
    "contestants": lambda about: {"softmax": RECIPES["make"](about)},
    "make": lambda about: lambda: _class("SoftmaxAttention")(8, heads=2),
    "train_one.watch": lambda about: lambda model, step: None,
    "register.make": lambda about: nn.Identity,
    "register.name": lambda about: "a module of one's own",
    "mixer.name": lambda about: "softmax",
    "preset.kind": lambda about: _class("SoftmaxAttention"),
    "Comparison.standing.name": lambda about: "softmax",
    "difference.first": lambda about: "softmax",
    "difference.second": lambda about: "softmax",
    "rates": lambda about: [0.01, 0.02],
    "seeds": lambda about: [0],
    "fresh_seeds": lambda about: [1, 2],
    "rate": lambda about: 0.01,
    "batch": lambda about: 2,
    "test": lambda about: 4,
    "compare.progress": lambda about: False,
    "compare.steps": lambda about: 2,
    "examine.progress": lambda about: False,
    "trials": lambda about: [{"m": 3, "d": 6, "degree": 2}, {"m": 2, "d": 5, "degree": "exp", "seed": 1}],
    "jobs": lambda about: 1,
    "tolerance": lambda about: 1e-4,
    "fixed_point.tolerance": lambda about: 1e-6,
    "fixed_point.parts": lambda about: (about.arguments["start"].shape[-1],),
    "fixed_point.scale": lambda about: _draw(about, *about.world.batch, 1).abs() + 0.5,
    **dict.fromkeys((f"{name}.tolerance" for name in ("naive_mean_field", "tap", "adaptive_tap")), lambda about: 4e-6),
    "longest": lambda about: 3,
    "context_dim": lambda about: 6,
    "head_dim": lambda about: 2,
    "beta": lambda about: 0.7,
}


def _class(name: str) -> type:
    return next(entry.function for entry in entry_points() if entry.name.endswith(f".{name}"))
