"""One contestant trained once: a task, a seed, a learning rate, and what came of it."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import torch
from torch import Tensor, nn

from attnlib._core.checks import check_count, check_device, check_kind, check_number
from attnlib._core.convergence import ConvergenceError
from attnlib._core.training import FASTEST, learn
from attnlib._core.values import check_result
from attnlib.transformer.records import TrainingRun

Thing = TypeVar("Thing")

FRESH = 2**32
"""What is added to a run's seed for the examples that judge it: no run learns from what it is judged on."""


@runtime_checkable
class Task(Protocol):
    """What contestants are trained and judged on. Shapes and errors are its own: errors are those of the task.

    ``batch(n, generator)`` draws n examples from the generator alone: inputs, a tensor or a tuple or dictionary of them, and
    targets. ``model(mixer)`` puts a mixer into a network that takes the inputs as they are. ``loss(output, targets)`` is what
    is learnt, ``score(output, targets)`` one number that is reported.

    A task may say more, where it has it: ``better``, ``"higher"`` (default) or ``"lower"``, which scores are good;
    ``success(score)``, whether a run has succeeded; ``floor`` and ``exact``, the scores of one who knows nothing of the
    context and of one who knows all.

    >>> class Parity:
    ...     def batch(self, n, generator):
    ...         bits = torch.randint(2, (n, 4), generator=generator)
    ...         return bits.float(), bits.sum(-1) % 2
    ...     def model(self, mixer):
    ...         return nn.Sequential(nn.Unflatten(-1, (4, 1)), nn.Linear(1, 8), mixer, nn.Flatten(), nn.Linear(32, 2))
    ...     def loss(self, output, targets):
    ...         return nn.functional.cross_entropy(output, targets)
    ...     def score(self, output, targets):
    ...         return (output.argmax(-1) == targets).float().mean()
    >>> isinstance(Parity(), Task)
    True
    """

    def batch(self, n: int, generator: torch.Generator) -> tuple[Any, Any]:
        """Draw n examples: inputs and targets. Shapes and errors are those of the task."""
        raise NotImplementedError

    def model(self, mixer: nn.Module) -> nn.Module:
        """A network with this mixer in it. Shapes and errors are those of the task."""
        raise NotImplementedError

    def loss(self, output: Any, targets: Any) -> Tensor:
        """What is learnt, a number ``[]``. Errors are those of the task."""
        raise NotImplementedError

    def score(self, output: Any, targets: Any) -> Any:
        """What is reported, a number ``[]``. Errors are those of the task."""
        raise NotImplementedError


def train_one(
    make: Callable[[], nn.Module],
    task: Task,
    *,
    rate: float | int,
    seed: int,
    steps: int,
    batch: int = 64,
    test: int = 1024,
    warm_up: int | None = None,
    clip: float | int = 1.0,
    device: torch.device | str | None = None,
    watch: Callable[[nn.Module, int], None] | None = None,
) -> TrainingRun:
    """Train one mixer on a task, from one seed, and judge it on examples that it has not seen.

    Adam; the learning rate rises in a straight line, then falls to zero along a cosine; gradients are cut. The seed decides
    the mixer's start and what is drawn in training, from torch's own generator, which is put back afterwards; and the
    examples, from a generator of their own, so that all contestants of one seed learn from the same.

    Args:
        make: makes the mixer; called once, after the seed is set.
        task: a :class:`Task`.
        rate: the learning rate's highest value.
        seed: of this run.
        steps: how many batches to learn from.
        batch: examples in a batch; default 64.
        test: examples that it is judged on, from a seed that no run learns from; default 1024.
        warm_up: how many steps the learning rate rises for; default a twentieth of them.
        clip: the gradient's norm is cut to this; default 1.
        device: where it is trained; default the processor. Examples are drawn on the processor wherever that is.
        watch: called with the model and the number of steps done, before the first and after each.

    Returns:
        :class:`TrainingRun`, with the trained model. A run whose loss stops being a number, or whose solver stops converging,
        after the first step is one that failed, with the reason; an error before that is raised.

    Raises:
        ValueError: settings out of range, something else than a task; and what the task and its model raise at first.

    >>> from attnlib.attention import SoftmaxAttention
    >>> class Copy:
    ...     def batch(self, n, generator):
    ...         x = torch.randn(n, 3, 4, generator=generator)
    ...         return x, x
    ...     def model(self, mixer):
    ...         return mixer
    ...     def loss(self, output, targets):
    ...         return (output - targets).square().mean()
    ...     score = loss
    >>> run = train_one(lambda: SoftmaxAttention(4), Copy(), rate=0.01, seed=0, steps=20)
    >>> run.succeeded, len(run.losses), run.losses[-1] < run.losses[0]
    (True, 20, True)
    """
    check_kind("task", task, Task, "a Task, with batch, model, loss and score")
    if not callable(make) or (watch is not None and not callable(watch)):
        raise ValueError(f"make is {make!r:.40} and watch {watch!r:.40}; expected functions, or None for watch")
    rate = check_number("rate", rate, above=0)
    if rate > FASTEST:
        raise ValueError(f"rate is {rate:g}; expected at most {FASTEST:g}")
    seed, steps = check_count("seed", seed, 0, FRESH - 1), check_count("steps", steps)
    batch, test = check_count("batch", batch), check_count("test", test)
    check_device(device)
    where, done = torch.device(device or "cpu"), 0
    if where.type == "meta":
        raise ValueError("device is meta, where tensors have no values; expected one that can train")

    def lessons() -> Iterator[tuple[Any, Any]]:
        generator = torch.Generator().manual_seed(seed)
        for _ in range(steps):
            yield _moved(task.batch(batch, generator), where)

    def loss_of(lesson: tuple[Any, Any]) -> Tensor:
        return check_result(task.loss(model(lesson[0]), lesson[1]), "the loss is")

    def count(step: int) -> None:
        nonlocal done
        done = step
        if watch is not None:
            watch(model, step)

    with torch.random.fork_rng([where] if where.type == "cuda" else []):
        torch.manual_seed(seed)
        model = task.model(make())
        check_kind("model", model, nn.Module, "a torch.nn.Module, from task.model")
        model, losses, failure, score = model.to(where).train(), [], "", float("nan")
        began = time.perf_counter()
        try:
            losses = learn(model, lessons(), loss_of, "task", steps, rate, clip, count, warm_up)
            seconds = time.perf_counter() - began
            score = _judged(model, task, *_moved(task.batch(test, torch.Generator().manual_seed(FRESH + seed)), where))
        except (ValueError, ConvergenceError) as error:
            if not done:
                raise
            failure, seconds = str(error), time.perf_counter() - began
    succeeded = not failure and _has_succeeded(task, score)
    numbers = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return TrainingRun(seed, rate, steps, tuple(losses), score, succeeded, failure, seconds, numbers, model)


def _judged(model: nn.Module, task: Task, inputs: Any, targets: Any) -> float:
    """The score on these examples; ValueError if it is no number."""
    with torch.no_grad():
        score = float(task.score(model.eval()(inputs), targets))
    return check_number("the score", score)


def _has_succeeded(task: Task, score: float) -> bool:
    success = cast("Callable[[float], bool] | None", getattr(task, "success", None))
    return success is None or bool(success(score))


def _moved(thing: Thing, device: torch.device) -> Thing:
    """The same on a device: tensors, alone or in tuples, lists and dictionaries."""
    if isinstance(thing, Tensor):
        return cast("Thing", thing.to(device))
    if isinstance(thing, Mapping):
        return cast("Thing", {key: _moved(part, device) for key, part in thing.items()})
    if isinstance(thing, Sequence) and not isinstance(thing, str):
        return cast("Thing", tuple(_moved(part, device) for part in thing))
    return thing
