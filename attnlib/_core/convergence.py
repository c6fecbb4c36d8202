"""When a solver stops, and what it says when it stops short: raised or warned, never silent."""

import warnings
from typing import Any, Literal

from attnlib._core.checks import check_choice, check_count, check_number

OnFailure = Literal["error", "warn"]
"""What a solver does when it does not converge: raise a ConvergenceError, or warn and return what it has."""


class ConvergenceError(RuntimeError):
    """A solver stopped short of its tolerance. It carries the ``iterations`` done and the largest ``residual`` left.

    That of :func:`attnlib.solve.fixed_point` has also ``found``, the best states seen: another method can go on from there.

    >>> from attnlib import find_fixed_points
    >>> points = torch.tensor([[1.0], [-1.0]])
    >>> try:
    ...     find_fixed_points(torch.tensor([[0.1]]), points, beta=1.01, max_steps=2)
    ... except ConvergenceError as error:
    ...     print(error.iterations, error.residual > 0)
    2 True
    """

    def __init__(self, message: str, *, iterations: int, residual: float, found: Any = None) -> None:
        super().__init__(message)
        self.iterations, self.residual, self.found = iterations, residual, found


class ConvergenceWarning(UserWarning):
    """A solver that was asked to go on with ``on_failure="warn"`` stopped short, or came to rest where nothing holds it.

    >>> from attnlib import find_fixed_points
    >>> points = torch.tensor([[1.0], [-1.0]])
    >>> with warnings.catch_warnings(record=True) as said:
    ...     found = find_fixed_points(torch.tensor([[0.1]]), points, beta=1.01, max_steps=2, on_failure="warn")
    >>> said[0].category.__name__, found.reached
    ('ConvergenceWarning', tensor([-1]))
    """


def check_solver(tolerance: float | int | None, max_steps: int, on_failure: OnFailure, *, default: float) -> tuple[float, int]:
    """Return a solver's tolerance, the default where none is given, and its steps; raise as the public functions say."""
    check_choice("on_failure", on_failure, ("error", "warn"))
    max_steps = check_count("max_steps", max_steps)
    return check_number("tolerance", default if tolerance is None else tolerance, above=0), max_steps


def report_failure(message: str, *, iterations: int, residual: float, on_failure: OnFailure, found: Any = None) -> None:
    """Raise a ConvergenceError or warn, as the caller chose: a solver never returns quietly."""
    if on_failure == "error":
        raise ConvergenceError(message, iterations=iterations, residual=residual, found=found)
    warnings.warn(message, ConvergenceWarning, stacklevel=3)
