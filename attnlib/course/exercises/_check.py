"""The checker: tries an answer on the inputs of an exercise and says whether it is right, or what probably went wrong."""

import importlib
from collections.abc import Callable, Sequence
from typing import cast, final

import torch
from torch import Tensor

from attnlib.course.exercises._compare import agrees, largest, resolution, wide
from attnlib.course.exercises._exercise import Exercise, Misuse, Verdict
from attnlib.course.exercises._parts import Parts

PAGES = {
    "1": "attnlib.course.exercises.softmax_limits",
    "2a": "attnlib.course.exercises.scaled_dot_product",
    "2b": "attnlib.course.exercises.translation",
    "2c": "attnlib.course.exercises.hops_and_heads",
    "3a": "attnlib.course.exercises.associative_memory",
    "3b": "attnlib.course.exercises.gradient_step",
    "3c": "attnlib.course.exercises.flatland",
    "3d": "attnlib.course.exercises.energy_attention",
    "4a": "attnlib.course.exercises.mean_field_tap",
    "4b": "attnlib.course.exercises.implicit_attention",
    "4c": "attnlib.course.exercises.spin_classifier",
    "5a": "attnlib.course.exercises.vector_spins",
    "5b": "attnlib.course.exercises.where_z_sticks",
    "5c": "attnlib.course.exercises.vector_spin_attention",
    "6a": "attnlib.course.exercises.graph_attention",
    "6b": "attnlib.course.exercises.beliefs",
    "7a": "attnlib.course.exercises.one_block_many_mixers",
    "7b": "attnlib.course.exercises.one_step_or_many",
    "7c": "attnlib.course.exercises.collectives_of_spins",
    "7d": "attnlib.course.exercises.under_the_instruments",
    "8a": "attnlib.course.exercises.arrow_of_time",
    "8b": "attnlib.course.exercises.what_is_forgotten",
    "8c": "attnlib.course.exercises.driven_attention",
}
"""Page number to the module with its exercises; a page registers itself here."""


def exercises(page: str) -> dict[str, Exercise[...]]:
    """Return the exercises of a page such as ``"3b"``, by number. Raises ValueError for a page that has none.

    >>> sorted(exercises("3c"))[:2]
    ['1', '2']
    """
    if page not in PAGES:
        raise ValueError(f"page is {page!r}; expected one of {', '.join(map(repr, PAGES))}")
    return cast("dict[str, Exercise[...]]", importlib.import_module(PAGES[page]).EXERCISES)


def check(exercise: str | Exercise[...], answer: object) -> None:
    """Try an answer and print one line: right, or what probably went wrong. For a grader there is :func:`verdict`.

    Args:
        exercise: page and number, such as ``"3b.1"``, or an `Exercise` of your own.
        answer: the function asked for; it is called with the exercise's inputs, float64 tensors on our pages, and must return a
            tensor. In float32 or a smaller dtype it may deviate by what that dtype costs the reference.

    Raises:
        ValueError: an unknown id, or an exercise that cannot tell right from wrong. A wrong answer raises nothing, so that a
            page runs through before it is solved.

    >>> check("3c.1", lambda memory: memory.tolist())
    exercise 3c.1: not yet. It returns a list; a tensor was expected.
    """
    title, _ = _find(exercise)
    print(f"{title}: {verdict(exercise, answer).message}")


def verdict(exercise: str | Exercise[...], answer: object) -> Verdict:
    """Try an answer and return what :func:`check` prints, with the name of the mistake.

    Arguments and errors are those of :func:`check`.

    >>> verdict("3c.1", lambda memory: (memory @ memory.T).diagonal() - (memory @ memory.T).amax(-1)).mistake
    'itself among the others'
    """
    trial = _Trial(*_find(exercise))
    if not callable(answer):
        return Verdict(False, f"not yet. That is a {type(answer).__name__}: pass the function, without calling it.")
    found: list[Tensor] = []
    for arguments in trial.inputs:
        try:
            result = answer(*map(_fresh, arguments))
        except Misuse as misuse:
            return trial.named(misuse.mistake)
        except Exception as error:  # whatever the reader's code raises is part of the answer
            text = str(error).strip().partition("\n")[0]
            return Verdict(False, f"not yet. It raised {type(error).__name__}: {text}")
        if result is None or result is ...:
            return Verdict(False, "not yet. It returns nothing: replace the dots.")
        if not isinstance(result, Tensor):
            return Verdict(False, f"not yet. It returns a {type(result).__name__}; a tensor was expected.")
        found.append(result)
    return trial.judge(found)


def _find(exercise: str | Exercise[...]) -> tuple[str, Exercise[...]]:
    """The exercise, and what to call it."""
    if isinstance(exercise, Exercise):
        return f"exercise {exercise.title}".strip(), exercise
    page, _, number = exercise.partition(".")
    known = exercises(page)
    if number not in known:
        raise ValueError(f"exercise is {exercise!r}; expected one of {', '.join(f'{page}.{n}' for n in known)}")
    return f"exercise {exercise}", known[number]


def _fresh(argument: object, dtype: torch.dtype | None = None) -> object:
    """A copy that an answer may spoil, with its real numbers in another dtype if one is given."""
    if isinstance(argument, Parts) or (isinstance(argument, Tensor) and argument.is_floating_point()):
        return argument.clone() if dtype is None else argument.clone().to(dtype)
    return argument.clone() if isinstance(argument, Tensor) else argument


def _arguments(given: object, title: str) -> tuple[object, ...]:
    if not isinstance(given, tuple):
        raise ValueError(f"an input of {title} is a {type(given).__name__}; expected a tuple of arguments")
    return cast("tuple[object, ...]", given)


@final
class _Target:
    """What a function returns on the inputs: in double precision, and from inputs rounded to another dtype."""

    def __init__(self, function: Callable[..., object], inputs: Sequence[tuple[object, ...]], whose: str):
        self.function, self.inputs = function, inputs
        try:
            results = [function(*map(_fresh, arguments)) for arguments in inputs]
        except Misuse:
            raise
        except Exception as error:
            raise ValueError(f"{whose} raises {type(error).__name__}: {error}; expected a tensor on all inputs") from error
        self.exact: list[Tensor] = []
        self.known: dict[tuple[int, torch.dtype], Tensor] = {}
        for result in results:
            if not isinstance(result, Tensor):
                raise ValueError(f"{whose} returns a {type(result).__name__}; expected a tensor")
            self.exact.append(wide(result))

    def rough(self, case: int, dtype: torch.dtype) -> Tensor:
        """The numbers of one call in a smaller dtype; the exact ones where torch cannot compute them there."""
        if resolution(dtype) <= resolution(torch.float64):
            return self.exact[case]
        if (case, dtype) not in self.known:
            try:
                result = self.function(*(_fresh(argument, dtype) for argument in self.inputs[case]))
            except Exception:  # there are no eigenvalues in half precision, for example
                result = None
            self.known[case, dtype] = wide(result) if isinstance(result, Tensor) else self.exact[case]
        return self.known[case, dtype]


@final
class _Trial:
    """An exercise with all that an answer is compared to. Raises ValueError where that cannot tell right from wrong."""

    def __init__(self, title: str, exercise: Exercise[...]):
        self.exercise = exercise
        self.inputs = [_arguments(given, title) for given in exercise.inputs()]
        if not self.inputs:
            raise ValueError(f"the inputs of {title} are empty; expected at least one tuple of arguments")
        self.reference = _Target(exercise.reference, self.inputs, f"the reference of {title}")
        others = [_Target(other, self.inputs, f"an alternative of {title}") for other in exercise.alternatives]
        self.rights, self.wrongs = [self.reference, *others], dict[str, _Target]()
        for name in exercise.mistakes:
            self._add(name, f"the mistake {name!r} of {title}")

    def _add(self, name: str, whose: str) -> None:
        try:
            wrong = _Target(self.exercise.mistakes[name].answer, self.inputs, whose)
        except Misuse as misuse:
            if misuse.mistake != name:
                raise ValueError(f"{whose} is recognised as {misuse.mistake!r}; expected its own name") from misuse
            return
        if any(self._is(wrong.exact, right) for right in self.rights):
            raise ValueError(f"{whose} returns right numbers on all inputs; expected an input on which it is wrong")
        twin = next((earlier for earlier, target in self.wrongs.items() if self._is(wrong.exact, target)), None)
        if twin is not None:
            raise ValueError(f"{whose} returns the numbers of {twin!r} on all inputs; expected an input that tells them apart")
        self.wrongs[name] = wrong

    def named(self, name: str) -> Verdict:
        """The verdict on a mistake with a name."""
        return Verdict(False, f"not yet. {self.exercise.mistakes[name].message}", name)

    def judge(self, found: list[Tensor]) -> Verdict:
        """The verdict on the tensors that an answer returned."""
        right = any(self._is(found, target) for target in self.rights)
        mistake = next((n for n, t in self.wrongs.items() if self._is(found, t) or self._is(found, t, rounded=True)), None)
        if right and mistake is None:
            return Verdict(True, "right.")
        if right:
            return Verdict(False, f"not yet. It returns {found[0].dtype}, too coarse to tell right from wrong here.")
        return self.unnamed(found) if mistake is None else self.named(mistake)

    def unnamed(self, found: list[Tensor]) -> Verdict:
        """The verdict on a wrong answer that is none of the known mistakes."""
        for f, target in zip(found, self.reference.exact, strict=True):
            if f.shape != target.shape:
                return Verdict(False, f"not yet. It returns shape {tuple(f.shape)}; {tuple(target.shape)} was expected.")
        cases = enumerate(zip(found, self.reference.exact, strict=True))
        pairs = [(self._seen(f, case), self._seen(e, case)) for case, (f, e) in cases]
        if any(bool((~f.isfinite() & e.isfinite()).any()) for f, e in pairs):
            return Verdict(False, "not yet. The shape is right, but some of the numbers are NaN or infinite.")
        worst = f"the largest deviation is {max(largest(f - e) for f, e in pairs):.3g}."
        if any(self._is([f.float() for f in found], target) for target in self.rights):
            hint = "Look for a step in float32, or an approximation."
            return Verdict(False, f"not yet. The numbers are right in single precision only: {worst} {hint}")
        return Verdict(False, f"not yet. The shape is right, the numbers are not: {worst}")

    def _is(self, found: list[Tensor], target: _Target, rounded: bool = False) -> bool:
        """Whether an answer agrees with a target on all inputs, or with what the target becomes in its dtype, NaN included."""
        for case, f in enumerate(found):
            exact, rough = target.exact[case], target.rough(case, f.dtype)
            if not f.shape == exact.shape == rough.shape:
                return False
            seen, exact, rough = (self._seen(numbers, case) for numbers in (f, exact, rough))
            if not agrees(seen, f.dtype, *((rough, exact) if rounded else (exact, rough))):
                return False
        return True

    def _seen(self, numbers: Tensor, case: int) -> Tensor:
        """What of a tensor is compared: a view of it if the exercise has one and the shape is right."""
        view = self.exercise.compare_as
        if view is None or numbers.shape != self.reference.exact[case].shape:
            return wide(numbers)
        return view(wide(numbers))
