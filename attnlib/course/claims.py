"""Claims: a sentence, a measurement and a bound, asserted next to where the sentence is made."""

import html
import math
import re
import sys
from dataclasses import dataclass
from typing import Any

import torch

_ID = re.compile(r"\d+\.\d+[a-z]?")
_RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
# Each claim carries its own style, in colours that read on white and on black: notebooks have no style sheet of ours.
_ROW = "display:flex;flex-wrap:wrap;align-items:baseline;gap:0 1em;margin:.3em 0;padding:.25em .8em;line-height:1.45;"
_QUIET = _ROW + "border-left:2px solid #8a939e;font-size:.92em"
_KEY = _ROW + "border-left:4px solid #0e8a5f;background:rgba(14,138,95,.13);padding:.55em .8em"


class ClaimError(AssertionError):
    """A claim does not hold. The message names the claim, what was measured and what was expected.

    >>> try:
    ...     claim("0.1", "two and two make five", 2 + 2, expected=5, atol=1e-12)
    ... except ClaimError as error:
    ...     print(error)
    claim 0.1: two and two make five: measured 4, expected 5 ± 10⁻¹²
    """


@dataclass(frozen=True)
class Claim:
    """One claim that held: id, sentence, measured value and bound as text, and whether it is a section's key claim.

    >>> Claim("0.1", "two and two make four", "4", "4 ± 10⁻¹²")
    claim 0.1 | two and two make four | measured 4 | bound 4 ± 10⁻¹² | ✓
    """

    id: str
    sentence: str
    measured: str
    bound: str
    key: bool = False

    def __str__(self) -> str:
        name = "key claim" if self.key else "claim"
        return f"{name} {self.id} | {self.sentence} | measured {self.measured} | bound {self.bound} | \u2713"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = (
            ("id", "font-weight:600;white-space:nowrap", f"Claim {self.id}"),
            ("sentence", "flex:1 1 16em" + ";font-weight:600" * self.key, self.sentence),
            ("measured", "opacity:.8;white-space:nowrap", f"measured {self.measured}"),
            ("bound", "opacity:.8;white-space:nowrap", f"bound {self.bound}"),
            ("tick", "font-weight:600", "\u2713"),
        )
        cells = (f'<span class="claim-{part}" style="{style}">{html.escape(text)}</span>' for part, style, text in parts)
        kind, style = ("claim key", _KEY) if self.key else ("claim", _QUIET)
        return f'<div class="{kind}" id="claim-{self.id.replace(".", "-")}" style="{style}">{" ".join(cells)}</div>'


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
    key: bool = False,
) -> None:
    """Assert a quantitative sentence and show one line: id, sentence, measured value, bound, tick.

    Exactly one kind of bound: ``expected`` with ``atol`` (numbers, or tensors of one shape: then Δ, the largest deviation,
    is shown), ``below``, ``above``, or ``between=(low, high)``. A tensor with ``below`` or ``above`` must hold in every
    entry and shows its worst one.

    Args:
        id: ``"chapter.number"``, unique and stable, such as ``"3.2"``; one that came later has a letter, ``"3.2a"``.
        sentence: what holds, in words, on one line without bars and backticks; formulas are TeX between dollar signs.
        measured: a number or tensor; NaN fails every bound.
        key: whether this is the claim that its section is about; it stands out, the others are quiet.

    Raises:
        ClaimError: the bound does not hold.
        ValueError: no bound, two bounds, a bound that cannot fail (not finite, or a value compared with itself), a malformed
            id or sentence, shapes that differ.

    >>> claim("0.1", "Two and two make four.", 2 + 2, expected=4, atol=1e-12)
    claim 0.1 | Two and two make four. | measured 4 | bound 4 ± 10⁻¹² | ✓
    """
    if not _ID.fullmatch(id):
        raise ValueError(f'id is {id!r}; expected "chapter.number", such as "3.2"')
    if not sentence.strip() or set("|`\n") & set(sentence):
        raise ValueError(f"sentence is {sentence!r}; expected one line of words without | and `")
    if sentence.count("$") % 2:
        raise ValueError(f"sentence is {sentence!r}; expected formulas between two $")
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
    _show(Claim(id, sentence, shown, bound, key))


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
        return f"\u0394 {_text(deviation, 2)}", deviation <= atol, f"\u0394 \u2264 {_text(atol)}"
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


def _text(number: float | int, digits: int = 4) -> str:
    """The number as one writes it: 24,000, 0.125, 1.4 × 10⁻⁷."""
    if 1e3 <= abs(number) < 1e7:
        return f"{number:,.0f}".replace("-", "\u2212")
    number = float(f"{number:.12g}")  # of two numbers that differ by rounding, one is not shown with another last digit
    mantissa, _, exponent = f"{number:.{digits}g}".partition("e")
    mantissa = mantissa.replace("-", "\u2212")
    if not exponent:
        return mantissa
    power = "10" + str(int(exponent)).translate(_RAISED)
    return mantissa.replace("1", power) if mantissa in ("1", "\u22121") else f"{mantissa}\u00a0\u00d7\u00a0{power}"


def _show(made: Claim) -> None:
    """Display in a notebook, print elsewhere."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(made)
    else:
        print(made)
