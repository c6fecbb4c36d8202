"""Driven spins in the browser, which two figures share: against attnlib, against fractions, and in whose modules they stand."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import figures
from helpers.draw import close

from attnlib.kinetic import exact_kinetic, spin_states, transition_matrix

SCRIPT = Path(figures.attnlib.course.live.__file__).with_name("driven_spins.js")
SIZES = pytest.mark.parametrize("n", [2, 3, 5, 8])


def double(numbers: list[float]) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def system(n: int, strength: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    source = torch.Generator().manual_seed(n)
    J = strength * torch.randn(n, n, generator=source, dtype=torch.float64) / n**0.5
    return J, torch.randn(n, generator=source, dtype=torch.float64) / 2


@pytest.fixture
def ask(desk: Any) -> Any:
    """What an expression of ``driven`` and of these values is, with its rows as lists."""
    desk.open()
    desk.page.add_script_tag(content=SCRIPT.read_text(encoding="utf-8"))
    plain = "(_, one) => one instanceof Float64Array ? [...one] : one"
    return lambda text, **values: desk.page.evaluate(
        f"({{ {', '.join(values)} }}) => JSON.parse(JSON.stringify({text}, {plain}))", values
    )


def test_stands_in_the_modules_that_ask_for_it_and_in_no_other():
    asked = {row.name for row in figures.TABLE if row.kind.shared}
    assert asked == {"ArrowFilm", "TwoFilms"}
    assert {row.name: row.kind._esm.count("const driven=") for row in figures.TABLE} == {
        row.name: int(row.name in asked) for row in figures.TABLE
    }


@SIZES
def test_fields_and_moves_are_those_of_the_package(ask, n):
    J, drive = system(n)
    fields = double(ask("driven.fields(J, 0.7, drive)", J=J.tolist(), drive=drive.tolist())).view(-1, n)
    close(fields, 0.7 * (drive + spin_states(n, dtype=torch.float64) @ J.mT), atol=1e-12)
    P = double(ask("driven.moves(driven.fields(J, 0.7, drive), n)", J=J.tolist(), drive=drive.tolist(), n=n))
    close(P.view(2**n, 2**n), transition_matrix(J, drive, beta=0.7), atol=1e-13)
    first = ask("driven.moves(driven.fields(J, 0.7, drive), n, 2)", J=J.tolist(), drive=drive.tolist(), n=n)
    assert first == P[: 2 * 2**n].tolist()


@SIZES
def test_the_stationary_law_is_that_of_the_package(ask, n):
    J, drive = system(n)
    law = ask("driven.stationary(driven.moves(driven.fields(J, 1, drive), n), 2 ** n)", J=J.tolist(), drive=drive.tolist(), n=n)
    close(double(law), exact_kinetic(J, drive).law, atol=1e-12)


@pytest.mark.parametrize(("beta", "rarest"), [(1.0, 0.1), (16.0, 1e-20)])
def test_rare_states_have_every_digit(ask, beta, rarest):
    """Held against fractions: where it is cold the rarest of eight states has less than 1e-20 of the weight, and its digits."""
    J, drive = system(3, 2.0)
    values = {"J": J.tolist(), "drive": drive.tolist(), "beta": beta}
    moves = ask("driven.moves(driven.fields(J, beta, drive), 3)", **values)
    P = [[Fraction(chance) for chance in moves[8 * row : 8 * row + 8]] for row in range(8)]
    law = [Fraction(1)]
    for n in range(7, 0, -1):  # one state after another is taken out, and none has a rounding
        out = sum(P[n][:n])
        for i in range(n):
            P[i][n] /= out
            for j in range(n):
                P[i][j] += P[i][n] * P[n][j]
    for n in range(1, 8):
        law.append(sum(law[i] * P[i][n] for i in range(n)))
    found = ask("driven.stationary(driven.moves(driven.fields(J, beta, drive), 3), 8)", **values)
    assert found == pytest.approx([float(part / sum(law)) for part in law], rel=1e-13, abs=0)
    assert min(found) < rarest


@SIZES
def test_without_a_drive_half_the_states_are_enough(ask, n):
    """Even and odd part of a law move apart, and what is even comes to rest in the law of pairs."""
    J, half = system(n)[0], 2 ** (n - 1)
    P, law = transition_matrix(J), torch.rand(2 * half, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for sign in (1, -1):
        part = (law + sign * law.flip(0))[:half]
        asked = "driven.halved(driven.moves(driven.fields(J, 1), n, half), 2 * half, sign)"
        values = {"J": J.tolist(), "n": n, "half": half, "sign": sign}
        close(double(ask(asked, **values)).view(half, half), (P + sign * P.flip(1))[:half, :half], atol=1e-13)
        if half % 4 == 0:
            after = law @ P
            moved = ask(f"driven.step(part, driven.rowsOf({asked}, half))", part=part.tolist(), **values)
            close(double(moved), (after + sign * after.flip(0))[:half], atol=1e-12)
    if half % 4 == 0:
        rest = ask("driven.stationary(driven.halved(driven.moves(driven.fields(J, 1), n, half), 2 * half, 1), half)", **values)
        close(double(rest) / 2, exact_kinetic(J).law[:half], atol=1e-12)


@SIZES
def test_sums_over_states_of_each_spin(ask, n):
    numbers = torch.randn(2**n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    found = ask("driven.sums(Float64Array.from(numbers))", numbers=numbers.tolist())
    close(double(found), numbers @ spin_states(n, dtype=torch.float64), atol=1e-12)
