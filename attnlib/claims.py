"""Claims: a sentence, a measurement and a bound, asserted next to where the sentence is made."""

import html
import math
import re
import sys
from dataclasses import dataclass
from typing import Any

import torch

_ID = re.compile(r"\d+[a-z]?\.\d+")


class ClaimError(AssertionError):
    """A claim does not hold. The message names the claim, what was measured and what was expected.

    >>> try:
    ...     claim("0.1", "two and two make five", 2 + 2, expected=5, atol=1e-12)
    ... except ClaimError as error:
    ...     print(error)
    claim 0.1: two and two make five: measured 4, expected 5 ± 1e-12
    """


@dataclass(frozen=True)
class Claim:
    """One claim that held: id, sentence, measured value and bound as text. Shows itself as one line.

    >>> Claim("0.1", "two and two make four", "4", "4 ± 1e-12")
    claim 0.1 | two and two make four | measured 4 | bound 4 ± 1e-12 | ✓
    """

    id: str
    sentence: str
    measured: str
    bound: str

    def __str__(self) -> str:
        return f"claim {self.id} | {self.sentence} | measured {self.measured} | bound {self.bound} | \u2713"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = (
            f'<span class="claim-id">Claim {self.id}</span>',
            f'<span class="claim-sentence">{html.escape(self.sentence)}</span>',
            f'<span class="claim-measured">measured {html.escape(self.measured)}</span>',
            f'<span class="claim-bound">bound {html.escape(self.bound)}</span>',
            '<span class="claim-tick">\u2713</span>',
        )
        return f'<div class="claim" id="claim-{self.id.replace(".", "-")}">{" ".join(cells)}</div>'


def claim(
    id: str,
    sentence: str,
    measured: Any,
    *,
    expected: Any = None,
    atol: float | int | None = None,
    below: float | int | None = None,
    above: float | int | None = None,
    between: tuple[float | int, float | int] | None = None,
) -> None:
    """Assert a quantitative sentence and show one line: id, sentence, measured value, bound, tick.

    Exactly one kind of bound: ``expected`` with ``atol`` (numbers, or tensors of one shape: then Δ, the largest deviation,
    is shown), ``below``, ``above``, or ``between=(low, high)``. A tensor with ``below`` or ``above`` must hold in every
    entry and shows its worst one.

    Args:
        id: ``"chapter.number"``, unique and stable, such as ``"3.2"``.
        sentence: what holds, in words, on one line without ``|``.
        measured: a number or tensor; NaN fails every bound.

    Raises:
        ClaimError: the bound does not hold.
        ValueError: no bound, two bounds, a bound that cannot fail (not finite, or a value compared with itself), a malformed
            id or sentence, shapes that differ.

    >>> claim("0.1", "two and two make four", 2 + 2, expected=4, atol=1e-12)
    claim 0.1 | two and two make four | measured 4 | bound 4 ± 1e-12 | ✓
    """
    if not _ID.fullmatch(id):
        raise ValueError(f'id is {id!r}; expected "chapter.number", such as "3.2"')
    if not sentence.strip() or "|" in sentence or "\n" in sentence:
        raise ValueError(f"sentence is {sentence!r}; expected one line of words without |")
    bounds = [b for b in (expected, below, above, between) if b is not None]
    if len(bounds) != 1 or (expected is not None) != (atol is not None):
        raise ValueError("expected exactly one bound: expected with atol, below, above, or between")
    if expected is not None and measured is expected and not isinstance(measured, int):  # equal small integers are one object
        raise ValueError("measured and expected are the same object; expected an independent value")
    value = _numbers("measured", measured)
    if value.numel() == 0:
        raise ValueError("measured is empty; expected at least one number")
    shown, fine, bound = _judge(value, expected, atol, below, above, between)
    if not fine:
        raise ClaimError(f"claim {id}: {sentence}: measured {shown}, expected {bound}")
    _show(Claim(id, sentence, shown, bound))


def _judge(
    value: torch.Tensor,
    expected: Any,
    atol: float | int | None,
    below: float | int | None,
    above: float | int | None,
    between: tuple[float | int, float | int] | None,
) -> tuple[str, bool, str]:
    """Return the measured value as text, whether it is within the bound, the bound as text."""
    if expected is not None:
        target = _numbers("expected", expected)
        if target.shape != value.shape:
            raise ValueError(f"expected has shape {tuple(target.shape)}; measured has {tuple(value.shape)}")
        atol = _bound("atol", atol, positive=True)
        if not bool(torch.isfinite(target).all()):
            raise ValueError("expected is not finite; a bound must be able to fail")
        deviation = (value - target).abs().max().item()
        if value.numel() == 1:
            return _text(value.item()), deviation <= atol, f"{_text(target.item())} \u00b1 {_text(atol)}"
        return f"\u0394 {deviation:.2g}", deviation <= atol, f"\u0394 \u2264 {_text(atol)}"
    if between is not None:
        low, high = (_bound("between", number) for number in between)
        if not low < high:
            raise ValueError(f"between is {between}; expected low < high")
        worst = value.flatten()[(value - (low + high) / 2).abs().argmax()].item()
        return _text(worst), low <= worst <= high, f"in [{_text(low)}, {_text(high)}]"
    if below is not None:
        below = _bound("below", below)
        return _text(value.max().item()), value.max().item() < below, f"< {_text(below)}"
    above = _bound("above", above)
    return _text(value.min().item()), value.min().item() > above, f"> {_text(above)}"


def _numbers(name: str, numbers: Any) -> torch.Tensor:
    """Real numbers of any kind in float64: a Python float must not be rounded to torch's default float32 on the way."""
    dtype = torch.as_tensor(numbers).dtype
    if dtype.is_complex:
        raise ValueError(f"{name} has dtype {dtype}; expected real numbers")
    return torch.as_tensor(numbers, dtype=torch.float64).detach()


def _bound(name: str, number: float | int | None, positive: bool = False) -> float | int:
    if number is None or not math.isfinite(number) or (positive and number <= 0):
        raise ValueError(f"{name} is {number}; expected a finite {'positive ' * positive}number")
    return number


def _text(number: float | int) -> str:
    return f"{number:.4g}"


def _show(made: Claim) -> None:
    """Display in a notebook, print elsewhere."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(made)
    else:
        print(made)
