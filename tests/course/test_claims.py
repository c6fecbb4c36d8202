import math
import re
import types

import numpy as np
import pytest
import torch

from attnlib.course import ClaimError, claim, claims

HOLDS = [
    (1e-8, {"below": 1e-6}, "measured 10⁻⁸ | bound < 10⁻⁶"),
    (3, {"above": 2}, "measured 3 | bound > 2"),
    (0.5, {"between": (0, 1)}, "measured 0.5 | bound in [0, 1]"),
    (1, {"between": (0, 1)}, "measured 1 | bound in [0, 1]"),
    (2.0, {"expected": 2.005, "atol": 0.01}, "measured 2 | bound 2.005 ± 0.01"),
    (4, {"expected": 4, "atol": 1}, "measured 4 | bound 4 ± 1"),
    (torch.tensor([1.0, 2.0]), {"below": 2.5}, "measured 2 | bound < 2.5"),
    (torch.tensor([1.0, 2.0]), {"above": 0.5}, "measured 1 | bound > 0.5"),
    (torch.tensor([0.1, 0.9, 0.4]), {"between": (0, 1)}, "measured 0.1 | bound in [0, 1]"),
    (
        torch.ones(2, 2),
        {"expected": torch.ones(2, 2) + 1e-3, "atol": 0.01},
        "measured Δ 0.001 | bound Δ ≤ 0.01",
    ),
    (torch.ones((), dtype=torch.float16, requires_grad=True), {"above": 0.5}, "measured 1 | bound > 0.5"),
    (np.float32(0.25), {"below": 1}, "measured 0.25 | bound < 1"),
    ([1.0, 2.0], {"expected": [1.0, 2.0], "atol": 1e-9}, "measured Δ 0 | bound Δ ≤ 10⁻⁹"),
]


@pytest.mark.parametrize(("measured", "bound", "line"), HOLDS)
def test_a_claim_that_holds_shows_one_line(measured, bound, line, capsys):
    assert claim("3.2", "one step is attention", measured, **bound) is None
    assert capsys.readouterr().out == f"claim 3.2 | one step is attention | {line} | ✓\n"


FAILS = [
    (1e-6, {"below": 1e-6}, "measured 10⁻⁶, expected < 10⁻⁶"),
    (2, {"above": 2}, "measured 2, expected > 2"),
    (1 + 1e-9, {"expected": 1.0, "atol": 1e-10}, "measured 1, expected 1 ± 10⁻¹⁰"),
    ([1.0, 1 + 1e-9], {"below": 1 + 1e-10}, "measured 1, expected < 1"),
    (1.01, {"between": (0, 1)}, r"measured 1.01, expected in \[0, 1\]"),
    (2.0, {"expected": 2.02, "atol": 0.01}, "measured 2, expected 2.02 ± 0.01"),
    (torch.tensor([1.0, 3.0]), {"below": 2}, "measured 3, expected < 2"),
    (torch.tensor([1.0, 3.0]), {"above": 2}, "measured 1, expected > 2"),
    (torch.tensor([0.5, 1.5]), {"between": (0, 1)}, r"measured 1.5, expected in \[0, 1\]"),
    (torch.zeros(2), {"expected": torch.tensor([0.0, 0.5]), "atol": 0.1}, "measured Δ 0.5, expected Δ ≤ 0.1"),
]


@pytest.mark.parametrize(("measured", "bound", "words"), FAILS)
def test_a_claim_that_fails_says_what_was_measured_and_expected(measured, bound, words, capsys):
    with pytest.raises(ClaimError, match=f"claim 3.2: one step is attention: {words}"):
        claim("3.2", "one step is attention", measured, **bound)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("bound", [{"below": 1}, {"above": -1}, {"between": (-1, 1)}, {"expected": 0.0, "atol": 1}])
def test_nan_fails_every_bound(bound):
    with pytest.raises(ClaimError, match=r"measured nan"):
        claim("3.2", "a number", math.nan, **bound)
    bound = {**bound, "expected": torch.zeros(2)} if "atol" in bound else bound
    with pytest.raises(ClaimError, match=r"measured (Δ )?nan"):
        claim("3.2", "numbers", torch.tensor([0.0, math.nan]), **bound)


@pytest.mark.parametrize("bound", [{"below": 1}, {"between": (-1, 1)}, {"expected": 0.0, "atol": 1}])
def test_infinity_fails_a_bound_from_above(bound):
    with pytest.raises(ClaimError, match=r"measured inf"):
        claim("3.2", "a number", math.inf, **bound)


SAME = torch.ones(3)
REFUSED = [
    (1, {}, "expected exactly one bound"),
    (1, {"expected": 1}, "expected exactly one bound"),
    (1, {"atol": 1}, "expected exactly one bound"),
    (1, {"below": 2, "above": 0}, "expected exactly one bound"),
    (1, {"expected": 2, "atol": 2, "below": 3}, "expected exactly one bound"),
    (1, {"below": 2, "atol": 2}, "expected exactly one bound"),
    (1, {"below": math.inf}, "below is inf; expected a finite number"),
    (1, {"above": -math.inf}, "above is -inf; expected a finite number"),
    (1, {"below": math.nan}, "below is nan; expected a finite number"),
    (1, {"between": (0, math.inf)}, "between is inf; expected a finite number"),
    (1, {"between": (2, 1)}, r"between is \(2, 1\); expected low < high"),
    (1, {"expected": 1.0, "atol": math.inf}, "atol is inf; expected a finite positive number"),
    (1, {"expected": 1.0, "atol": 0}, "atol is 0; expected a finite positive number"),
    (1, {"expected": 1.0, "atol": -1}, "atol is -1; expected a finite positive number"),
    (1, {"expected": math.nan, "atol": 1}, "expected is not finite"),
    (SAME, {"expected": SAME, "atol": 1}, "measured and expected are the same object"),
    (torch.ones(3), {"expected": torch.ones(2), "atol": 1}, r"expected has shape \(2,\); measured has \(3,\)"),
    (torch.ones(3), {"expected": 1.0, "atol": 1}, r"expected has shape \(\); measured has \(3,\)"),
    (torch.ones(0), {"below": 1}, "measured is empty"),
    (torch.ones(2) * 1j, {"below": 1}, "measured has dtype torch.complex64; expected real numbers"),
]


@pytest.mark.parametrize(("measured", "bound", "words"), REFUSED)
def test_a_claim_without_a_bound_that_can_fail_is_refused(measured, bound, words):
    with pytest.raises(ValueError, match=words):
        claim("3.2", "a number", measured, **bound)


@pytest.mark.parametrize("id", ["3", "three.2", "3.2.1", "3-2", "", "3.2\n", " 3.2"])
def test_a_malformed_id_is_refused(id):
    with pytest.raises(ValueError, match=r"id is .*; expected \"chapter.number\""):
        claim(id, "a number", 0, below=1)


NUMBERS = [
    (1.4e-7, "1.4 × 10⁻⁷"),
    (-2.5e-15, "−2.5 × 10⁻¹⁵"),
    (-1e9, "−10⁹"),
    (23_996.0, "23,996"),
    (-65_504, "−65,504"),
    (4096, "4,096"),
    (1e-4, "0.0001"),
    (-0.25, "−0.25"),
    (0.0, "0"),
]


@pytest.mark.parametrize(("number", "written"), NUMBERS)
def test_numbers_are_written_as_one_writes_them(number, written, capsys):
    claim("3.2", "a number", number, below=1e12)
    assert f"| measured {written} | bound < 10¹² |" in capsys.readouterr().out.replace("\u00a0", " ")


@pytest.mark.parametrize("sentence", ["", "  ", "a | b", "two\nlines", "`code`", "the price is $x"])
def test_a_malformed_sentence_is_refused(sentence):
    with pytest.raises(ValueError, match=r"sentence is .*; expected (one line of words|formulas between two)"):
        claim("3.2", sentence, 0, below=1)


def test_a_notebook_shows_text_and_html(monkeypatch):
    shown = []
    notebook = types.SimpleNamespace(get_ipython=lambda: object(), display=types.SimpleNamespace(display=shown.append))
    monkeypatch.setitem(claims.sys.modules, "IPython", notebook)
    claim("3.2b", "a < b & c", 1, below=2)
    assert repr(shown[0]) == "claim 3.2b | a < b & c | measured 1 | bound < 2 | ✓"
    html = shown[0]._repr_html_()
    assert html.startswith('<div class="claim" id="claim-3-2b" style="')
    assert html.endswith("</div>")
    for part in ("Claim 3.2b", "a &lt; b &amp; c", "measured 1", "bound &lt; 2", "✓"):
        assert f">{part}</span>" in html


def test_a_key_claim_says_so_and_stands_out(monkeypatch):
    shown = []
    notebook = types.SimpleNamespace(get_ipython=lambda: object(), display=types.SimpleNamespace(display=shown.append))
    monkeypatch.setitem(claims.sys.modules, "IPython", notebook)
    claim("3.2", "One is less than two.", 1, below=2, key=True)
    claim("3.2", "One is less than two.", 1, below=2)
    key, plain = shown
    assert str(key) == "key " + str(plain)
    assert key._repr_html_().startswith('<div class="claim key" id="claim-3-2" style="')
    assert "background" in key._repr_html_()
    assert "background" not in plain._repr_html_()


def test_colours_that_a_claim_brings_along_read_on_white_and_on_black():
    """Text takes the colour around it; only the rule at the side has one of its own, at three to one on either ground."""
    both = "".join(claims.Claim("3.2", "a", "1", "< 2", key)._repr_html_() for key in (True, False))
    assert not re.findall(r"(?<![\w-])color:", both)
    for colour in re.findall(r"#([0-9a-f]{6})", both):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (light + 0.05) > 3
        assert (light + 0.05) / 0.05 > 3
