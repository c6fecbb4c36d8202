"""The hop lab from Python: its recorded networks, its numbers against the network and by hand, its logic, what it refuses."""

import html
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote

import pytest
import torch
from helpers.draw import close

pytest.importorskip("anywidget", reason="anywidget is not installed: pip install -e .[book]")

import memory_networks

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


@EVERY
def test_what_was_measured_is_measured_again(number):
    net = RECORD["networks"][number]
    again = memory_networks.judged(memory_networks.network_of(net["tables"], net["hops"]))
    assert again["right"] == pytest.approx(net["measured"]["right"], abs=0.002)  # two stories of a thousand, for ties
    for name in ("without_second_fact", "two_bystanders"):
        assert again[name] == pytest.approx(net["measured"][name], abs=0.002)
    close(torch.tensor(again["looks"]), torch.tensor(net["measured"]["looks"]), atol=1e-4)


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


@EVERY
def test_the_first_seed_is_the_network_of_the_figure(number):
    """What was measured on it, and what 8 bits leave of that: so the numbers of all rows can be measured again."""
    net = RECORD["networks"][number]
    row = row_of(seed=0, keep=True, hops=net["hops"], told=net["told"])
    assert {key: row[key] for key in ("early", *net["exact"])} == {"early": net["early"], **net["exact"]}
    again = memory_networks.examined(memory_networks.network_of(net["tables"], net["hops"]))
    for name in ("bystanders", "on_colours", "on_other_kinds", "on_the_last_read"):
        close(torch.tensor(again[name]), torch.tensor(row[name]), atol=0.02)


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


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_follows_is_what_the_story_was_made_for(depth):
    told = stories(100, seed=depth, depth=depth, others=3)
    for story in range(100):
        support = told.support[story, :depth].tolist()
        found = figure_of(told, story).readout["follows"]
        assert found == [[told.answer[story].item(), *support]]
        assert figure_of(told, story, hidden=support[-1:]).readout["follows"] == []


def say(*lines):
    return [[*(VOCABULARY.index(word) for word in line.split()), *[0] * (4 - len(line.split()))] for line in lines]


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


# What it refuses, what a notebook is given

BAD = [
    ({"network": 4}, "network is 4; expected 0 <= network < 4"),
    ({"network": -1}, "network is -1"),
    ({"facts": []}, "facts has 0 sentences; expected 1 to 16"),
    ({"facts": say("Ada is grey") * 17}, "facts has 17 sentences"),
    ({"facts": [[1, 2, 3]]}, "facts has [1, 2, 3]"),
    ({"facts": say("Ada are grey")}, "facts has"),
    ({"facts": say("moles is grey")}, "facts has"),
    ({"facts": say("Ada is a grey")}, "facts has"),
    ({"facts": say("Ada is a attic")}, "facts has"),
    ({"facts": say("Ada is grey red")}, "facts has"),
    ({"facts": say("grey is grey")}, "facts has"),
    ({"hidden": [10]}, "hidden is [10]; expected some, not all, of the places 0 to 9"),
    ({"hidden": [-1]}, "hidden is [-1]"),
    ({"hidden": [*range(10)]}, "hidden is [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"),
    ({"asked": 9}, "asked is 9; expected the number of a name, 10 to 21"),
    ({"asked": VOCABULARY.index("hare")}, "asked is 25"),
    ({"beta": 0.09}, "beta is 0.09; expected 0.1 <= beta <= 10"),
    ({"beta": 11}, "beta is 11"),
    ({"beta": math.nan}, "beta is nan"),
]


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_refuses_and_keeps_the_old_value(settings, complaint):
    with pytest.raises(FigureError, match=re.escape(complaint)) as refused:
        HopLab(RECORD, **settings)
    assert isinstance(refused.value, ValueError)
    figure = HopLab(RECORD, 2, hidden=[3], beta=2, keep=False)
    before = figure.state()
    (name, value), *_ = settings.items()
    with pytest.raises(FigureError, match=re.escape(complaint)):
        setattr(figure, name, value)
    assert figure.state() == before


def test_fewer_facts_than_are_hidden_are_refused_unless_both_change():
    figure = HopLab(RECORD, hidden=[8])
    with pytest.raises(FigureError, match=r"hidden is \[8\]; expected some, not all, of the places 0 to 1"):
        figure.facts = figure.facts[:2]
    figure.set_state({"facts": figure.facts[:2], "hidden": [1]})
    assert (len(figure.facts), figure.hidden) == (2, [1])


def test_refuses_another_record():
    with pytest.raises(FigureError, match="record is"):
        HopLab(recorded("associative_capacity"))


def test_the_page_is_small_whole_and_the_same_every_time():
    figure = HopLab(RECORD, ALONE, hidden=[2])
    assert len(figure._esm) < CODE
    assert len(figure.page()) < DATA
    assert HopLab(RECORD, ALONE, hidden=[2]).page() == figure.page()
    assert json.loads(html.unescape(re.search(r'data-state="([^"]*)"', figure.page())[1])) == figure.state()
    assert len(repr(figure)) < 200


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
