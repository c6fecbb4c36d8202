"""The hop lab from Python: its recorded networks, its numbers against the network and by hand, its logic, what it refuses."""

import html
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote

import memory_networks
import pytest
import torch
from helpers.draw import close
from helpers.figures import HOP_LAB, NUMBER, hop_told, say
from helpers.figures import STORY as START
from helpers.live import PHONE, computed

from attnlib.course import recorded
from attnlib.course.data.networks import unpacked
from attnlib.course.data.stories import COLOURS, NAMES, VOCABULARY, animal_stories
from attnlib.course.live import FigureError, HopLab

RECORD = recorded("memory_networks")
CODE, DATA = 60_000, 150_000
TOLD, ALONE, TWO, ONE = range(4)
EVERY = pytest.mark.parametrize("number", range(4), ids=["told", "alone", "two hops", "one hop"])


def stories(count, seed=5, **kind):
    return animal_stories(count, generator=torch.Generator().manual_seed(seed), **kind)


def figure_of(told, story=0, **settings):
    return HopLab(RECORD, facts=told.facts[story].tolist(), asked=told.question[story, -1].item(), **settings)


# The recorded networks


def test_the_recording_is_complete_and_what_the_script_asks_for():
    assert RECORD["command"] == "python experiments/memory_networks.py"
    assert set(RECORD["versions"]) == {"python", "torch", "attnlib"}
    assert RECORD["words"] == list(VOCABULARY)
    assert [{key: net[key] for key in ("hops", "told")} for net in RECORD["networks"]] == list(memory_networks.SETTINGS)
    assert Path(memory_networks.RESULTS).stat().st_size < DATA


@pytest.mark.sweep(0.5)
@EVERY
def test_what_was_measured_is_measured_again(number):
    net = RECORD["networks"][number]
    again = memory_networks.judged(memory_networks.network_of(net["tables"], net["hops"]))
    assert again["right"] == pytest.approx(net["measured"]["right"], abs=0.002)  # two stories of a thousand, for ties
    for name in ("without_second_fact", "two_bystanders"):
        assert again[name] == pytest.approx(net["measured"][name], abs=0.002)
    close(torch.tensor(again["looks"]), torch.tensor(net["measured"]["looks"]), atol=1e-4)


@pytest.mark.sweep(0.5)
@EVERY
def test_the_beginning_of_a_training_can_be_repeated(number):
    net = RECORD["networks"][number]
    _, losses = memory_networks.trained(memory_networks.SETTINGS[number], memory_networks.EARLY)
    assert losses == pytest.approx(net["early"], rel=1e-5)


SEEDED = [{"seed": seed, "keep": True} | varied for seed in range(memory_networks.SEEDS) for varied in memory_networks.VARIED]


def row_of(**setting):
    (row,) = (row for row in RECORD["seeds"] if all(row[key] == value for key, value in setting.items()))
    return row


def test_all_seeds_are_there():
    assert [{key: row[key] for key in ("seed", "keep", "hops", "told")} for row in RECORD["seeds"]] == SEEDED


@pytest.mark.sweep(0.5)
@EVERY
def test_the_first_seed_is_the_network_of_the_figure(number):
    """What was measured on it, and what 8 bits leave of that: so the numbers of all rows can be measured again."""
    net = RECORD["networks"][number]
    row = row_of(seed=0, keep=True, hops=net["hops"], told=net["told"])
    assert {key: row[key] for key in ("early", *net["exact"])} == {"early": net["early"], **net["exact"]}
    again = memory_networks.examined(memory_networks.network_of(net["tables"], net["hops"]))
    for name in ("bystanders", "on_colours", "on_other_kinds", "on_the_last_read"):
        close(torch.tensor(again[name]), torch.tensor(row[name]), atol=0.02)


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("setting", SEEDED, ids=str)
def test_the_beginning_of_a_seeded_training_can_be_repeated(setting):
    _, losses = memory_networks.trained(setting, 5, seed=setting["seed"])
    assert losses == pytest.approx(row_of(**setting)["early"][:5], rel=1e-5)


@EVERY
def test_eight_bits_change_little(number):
    """Half of a step, over a largest entry of 127 steps, for every table, and hardly an answer."""
    net = RECORD["networks"][number]
    assert net["measured"]["right"] == pytest.approx(net["exact"]["right"], abs=0.02)
    table = torch.randn(7, 5, generator=torch.Generator().manual_seed(number), dtype=torch.float64)
    back = unpacked(memory_networks.packed(table), -1, 5)
    assert (back - table).abs().max() <= table.abs().max() / 254 * (1 + 1e-5)


def test_the_networks_are_those_of_the_page():
    """A staircase; all right with three hops; by elimination without the second fact, by the facts a coin between two."""
    told, alone, two, one = (net["measured"] for net in RECORD["networks"])
    for measured, depth in ((told, 3), (alone, 3), (two, 2), (one, 1)):
        assert min(measured["right"][:depth]) > 0.95
    assert two["right"][2] == pytest.approx(1 / 2, abs=0.15)
    assert told["without_second_fact"] == pytest.approx(1 / 2, abs=4 * math.sqrt(1 / 4 / memory_networks.ASKED))
    assert alone["without_second_fact"] > 0.95
    assert told["two_bystanders"] > 0.95 > 0.6 > alone["two_bystanders"]


# The figure's numbers


@pytest.mark.sweep(0.5)
@EVERY
@pytest.mark.parametrize("hidden", [[], [0, 3, 9]])
def test_readout_is_that_of_the_network(number, hidden):
    told, net = stories(6), RECORD["networks"][number]
    network = memory_networks.network_of(net["tables"], net["hops"])
    mask = torch.ones(6, 10, dtype=torch.bool)
    mask[:, hidden] = False
    hops, answers = network.explain(told.facts, told.question, mask), network(told.facts, told.question, mask).softmax(-1)
    for story in range(6):
        said = figure_of(told, story, network=number, hidden=hidden).readout
        close(torch.tensor(said["weights"], dtype=torch.float64), hops.weights[story], atol=1e-12)
        close(torch.tensor(said["answers"], dtype=torch.float64), answers[story], atol=1e-12)
        assert said["answer"] == answers[story].argmax()
        scores = torch.tensor(said["scores"], dtype=torch.float64)
        close(scores.masked_fill(~mask[story], -math.inf).softmax(-1), hops.weights[story], atol=1e-12)


@pytest.mark.parametrize(("beta", "keep"), [(0.1, True), (3.0, False), (10.0, True)])
def test_readout_by_hand(beta, keep):
    told, net = stories(1, seed=3), RECORD["networks"][TOLD]
    network = memory_networks.network_of(net["tables"], 3)
    shift = torch.arange(4) * len(VOCABULARY)
    k, v = (table.weight[told.facts[0] + shift].sum(-2) for table in (network.key, network.value))
    q, weights = network.question.weight[told.question[0] + shift].sum(-2), []
    for matrix in [*network.maps, None]:
        weights.append(torch.softmax(beta * k @ q / 32**0.5, 0))
        reading = weights[-1] @ v
        q = q if matrix is None else matrix @ reading + (q if keep else 0)
    said = figure_of(told, beta=beta, keep=keep).readout
    close(torch.tensor(said["weights"], dtype=torch.float64), torch.stack(weights), atol=1e-12)
    close(torch.tensor(said["answers"], dtype=torch.float64), network.answer(reading).softmax(-1), atol=1e-12)


def test_the_order_of_the_facts_means_nothing():
    told, order = stories(1), torch.randperm(10, generator=torch.Generator().manual_seed(1)).tolist()
    facts = told.facts[0].tolist()
    plain = figure_of(told).readout
    moved = HopLab(RECORD, facts=[facts[place] for place in order], asked=told.question[0, -1].item()).readout
    assert moved["answers"] == pytest.approx(plain["answers"], abs=1e-12)
    for there, here in zip(moved["weights"], plain["weights"], strict=True):
        assert there == pytest.approx([here[place] for place in order], abs=1e-12)


# Its logic, against the maker of the stories, who knows the answers


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_follows_is_what_the_story_was_made_for(depth):
    told = stories(100, seed=depth, depth=depth, others=3)
    for story in range(100):
        support = told.support[story, :depth].tolist()
        found = figure_of(told, story).readout["follows"]
        assert found == [[told.answer[story].item(), *support]]
        assert figure_of(told, story, hidden=support[-1:]).readout["follows"] == []


@pytest.mark.parametrize(
    ("lines", "chains"),
    [
        (("Ada is grey",), [["grey", 0]]),
        (("Ada is grey", "Ada is red", "Ada is grey"), [["grey", 0], ["red", 1]]),
        (("Ada is a mole", "Ben is grey"), []),
        (("Ada is a mole", "moles are red", "hares are blue"), [["red", 0, 1]]),
        (("Ada is a mole", "moles are red", "Ada is blue"), [["blue", 2]]),
        (("Ben is grey", "Ben is a mole", "moles are red", "Ada is a mole"), [["red", 3, 2], ["grey", 3, 1, 0]]),
        (("Ada is a mole", "Ada is a hare", "Ben is a hare", "Ben is pink"), [["pink", 1, 2, 3]]),
    ],
)
def test_what_follows_from_a_few_facts(lines, chains):
    figure = HopLab(RECORD, facts=say(*lines), asked=VOCABULARY.index("Ada"))
    assert figure.readout["follows"] == [[VOCABULARY.index(colour), *places] for colour, *places in chains]
    assert all(colour in figure.alt() for colour, *_ in chains)


# The still picture


def test_fewer_facts_than_are_hidden_are_refused_unless_both_change():
    figure = HopLab(RECORD, hidden=[8])
    with pytest.raises(FigureError, match=r"hidden is \[8\]; expected some, not all, of the places 0 to 1"):
        figure.facts = figure.facts[:2]
    figure.set_state({"facts": figure.facts[:2], "hidden": [1]})
    assert (len(figure.facts), figure.hidden) == (2, [1])


def test_refuses_another_record():
    with pytest.raises(FigureError, match="record is"):
        HopLab(recorded("associative_capacity"))


def test_a_figure_draws_nothing_at_random():
    before = torch.get_rng_state()
    _ = HopLab(RECORD).readout
    assert torch.equal(torch.get_rng_state(), before)


@EVERY
def test_the_still_picture_is_drawn_from_the_same_numbers(number):
    figure = HopLab(RECORD, number, hidden=[1])
    said, name = figure.readout, "{http://www.w3.org/2000/svg}"
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', figure.page())[1]))
    words = [text.text for text in drawn.iter(f"{name}text")]
    shades = [float(part.get("fill-opacity")) for part in drawn.iter(f"{name}rect") if part.get("fill-opacity")]
    expected = [said["weights"][hop][place] for place in range(10) for hop in range(len(said["weights"]))]
    assert shades == pytest.approx(expected, abs=0.005)
    answer = f"It answers {VOCABULARY[said['answer']]} with probability {said['answers'][said['answer']]:.2f}."
    assert any(answer in line for line in words)
    assert answer in figure.alt()
    assert html.escape(figure.alt()) in figure.page()


def test_stories_to_choose_from_ask_for_three_facts():
    assert len(RECORD["stories"]) == memory_networks.STORIES
    for story in RECORD["stories"]:
        (chain,) = HopLab(RECORD, facts=story["facts"], asked=story["asked"]).readout["follows"]
        assert len(chain) == 4
        assert VOCABULARY[story["asked"]] in NAMES
        assert VOCABULARY[chain[0]] in COLOURS


# In a browser

FIRST = RECORD["stories"][0]


@pytest.fixture
def lab(desk):
    return desk.show(HOP_LAB, START)


def test_begins_with_the_state_it_was_given(desk):
    given = {"network": 2, "facts": FIRST["facts"][:6], "hidden": [2, 5], "asked": 12, "beta": 0.5, "keep": False}
    assert desk.show(HOP_LAB, given).is_right() == given


def test_a_fact_can_be_rewritten(lab):
    lab.choice("Change fact").select_option("7")
    lab.choice("what is said").select_option("is grey")
    assert lab.is_right()["facts"][7] == [*FIRST["facts"][7][:2], NUMBER["grey"], 0]
    lab.choice("what is said").select_option("is a mole")
    lab.choice("its subject").select_option("Eva")
    lab.is_right()
    assert hop_told(lab)[7] == "Eva is a mole"
    lab.choice("its subject").select_option("herons")
    lab.is_right()
    assert hop_told(lab)[7].startswith("herons are ")
    lab.choice("what is said").select_option("are pink")
    lab.choice("its subject").select_option("Gus")
    state = lab.is_right()
    assert hop_told(lab)[7] == "Gus is pink"
    assert state["facts"][:7] + state["facts"][8:] == FIRST["facts"][:7] + FIRST["facts"][8:]


def test_a_fact_moves_and_stays_hidden_when_it_does(lab):
    lab.box.locator("th.fact").nth(3).click()
    lab.button("Up").click()
    assert lab.is_right()["facts"][2:4] == START["facts"][2:4][::-1]
    lab.choice("Change fact").press("End")
    lab.is_right()  # the first fact cannot go up, the last can
    lab.button("Up").press("Enter")
    assert lab.is_right()["facts"][8:] == START["facts"][8:][::-1]
    lab.button("Reset").click()
    lab.tick("may read fact 4").click()
    lab.choice("Change fact").select_option("4")
    for hidden, name in (([5], "Down"), ([6], "Down"), ([5], "Up")):
        lab.button(name).click()
        assert lab.is_right()["hidden"] == hidden
    lab.choice("Change fact").select_option("6")
    lab.button("Up").click()
    assert lab.is_right()["hidden"] == [6]
    assert lab.choice("Change fact").input_value() == "5"


def test_the_ends_of_every_range(lab):
    """The last fact in sight cannot be hidden, the first cannot go up, the last not down; there are sixteen facts at most."""
    for place in range(9):
        lab.tick(f"may read fact {place}").click()
    assert lab.is_right()["hidden"] == [*range(9)]
    assert lab.tick("may read fact 9").is_disabled()
    assert lab.button("Up").is_disabled()
    lab.button("Reset").click()
    for count in range(11, 17):
        lab.button("Add a bystander").click()
        assert len(lab.is_right()["facts"]) == count
    assert lab.button("Add a bystander").is_disabled()
    assert lab.button("Down").is_disabled()
    assert not lab.button("Up").is_disabled()


def test_all_stories_come_round(lab):
    for story in [*RECORD["stories"][1:], FIRST]:
        lab.button("Another story").click()
        assert lab.is_right() == START | story
        assert lab.phase() == "right"


def test_tells_who_follows_the_facts(lab):
    """The argument of the page in three moves: take the second fact away, choose the other network, add a bystander."""
    chain = computed(HOP_LAB, **START)["follows"][0]
    lab.tick(f"may read fact {chain[2]}").click()
    lab.is_right()
    assert lab.phase() == "does not follow"
    assert "no colour follows" in lab.told(".says")
    lab.choice("Network").select_option("3 hops, answers alone")
    lab.is_right()
    assert f"The network says {VOCABULARY[chain[0]]}," in lab.told(".says")  # the right colour, though it does not follow
    lab.tick(f"may read fact {chain[2]}").click()
    lab.is_right()
    assert lab.phase() == "right"
    assert f"follows {VOCABULARY[chain[0]]}" in lab.told(".says")


def test_cells_bars_and_paths_are_what_is_told(lab):
    numbers = computed(HOP_LAB, **START)
    read = "all => all.map(cell => [cell.textContent, cell.style.getPropertyValue('--share'), cell.classList.contains('need')])"
    cells = lab.box.locator("td.weight").evaluate_all(read)
    expected = [hop[place] for place in range(10) for hop in numbers["weights"]]
    assert [float(text) for text, *_ in cells] == pytest.approx(expected, abs=0.005)
    assert [float(share) for _, share, _ in cells] == pytest.approx(expected, abs=0.0005)
    chain = numbers["follows"][0][1:]
    needed = [place for place, (*_, need) in enumerate(cells) if need]
    assert needed == sorted(3 * place + hop for hop, place in enumerate(chain))
    probable = lab.told(".probable").split()
    best = sorted(range(len(numbers["answers"])), key=numbers["answers"].__getitem__)[::-1][:3]
    assert [word for word in probable if word in VOCABULARY] == [VOCABULARY[word] for word in best]
    paths = lab.box.locator("path.path").evaluate_all("paths => paths.map(path => path.getAttribute('d'))")
    drawn = sorted([float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", path)] for path in paths)
    scores = torch.tensor(numbers["scores"], dtype=torch.float64).T
    places = 34 + (scores.max() - scores) / (scores.max() - scores.min()) * (196 - 34 - 24)
    torch.testing.assert_close(torch.tensor(drawn), torch.tensor(sorted(places.tolist())), atol=0.06, rtol=0, check_dtype=False)


@pytest.mark.parametrize("desk", [PHONE], indirect=True)
def test_on_a_phone_the_weights_and_what_changes_them_share_a_screen(desk):
    lab = desk.show(HOP_LAB, START)
    first, last = lab.choice("What colour is").bounding_box(), lab.box.locator("td.weight").last.bounding_box()
    assert last["y"] + last["height"] - first["y"] < 844
