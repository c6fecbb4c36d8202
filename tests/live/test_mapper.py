"""The mapper from Python and in a browser: strings by rule, what is sent and what is lost, counts by hand, what is drawn."""

import html
import itertools
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from helpers.figures import MAP, MAPPER
from helpers.live import CALM, PHONE, computed

from attnlib.course import recorded
from attnlib.course.data.joining import ARROW, MASK, TEMPLATES, VOCABULARY, Language, hide, written
from attnlib.course.live import FigureError, Mapper
from attnlib.course.live._mapped import DRAWN, SHARE, STRINGS, lacks, packed, strings, unpacked
from attnlib.course.live.mapper import NEAR
from attnlib.course.models.specimens import trained_specimen, weights_of

RECORD = recorded("specimen_weights")
HEAD, STEP = (RECORD["measured"]["mapper"][name] for name in ("head", "step"))
SENT = Mapper().record
every_string = pytest.mark.parametrize("string", range(STRINGS))


def shown(string):
    """What the network reads of a string, and where its product begins."""
    given = SENT["strings"][string]
    tokens = torch.tensor([MASK if place in given["hidden"] else token for place, token in enumerate(given["tokens"])])
    return tokens, given["tokens"].index(ARROW) + 1


def sent(string):
    given = SENT["strings"][string]
    return unpacked(given["lacks"]).reshape(8, len(given["origins"]), len(given["tokens"]))


# What is sent


def test_strings_are_the_first_of_their_templates():
    """Found again, string by string, from what was drawn."""
    generator = torch.Generator().manual_seed(DRAWN)
    language = Language()
    drawn = language.draw(200, generator=generator)
    _, hidden = hide(drawn.tokens, SHARE, generator=generator)
    found = []
    for index in range(len(drawn)):
        asked = [i for i in hidden[index].nonzero()[:, 0] if (drawn.keys[index, i] & ~hidden[index]).sum() == 1]
        template = language.forms[drawn.form[index]][0]
        if len(asked) >= 3 and template not in [known for known, _ in found]:
            found.append((template, index))
    for (_, index), (tokens, gaps, origins) in zip(found, strings(), strict=False):
        assert written(torch.tensor(tokens)) == drawn.tell(index)
        assert gaps == hidden[index].nonzero()[:, 0].tolist()
        begin = tokens.index(ARROW) + 1
        pairs = [[begin + row, key] for row, keys in enumerate(origins) for key in keys]
        assert pairs == drawn.keys[index].nonzero().tolist()
    assert len(strings()) == STRINGS
    assert len({template for template, _ in found[:STRINGS]} & set(TEMPLATES)) == STRINGS
    assert all(keys for _, _, origins in strings() for keys in origins)  # no line leads from nowhere


@pytest.mark.parametrize("most", [1e-6, 1.0, 4095.0, 4096.0, 77.7])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_numbers_are_packed_to_half_a_unit(most, size):
    numbers = most * torch.rand(size, generator=torch.Generator().manual_seed(size), dtype=torch.float64)
    numbers[0] = most
    table = json.loads(json.dumps(packed(numbers)))
    assert math.log2(table["unit"]) % 1 == 0
    assert most <= 4095.5 * table["unit"]
    assert table["unit"] <= 2 * most / 4095
    assert (unpacked(table) - numbers).abs().max() <= table["unit"] / 2
    assert len(table["parts"]) <= 2 * size + 2  # two letters for each number


def test_zeros_stay_zeros():
    assert torch.equal(unpacked(packed(torch.zeros(5))), torch.zeros(5).double())


@every_string
def test_sent_scores_are_the_networks_to_their_rounding(string):
    """In double precision to half a unit; in single precision, as the network was trained, but for that one's rounding."""
    tokens, begin = shown(string)
    given, real = SENT["strings"][string], torch.ones(1, len(tokens), dtype=torch.bool)
    unit = given["lacks"]["unit"]
    assert unit <= 1 / 64
    for dtype, more in ((torch.float64, 1e-9), (torch.float32, 1e-2)):
        weights = weights_of(trained_specimen(RECORD, dtype=dtype), tokens[None], real)[:, 0, HEAD - 1, begin:-1].double()
        own = weights.log()
        own = own.amax(-1, keepdim=True) - own
        known = own < 30  # below, float32 has lost more
        assert ((own - sent(string)).abs()[known] <= unit / 2 + more).all()
        again = torch.softmax(-sent(string), -1)
        assert (again - weights).abs().max() <= unit / 2 + more  # p(1-p) <= 1/4, of two roundings
    exact = lacks(RECORD, HEAD)[string]
    assert (exact - sent(string)).abs().max() <= unit / 2


def test_curves_and_shares_are_the_records_to_their_rounding():
    for name, wanted in (("U", RECORD["curve"]["U"]), ("target", RECORD["curve"]["target"])):
        wanted = torch.tensor(wanted, dtype=torch.float64).flatten()
        assert (unpacked(SENT[name]) - wanted).abs().max() <= SENT[name]["unit"] / 2 + 1e-6
    shares = torch.tensor(RECORD["measured"]["mapping"], dtype=torch.float64).flatten()
    assert (unpacked(SENT["shares"]) - shares).abs().max() <= SENT["shares"]["unit"] / 2
    assert (SENT["head"], SENT["step"], SENT["count"]) == (HEAD, STEP, 1000)


def test_the_state_is_small():
    assert len(json.dumps(SENT)) < 20_000


def test_it_needs_no_record_and_takes_no_other(unchecked):
    assert Mapper().state() == Mapper(RECORD).state()
    for other in (recorded("walker_weights"), {}, 7):
        with pytest.raises(FigureError, match="record is"):
            Mapper(other)
    few = RECORD["measured"] | {"mapping": RECORD["measured"]["mapping"][:3]}
    with pytest.raises(FigureError, match="record has a network of 3 steps; expected 8"):
        Mapper(RECORD | {"measured": few})


# The figure's numbers


@every_string
@pytest.mark.parametrize(("step", "beta"), [(1, 1.0), (STEP, 1.0), (STEP, 0.3), (8, 8.0)])
def test_counts_and_thermometers_by_hand(string, step, beta):
    said, given = Mapper(string=string, step=step, beta=beta).readout, SENT["strings"][string]
    begin, rows = given["tokens"].index(ARROW) + 1, sent(string)[step - 1].tolist()
    asked = right = squares = target = told = 0
    for row, lack in enumerate(rows):
        raised = [math.exp(-beta * each) for each in lack]
        weights = [each / sum(raised) for each in raised]
        assert said["weights"][row] == pytest.approx(weights, abs=1e-12)
        assert said["rest"][row] == pytest.approx(sum(weights[begin:]), abs=1e-12)
        assert said["best"][row] == lack.index(0.0)
        copies = [key for key in given["origins"][row] if key not in given["hidden"]]
        if begin + row in given["hidden"] and copies:
            asked += 1
            right += lack.index(0.0) in copies
            if len(copies) == 1:
                told += 1
                squares += sum(p * p for p in weights)
                target += weights[copies[0]]
    assert (said["asked"], said["right"]) == (asked, right)
    assert told >= 3
    assert said["U"] == pytest.approx(squares / target, rel=1e-9)


def test_curves_of_a_string_are_its_thermometers():
    for power, U in list(zip(SENT["log2_betas"], Mapper(string=1, step=4).readout["curve"], strict=True))[::4]:
        assert Mapper(string=1, step=4, beta=2**power).readout["U"] == pytest.approx(U, rel=1e-9)


@pytest.mark.slow
def test_the_sample_is_read_between_the_records_betas():
    powers, curve = SENT["log2_betas"], unpacked(SENT["U"]).reshape(8, -1)
    targets = unpacked(SENT["target"]).reshape(8, -1)
    for step in (1, 5, 8):
        for k, power in enumerate(powers):
            assert Mapper(step=step, beta=2**power).readout["sample_U"] == pytest.approx(curve[step - 1, k].item(), abs=1e-9)
        for k in (0, 7, 23):
            said = Mapper(step=step, beta=2 ** (0.75 * powers[k] + 0.25 * powers[k + 1])).readout
            for name, rows in (("sample_U", curve), ("sample_target", targets)):
                wanted = 0.75 * rows[step - 1, k] + 0.25 * rows[step - 1, k + 1]
                assert said[name] == pytest.approx(wanted.item(), abs=1e-9)


@pytest.mark.slow
def test_the_challenge_is_solved_where_u_is_one_and_nowhere_else():
    """At every place of the slider: those at which the figure reads 1.00, and those next to where U is one."""
    one = Mapper().readout["one"]
    places = [2 ** (k / 8) for k in range(-24, 25)]
    read = [Mapper(beta=beta).readout for beta in places]
    crossed = [k for k in range(48) if (read[k]["sample_U"] - 1) * (read[k + 1]["sample_U"] - 1) <= 0]
    if one is None:
        assert not crossed
        assert not any(said["solved"] for said in read)
        return
    nearest = min(crossed, key=lambda k: min(abs(k - 24), abs(k - 23)))
    assert places[nearest] <= one * (1 + 1e-9) <= places[nearest + 1] * (1 + 2e-9)
    for beta, said in zip(places, read, strict=True):
        assert said["solved"] == (abs(said["sample_U"] - 1) < 0.005 or abs(math.log2(beta / one)) <= NEAR)
    assert any(said["solved"] for said in read)
    assert not any(Mapper(step=step, beta=one).readout["solved"] for step in range(1, 9) if step != STEP)


def test_what_the_page_says_of_these_weights():
    """Of the network that ships, and of no other: it maps, it is too hot, and the challenge has an answer above 1."""
    said = Mapper().readout
    assert RECORD["measured"]["mapper"]["right"] > 0.85
    assert said["sample_U"] < 0.97
    assert 1 < said["one"] < 8
    assert not said["solved"]
    assert said["right"] == said["asked"]


@pytest.mark.parametrize("state", [{}, {"string": 1, "step": 2, "beta": 0.5}, {"string": 2, "beta": 8.0}], ids=str)
def test_the_still_picture_is_drawn_from_the_same_numbers(state):
    figure = Mapper(**state)
    said, given, name = figure.readout, SENT["strings"][figure.string], "{http://www.w3.org/2000/svg}"
    picture = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', figure.page())[1]))
    drawn = {False: [], True: []}
    for kind in picture.findall(f"{name}g")[:2]:
        dashed = kind.get("stroke-dasharray") is not None
        assert kind.get("stroke") == ("#d55e00" if dashed else "#0072b2")
        drawn[not dashed] = [float(line.get("stroke-width")) for line in kind]
    arrow = given["tokens"].index(ARROW)
    for kind, widths in drawn.items():
        weights = [
            weight
            for row, keys in zip(said["weights"], given["origins"], strict=True)
            for key, weight in enumerate(row[: arrow + 1])
            if weight > 0.1 and (key in keys) == kind
        ]
        assert widths == pytest.approx([7 * weight for weight in weights], abs=0.051)
    letters = ["".join(part.itertext()) for part in picture.iter(f"{name}text") if part.get("y") in ("25", "228")]
    assert "".join(letters) == "".join(VOCABULARY[given["tokens"][place]] for place in given["hidden"])
    assert f"for {said['right']}." in figure.alt()
    assert html.escape(figure.alt()) in figure.page()


# In a browser


@pytest.fixture
def mapped(desk):
    return desk.show(MAPPER, MAP)


def beta_of(shown):
    return shown.slider("\u03b2 of this head")


def test_the_challenge_is_solved_by_turning_beta(mapped):
    one = computed(MAPPER, **MAP)["one"]
    assert one is not None
    mapped.put(beta=one)
    assert mapped.is_right()["step"] == STEP
    assert "Solved: U is one at" in mapped.told(".task")
    assert mapped.box.locator(".task.solved").count() == 1
    for beta, word in ((0.125, "too hot"), (8.0, "too cold")):
        mapped.put(beta=beta)
        mapped.is_right()
        U = computed(MAPPER, **MAP | {"beta": beta})["sample_U"]
        assert mapped.told(".task").endswith(f": {word}." if (word == "too hot") == (U < 1) else ".")
    mapped.put(step=STEP % 8 + 1, beta=one)
    mapped.is_right()
    assert f"That is step {STEP}." in mapped.told(".task")
    assert mapped.box.locator(".task.solved").count() == 0
    mapped.put(step=STEP, beta=0.125)
    count = 0
    while "Solved" not in mapped.told(".task"):  # and by who has a keyboard
        beta_of(mapped).press("ArrowRight")
        mapped.state()
        count += 1
        assert count < 48
    mapped.is_right()


@every_string
def test_right_and_wrong_lines_differ_in_colour_and_in_stroke(mapped, string):
    mapped.put(string=string)
    read = "parts => parts.map(part => [getComputedStyle(part).stroke, getComputedStyle(part).strokeDasharray])"
    looks = mapped.box.locator(".lines path").evaluate_all(read)
    given = SENT["strings"][string]
    arrow = given["tokens"].index(ARROW)
    right = [key in keys for keys in given["origins"] for key in range(arrow + 1)]
    kinds = {one: {tuple(look) for look, other in zip(looks, right, strict=True) if other == one} for one in (True, False)}
    assert len(kinds[True]) == len(kinds[False]) == 1
    (blue, whole), (orange, dashed) = kinds[True].pop(), kinds[False].pop()
    assert blue != orange
    assert whole == "none"
    assert "5px" in dashed


@every_string
def test_lines_and_bars_are_as_strong_as_weights(mapped, string):
    mapped.put(string=string, step=4, beta=0.5)
    said, given = computed(MAPPER, **mapped.is_right()), SENT["strings"][string]
    arrow = given["tokens"].index(ARROW)
    widths = [7 * weight for row in said["weights"] for weight in row[: arrow + 1]]
    assert mapped.column(".lines path", "stroke-width") == pytest.approx(widths, abs=0.0051)
    assert mapped.column(".rest", "height") == pytest.approx([26 * rest for rest in said["rest"]], abs=0.0051)


@every_string
def test_lines_lead_from_token_to_token_and_letters_say_what_is_hidden(mapped, string):
    mapped.put(string=string)
    given = SENT["strings"][string]
    arrow = given["tokens"].index(ARROW)
    boxes = mapped.numbers(".token rect", "x", "y", "width")
    middles, kinds = (
        [x + width / 2 for x, _, width in boxes],
        mapped.box.locator(".token").evaluate_all(
            "parts => parts.map(part => [part.matches('.gap'), [...part.querySelectorAll('text')].map(t => t.textContent)])"
        ),
    )
    for place, ((gap, letters), token) in enumerate(zip(kinds, given["tokens"], strict=False)):
        assert gap == (place in given["hidden"])
        assert letters == (["_", VOCABULARY[token]] if gap else [VOCABULARY[token]])
    assert len(kinds) == len(given["tokens"]) - 1  # but for the sign of the end
    drawn = mapped.box.locator(".lines path").evaluate_all("parts => parts.map(part => part.getAttribute('d'))")
    ends = [tuple(float(number) for number in re.findall(r"-?[\d.]+", path)) for path in drawn]
    pairs = [(row, key) for row in range(len(given["origins"])) for key in range(arrow + 1)]
    for (row, key), numbers in zip(pairs, ends, strict=True):
        assert numbers[0] == pytest.approx(middles[arrow + 1 + row], abs=0.06)
        assert numbers[-2] == pytest.approx(middles[key], abs=0.06)


def test_hidden_tokens_have_lines_of_their_own(mapped):
    mapped.put(string=1)
    given, visible = SENT["strings"][1], "parts => parts.filter(part => getComputedStyle(part).display !== 'none').length"
    arrow = given["tokens"].index(ARROW)
    lines = mapped.box.locator(".lines path")
    assert lines.evaluate_all(visible) == len(given["origins"]) * (arrow + 1)
    mapped.put(alone=True)
    assert lines.evaluate_all(visible) == computed(MAPPER, **mapped.is_right())["asked"] * (arrow + 1)


def test_the_curve_is_read_where_beta_stands(mapped):
    for step, beta in ((STEP, 1.0), (8, 2.0), (1, 8.0), (STEP, 0.125)):
        mapped.put(step=step, beta=beta)
        said = computed(MAPPER, **mapped.is_right())
        ((x, y),) = mapped.numbers(".side circle", "cx", "cy")
        ((left, top, width, height),) = mapped.numbers("clipPath rect", "x", "y", "width", "height")
        assert (x - left) / width == pytest.approx((math.log2(beta) + 3) / 6, abs=1e-6)
        U = math.log(2.5 / min(2.5, max(0.4, said["sample_U"]))) / math.log(2.5 / 0.4)
        assert (y - top) / height == pytest.approx(U, abs=1e-6)
    assert mapped.box.locator(".side .line").count() == 2


def test_the_table_is_the_records_and_frames_the_head_that_is_shown(mapped):
    mapped.put(more=True, step=3)
    cells = mapped.box.locator("td").evaluate_all("cells => cells.map(cell => [cell.textContent, cell.className])")
    shares = unpacked(SENT["shares"]).reshape(8, 8)
    for h in range(8):
        for t in range(8):
            text, kind = cells[8 * h + t]
            assert math.isclose(float(text), 100 * shares[t, h], abs_tol=0.5001)
            assert ("many" in kind) == (shares[t, h] > 0.5)
            assert ("now" in kind) == ((h, t) == (HEAD - 1, 2))


def test_very_cold_thermometers_are_said_in_words(mapped):
    for string, step in ((0, 1), (2, 1), (1, 2)):
        mapped.put(string=string, step=step, beta=8.0)
        said = computed(MAPPER, **mapped.is_right())
        here = mapped.told(".says").rsplit("here ", 1)[1].rstrip(".")
        assert here == ("over 10" if said["U"] > 9.995 else f"{said['U']:.2f}")


@pytest.mark.parametrize("desk", [{"own": True}, {"own": True} | CALM], indirect=True)
def test_play_takes_step_after_step_and_stops_at_the_last(desk):
    shown = desk.stopped(MAPPER, **MAP | {"step": 5})
    slow = desk.page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
    shown.button("Play").click()
    for count in (1, 2, 3):
        desk.page.clock.run_for(1900)
        assert shown.ask("model.get('step')") == min(8, 5 + (count if slow else 2 * count - 1))
    assert shown.button("Play").count() == 1
    shown.button("Play").click()
    assert shown.ask("model.get('step')") == 1
    beta_of(shown).press("ArrowRight")  # who takes hold of it stops it
    assert shown.button("Play").count() == 1
    desk.page.clock.run_for(9000)
    assert shown.ask("model.get('step')") == 1


ANIMATED = "parts => [...new Set(parts.map(part => getComputedStyle(part).animationName))]"


def test_lines_gather_on_arrival_and_then_stay_the_same_lines(mapped):
    assert mapped.box.locator(".lines path").evaluate_all(ANIMATED) == ["gather"]
    mapped.box.evaluate("box => { box.firstChild.shadowRoot.querySelector('.lines path').marked = true; }")
    marked = "box => box.firstChild.shadowRoot.querySelector('.lines path').marked === true"
    mapped.put(step=2)
    mapped.put(beta=4.0)
    assert mapped.box.evaluate(marked)
    mapped.put(string=1)
    assert not mapped.box.evaluate(marked)


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_nothing_moves_for_who_asks_for_calm(desk):
    shown = desk.show(MAPPER, MAP)
    assert shown.box.locator(".lines path").evaluate_all(ANIMATED) == ["none"]
    read = "parts => [...new Set(parts.map(part => getComputedStyle(part).transitionDuration))]"
    assert set(shown.box.locator(".lines path").evaluate_all(read)) == {"0s"}


RECTANGLES = "parts => parts.map(part => part.getBoundingClientRect())"
NARROW = {"viewport": {"width": 320, "height": 844}}


@pytest.mark.parametrize("desk", [NARROW, PHONE, {}], indirect=True)
def test_tokens_stand_beside_each_other(desk):
    """At every width of every string no box covers another, and letters fit into theirs."""
    shown = desk.show(MAPPER, MAP)
    for string in range(STRINGS):
        shown.put(string=string)
        boxes = shown.numbers(".token rect", "x", "y", "width")
        for (x, y, width), (u, v, _) in itertools.pairwise(boxes):
            assert v > y or u >= x + width
        assert min(width for _, _, width in boxes) >= 11
        read = "part => ['text', 'rect'].map(name => part.querySelector(name).getBBox().width)"
        for text, box in shown.box.locator(".token").evaluate_all(f"parts => parts.map({read})"):
            assert text <= box + 0.5
        name = "part => part.textContent === 'Product' ? part.getBoundingClientRect() : null"
        name = shown.box.locator(".picture text").evaluate_all(f"parts => parts.map({name}).filter(Boolean)")[0]
        for box in shown.box.locator(".token rect, .token text, .rest").evaluate_all(RECTANGLES):
            aside = box["right"] <= name["left"] or box["left"] >= name["right"]
            assert aside or box["bottom"] <= name["top"] or box["top"] > name["bottom"] - 3


def test_a_screen_reader_hears_where_hidden_tokens_look(mapped):
    said, given = computed(MAPPER, **MAP), SENT["strings"][0]
    label = mapped.box.locator(".picture > svg").get_attribute("aria-label")
    assert label.count("hidden ") >= said["asked"]
    assert label.count(", right") == said["right"]
    assert label.count(", wrong") == said["asked"] - said["right"]
    first = next(row for row, place in enumerate(given["origins"]) if given["tokens"].index(ARROW) + 1 + row in given["hidden"])
    assert f"hidden {VOCABULARY[given['tokens'][given['tokens'].index(ARROW) + 1 + first]]} to " in label
