"""Hostile calls to every public entry point: each gives a right, finite answer or a ValueError that names the argument.

The entry points are found by inspection (``hostile.py``), every argument is spoiled in turn and two at a time
(``spoilers.py``), and what comes of it is judged (``verdicts.py``). ``make test`` makes a sample of the calls of each entry
point, the plain one among them, ``make test-all`` makes all.
"""

import inspect
import math
import random
from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from helpers.exactness import leaves
from helpers.hostile import Call, Entry, NoRecipe, World, broken, build, entry_points, kinds
from helpers.samples import sample
from helpers.spoilers import EITHER, REFUSE, Spoiler, distributions, spoilers, worlds
from helpers.verdicts import TOO_LONG, Attempt, bounded, judge
from torch import nn

pytestmark = pytest.mark.usefixtures("unchecked", "registry_as_before")

SHARE = 1 / 80
"""How much of an entry point's hostile calls ``make test`` makes."""

DEAR = (
    *("oracles.splitting_beta", "oracles.semidefinite_bound"),
    *("mean_field.adaptive_tap", "free_energy.response_tensor"),
    *("transformer.examine", "transformer.compare", "transformer.lyapunov_exponent"),
    *("transformer.nearby_starts", "transformer.films_under_noise"),
    *("transformer.Examination.plot", "transformer.Examination.page"),
)
"""What takes a tenth of a second and more to answer, which was half of the time of all: ``make test`` makes a few calls."""

FEW = 1

PAIRS = 120
"""How many pairs of spoilers are drawn for each entry point."""

UNCHANGEABLE = (RuntimeError, TypeError, IndexError)
"""What torch says of a tensor that cannot be changed so. Every spoiler can change a plain tensor, and is tried on one."""

CALLS: Counter[str] = Counter()
"""How many hostile calls there are of each entry point that was tried."""


def spoiled(entry: Entry, changes: dict[str, Spoiler], world: World = World(), *, twin: bool = False) -> Call:  # noqa: B008
    call = build(entry, world, changes)
    for name, change in changes.items():
        make = change.twin if twin and change.twin is not None else change.make
        try:
            call.arguments[name] = make(call.arguments[name])
        except UNCHANGEABLE:
            if len(changes) == 1 and world == World():
                raise
    return call


def attempt(entry: Entry, changes: dict[str, Spoiler], expect: str, world: World | None = None) -> Attempt:
    world = world or World()
    label = ", ".join(f"{name}: {change.label}" for name, change in changes.items())
    label += f", in {world}" if world != World() else ""
    names = tuple(changes) if world == World() else tuple(entry.parameters)
    twin = None
    if any(change.twin for change in changes.values()):
        twin = lambda: spoiled(entry, changes, world, twin=True)  # noqa: E731
    return Attempt(entry, label, names, expect, lambda: spoiled(entry, changes, world), twin)


def attempts(entry: Entry) -> Iterator[Attempt]:
    """All hostile calls of an entry point, the plain one among them."""
    everything = tuple(entry.parameters)
    for world, expect in worlds(entry):
        yield Attempt(entry, str(world), everything, expect, lambda world=world: build(entry, world))
        if world.scale == 1 and not world.sizes:
            full = lambda world=world: build(entry, world, everything)  # noqa: E731
            yield Attempt(entry, f"all arguments, {world}", everything, EITHER, full)
    single = {name: spoilers(entry, name) for name in entry.parameters}
    for name, changes in single.items():
        for change in changes:
            yield attempt(entry, {name: change}, change.expect)
    yield from broken_modules(entry)
    draw = random.Random(entry.name)
    others = [world for world, expect in worlds(entry)]
    many = [name for name, changes in single.items() if changes]
    for _ in range(PAIRS if many else 0):
        names = draw.sample(many, min(len(many), draw.choice((1, 2, 2))))
        chosen = {name: draw.choice(single[name]) for name in names}
        world = draw.choice(others) if len(names) == 1 else World()
        labels = " ".join([world.change, *(change.label for change in chosen.values())])
        if "inference" in labels and any(word in labels for word in ("grad", "parameter")):
            continue  # torch itself refuses to mix these
        yield attempt(entry, chosen, EITHER, world)


def broken_modules(entry: Entry) -> Iterator[Attempt]:
    """Calls of a module with parameters that are NaN: a fused kernel may make zeros of them."""
    module = build(entry, World()).module
    if isinstance(module, nn.Module):
        whole = entry.name.endswith(".forward")  # which uses every parameter
        for name, _ in module.named_parameters():
            make = lambda name=name: broken(build(entry, World()), name)  # noqa: E731
            yield Attempt(entry, f"{name} is NaN", (), REFUSE if whole else EITHER, make)


@pytest.mark.sweep(1)
@pytest.mark.parametrize("entry", entry_points(), ids=lambda entry: entry.name)
def test_hostile_calls(entry, request):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    faults = []
    try:
        every = list(attempts(entry))
        CALLS[entry.name] = len(every)
        plain, others = ([one for one in every if (one.label == str(World())) == wanted] for wanted in (True, False))
        names = lambda one: f"{entry.name} {one.label}"  # noqa: E731
        share = min(SHARE, FEW / len(others)) if entry.name in DEAR else SHARE
        made = plain + sample(others, share, request.config.getoption("tier"), names)
        for one in made:
            with bounded(TOO_LONG):
                fault = judge(one)
            if fault:
                faults.append(f"{one.label}: {fault}")
    except NoRecipe as missing:
        pytest.fail(str(missing))
    finally:
        torch.set_warn_always(before)
    assert not faults, f"{len(faults)} of {len(made)} calls:\n" + "\n".join(faults[:40])


PER_EDGE = ("message_passing.edge_weights", "message_passing.segment_softmax", "message_passing.ising_graph")
"""What returns several numbers of one distribution, or tables: test_graphs.py and test_beliefs.py have tests for these."""
WITH_BETAS = [
    entry
    for entry in entry_points()
    if "beta" in entry.parameters and "scalar" in kinds(entry, "beta") and entry.name not in PER_EDGE
]


@pytest.mark.parametrize("batch", [(2,), (), (3, 2)], ids=str)
@pytest.mark.parametrize("entry", [entry for entry in WITH_BETAS if not inspect.isclass(entry.function)], ids=lambda e: e.name)
@pytest.mark.sweep(1 / 3)
def test_a_tensor_beta_is_one_number_for_each_distribution(entry, batch):
    """One rule: beta broadcasts to the shape of the scores less their last axis, and each number acts on its own row."""
    call = build(entry, World(batch=batch, dtype=torch.float64))
    shape = distributions(entry, call)
    beta = torch.linspace(0.3, 1.7, max(1, math.prod(shape)), dtype=torch.float64).reshape(shape)
    found = leaves(Call(entry, call.arguments | {"beta": beta})())
    for number in beta.flatten().tolist():
        for name, alone in leaves(Call(entry, call.arguments | {"beta": number})()).items():
            torch.testing.assert_close(found[name][beta == number], alone[beta == number])


def test_the_suite_is_not_empty():
    """Enough entry points were found, and each can be called in enough ways to mean something."""
    assert {*DEAR} <= {entry.name for entry in entry_points()}
    if len(CALLS) < len(entry_points()):
        pytest.skip("not all entry points were tried")
    total = sum(CALLS.values())
    assert len(CALLS) >= 75, f"{len(CALLS)} entry points: {sorted(CALLS)}"
    assert total >= 25_000, f"{total} calls of {len(CALLS)} entry points: {CALLS}"
