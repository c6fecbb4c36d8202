"""The stack of blocks from Python: its numbers from the definition, its films against theory; what it draws."""

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from helpers.figures import BLOCK_STACK, STACK
from helpers.live import computed

from attnlib.course.live import BlockStack
from attnlib.course.live._draws import normals
from attnlib.course.live.block_stack import DRIVE, KINDS, TOKENS, _turned, directions, filmed, weights
from attnlib.kinetic import vector_response


def response(h, beta):
    """Of one field, by a sum over the angle with the axis."""
    d = len(h)
    size, cosines = math.sqrt(sum(c * c for c in h)), [math.cos(math.pi * (n + 0.5) / 4000) for n in range(4000)]
    logs = [beta * math.sqrt(d) * size * (w - 1) + (d - 2) / 2 * math.log(1 - w * w) for w in cosines]
    mean = sum(w * math.exp(x) for w, x in zip(cosines, logs, strict=True)) / sum(math.exp(x) for x in logs)
    return [math.sqrt(d) * mean * c / size for c in h]


@pytest.mark.parametrize(("beta", "width", "kind"), [(0.7, "3", "softmax"), (1.6, "8", "causal"), (2.5, "16", "sharp")])
def test_two_blocks_by_hand(beta, width, kind):
    """Definite spins make the first block exact; after it spins are independent, and each brings its variance."""
    said, d = BlockStack(beta, blocks=2, width=width, couplings=kind).readout, int(width)
    J, s = weights(kind).tolist(), directions(d).tolist()
    assert all(sum(c * c for c in row) == pytest.approx(d) for row in s)
    assert all(sum(row) == pytest.approx(1) for row in J)

    def felt(m):
        return [[DRIVE * s[i][c] + sum(J[i][j] * m[j][c] for j in range(TOKENS)) for c in range(d)] for i in range(TOKENS)]

    one = [response(h, beta) for h in felt(s)]
    q = [sum(c * c for c in row) / d for row in one]
    for name in ("naive", "moments", "sampled"):
        assert said[name][0] == pytest.approx([math.sqrt(each) for each in q], abs=1e-7)
    assert said["epsilon"][0] == [0.0] * TOKENS
    assert said["epsilon"][1] == pytest.approx([sum(J[i][j] ** 2 * (1 - q[j]) for j in range(TOKENS)) for i in range(TOKENS)])
    h = felt(one)
    assert said["field"][1] == pytest.approx([sum(c * c for c in row) / d for row in h], abs=1e-7)
    two = [math.sqrt(sum(c * c for c in response(row, beta)) / d) for row in h]
    assert said["naive"][1] == pytest.approx(two, abs=1e-7)
    for i in range(TOKENS):  # the epsilon stands beside the square of the field, in the gain
        k, more = said["field"][1][i], said["field"][1][i] + said["epsilon"][1][i]
        longer = [math.sqrt(more)] * d
        assert said["moments"][1][i] == pytest.approx(math.sqrt(k / more) * response(longer, beta)[0], abs=1e-7)


@pytest.mark.parametrize("d", [3, 16])
def test_spins_are_drawn_with_their_law(d):
    """Means and mean cosines squared of 20,000 spins, for weak fields and strong ones, within 4.5 errors."""
    fields = torch.zeros(20_000, 3, d, dtype=torch.float64)
    fields[:, 0, 0], fields[:, 1, 1], fields[:, 2, 0] = 0.1, 1.0, 6.0
    generator = torch.Generator().manual_seed(0)
    across = torch.randn(fields.shape, generator=generator, dtype=torch.float64)
    spins = _turned(fields, across, torch.rand(*fields.shape[:2], 8, 3, generator=generator, dtype=torch.float64))
    assert spins.square().mean(-1).sub(1).abs().max() < 1e-12
    wanted = vector_response(fields[:1])[0]
    error = (spins.var(0) / len(spins)).sqrt()
    assert ((spins.mean(0) - wanted) / error).abs().max() < 4.5


@pytest.mark.slow
def test_films_have_the_moments_means_for_many_components():
    """Over 20 seeds, 64 components: naive means are off by a fifth, moments by less than a hundredth."""
    J, start = weights("softmax"), directions(64)
    seen = torch.stack([filmed(J, DRIVE * start, start, 1.0, 5, seed)[-1] for seed in range(20)]).mean(0)
    said = BlockStack(width="64").readout
    along = (seen.square().mean(-1)).sqrt()
    assert (along - torch.tensor(said["moments"][-1])).abs().max() < 0.006
    assert (torch.tensor(said["naive"][-1]) - along).min() > 0.03


def test_kinds_of_couplings():
    assert torch.equal(weights("even"), torch.full((TOKENS, TOKENS), 1 / TOKENS, dtype=torch.float64))
    assert weights("causal").triu(1).abs().max() == 0
    z = normals(TOKENS * (TOKENS + 64), 5)[: TOKENS**2].reshape(TOKENS, TOKENS)
    torch.testing.assert_close(weights("sharp"), (4 * z).exp() / (4 * z).exp().sum(-1, keepdim=True))
    participation = [weights(kind).square().sum(-1).mean().item() for kind in ("even", "softmax", "sharp")]
    assert participation == sorted(participation)
    assert set(KINDS) == {"softmax", "sharp", "causal", "even"}


def test_the_still_picture_has_a_bar_and_a_line_for_each_token_of_each_block():
    figure = BlockStack(blocks=3)
    drawn = ElementTree.fromstring(figure.still())
    space = "{http://www.w3.org/2000/svg}"
    bars = [float(rect.get("height")) for rect in drawn.iter(f"{space}rect") if rect.get("width") == "60"]
    unit = 290 / 3 - 12
    assert bars == pytest.approx([unit * value for row in figure.readout["sampled"] for value in row], abs=0.06)
    lines = [float(re.search(r"M\d+ ([\d.]+)h", path.get("d"))[1]) for path in drawn.iter(f"{space}path")]
    feet = [310 - 290 / 3 * block for block in range(3) for _ in range(TOKENS)]
    naive = [value for row in figure.readout["naive"] for value in row]
    assert lines == pytest.approx([foot - unit * value for foot, value in zip(feet, naive, strict=True)], abs=0.06)
    assert "naive means are off by 15.4 per cent" in figure.alt()


# In a browser


def test_what_is_drawn_are_the_numbers(desk):
    shown, said = desk.show(BLOCK_STACK, STACK), computed(BLOCK_STACK, **STACK)

    def drawn(name, size):
        return [
            float(one) for one in shown.box.locator(f".picture {name}").evaluate_all(f"all => all.map((one) => one.{size})")
        ]

    flat = {name: [value for row in said[name] for value in row] for name in said if name != "off"}
    high, row = "getAttribute('height')", 6 * 46 / 5
    tall = row - 12
    assert drawn(".seen", high) == pytest.approx([tall * value for value in flat["sampled"]], abs=0.01)
    fields, epsilons = drawn(".field", high), drawn(".epsilon", high)
    most = max(1.2, *(k + more for k, more in zip(flat["field"], flat["epsilon"], strict=True)))
    assert fields == pytest.approx([tall * value / most for value in flat["field"]], abs=0.01)
    assert epsilons == pytest.approx([tall * value / most for value in flat["epsilon"]], abs=0.01)
    feet = [40 + 6 * 46 - row * block for block in range(5) for _ in range(TOKENS)]
    lines = drawn(".naive", "getAttribute('y1')")
    assert lines == pytest.approx([foot - tall * value for foot, value in zip(feet, flat["naive"], strict=True)], abs=0.01)
    assert f"{100 * said['off'][-1]:.1f} %" in shown.told()


def test_its_tasks_are_done_by_what_they_ask_for(desk):
    shown = desk.show(BLOCK_STACK, STACK)
    off = {beta: computed(BLOCK_STACK, **(STACK | {"beta": beta}))["off"][-1] for beta in (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)}
    best = max(off, key=off.get)
    shown.put(beta=0.6)
    assert shown.ask("solved()") == []
    shown.put(beta=best)
    assert shown.ask("solved()") == [0]
    shown.put(couplings="sharp", blocks=6)
    assert shown.ask("solved()") == [0, 1]
    shown.put(beta=2.0, blocks=1)
    assert shown.ask("solved()") == [0, 1]
    shown.put(beta=1.0)
    assert shown.ask("solved()") == [0, 1, 2]
