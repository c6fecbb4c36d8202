"""The four memory networks of page 2c, small enough to be sent to a browser.

    python experiments/memory_networks.py            trains all, a quarter of an hour of one core
    python experiments/memory_networks.py --resume   only the networks that the result file does not have yet

Three learn from answers alone, with one, two and three hops; the fourth, with three hops, is told which facts each answer rests
on. Stories, seeds, steps and learning rates are those of the page. Every table is then rounded to 8 bits, a whole number from
-127 to 127 times a scale of its own, and only the rows that a story about animals can ask for are kept. What is measured is
measured on the rounded networks: the share of right answers at each depth, with and without the second fact, and with two
bystanders, and the mean weight of each hop on each supporting fact. Written to its file in attnlib/course/data/results.

Because one network proves little, the same four are trained from five seeds each, and two more with three hops in which a hop
forgets the question (keep=False). Of these the file holds what was measured and no weights: with one, two and four bystanders
at every depth, how much of each hop lies on facts that name a colour, on animals of other kinds, and on what the hop before it
read.
"""

import argparse
import base64
import contextlib
import itertools
import json
import platform
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from attnlib import __version__
from attnlib.course.data.networks import memory_network
from attnlib.course.data.stories import ANIMALS, COLOURS, KINDS, NAMES, VOCABULARY, WORDS, animal_stories
from attnlib.course.models import MemoryNetwork

RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "memory_networks.json"
SETTINGS = (
    {"hops": 3, "told": True},
    {"hops": 3, "told": False},
    {"hops": 2, "told": False},
    {"hops": 1, "told": False},
)
VARIED = (*SETTINGS, {"hops": 3, "told": True, "keep": False}, {"hops": 3, "told": False, "keep": False})
SEEDS, BYSTANDERS = 5, (1, 2, 4)
DIM, STEPS, RATE, EARLY, STORIES, ASKED = 32, 3000, 0.01, 20, 12, 1000
FACT = ((*NAMES, *KINDS), ("is", "are"), ("a", *COLOURS), ("", *ANIMALS))
QUESTION = (("what",), ("colour",), ("is",), NAMES)
"""The words that a fact and a question may have in each place."""


@contextlib.contextmanager
def double_precision():
    """As on the page: what is drawn depends on the precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def rows(kind):
    """The rows of an embedding that sentences of this kind ask for."""
    return [place * len(VOCABULARY) + VOCABULARY.index(word) for place, words in enumerate(kind) for word in words]


def objective(network, batch, told):
    """The loss of page 2c: of the answer, and, where the network is told, of each hop's own fact."""
    hops = network.explain(batch.facts, batch.question)
    loss = F.cross_entropy(network.answer(hops.reading[:, -1]), batch.answer)
    if not told:
        return loss
    last = batch.support.gather(1, batch.depth[:, None] - 1)
    fact = torch.where(batch.support < 0, last, batch.support)  # who is done early reads the last again
    return loss - hops.weights.gather(2, fact[..., None]).log().mean()


@double_precision()
def trained(setting, steps=STEPS, seed=0):
    """A network after so many of the steps of its schedule, and its loss at each."""
    torch.manual_seed(seed)
    keep, losses = setting.get("keep", True), []
    network = MemoryNetwork(len(VOCABULARY), WORDS, DIM, hops=setting["hops"], keep=keep)
    draw, optimiser = torch.Generator().manual_seed(seed), torch.optim.Adam(network.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=STEPS)
    for _ in range(steps):
        loss = objective(network, animal_stories(32, generator=draw), setting["told"])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rate.step()
        losses.append(loss.item())
    return network.requires_grad_(False), losses


def packed(table, whole_numbers=torch.int8):
    """A table in 8 bits, or in those of another type: whole numbers and the scale that they are multiplied with."""
    most = torch.iinfo(whole_numbers).max
    scale = float(f"{table.abs().max() / most:.6g}")
    whole = (table / scale).round().clamp(-most, most).to(whole_numbers)
    return {"scale": scale, "parts": base64.b64encode(whole.contiguous().numpy().tobytes()).decode()}


def kept(network):
    """Everything of a network that a story about animals needs, in 8 bits."""
    return {
        "question": packed(network.question.weight[rows(QUESTION)]),
        "key": packed(network.key.weight[rows(FACT)]),
        "value": packed(network.value.weight[rows(FACT)]),
        "maps": [packed(matrix) for matrix in network.maps],
        "answer": packed(network.answer.weight),
        "bias": packed(network.answer.bias),
    }


def network_of(tables, hops):
    """The rounded network; the rows that no story about animals asks for are zero."""
    known = {"networks": [{"hops": hops, "told": False, "tables": tables}]}
    record = {"dim": DIM, "words": VOCABULARY, "rows": {"fact": rows(FACT), "question": rows(QUESTION)}}
    return memory_network(record | known, hops)


def right(network, asked=ASKED, hide=False, **kind):
    """The share of right answers to stories of a kind, the second fact hidden or not."""
    stories = animal_stories(asked, generator=torch.Generator().manual_seed(7), **kind)
    hidden = None
    if hide:
        everything = torch.ones(stories.facts.shape[:2], dtype=torch.bool)
        hidden = everything.scatter(1, stories.support[:, 1:2], False)
    guess = network(stories.facts, stories.question, hidden).argmax(-1)
    return (guess == stories.answer).double().mean().item()


def rounded(numbers):
    """Four decimals, as a list."""
    return [round(number, 4) for number in numbers.tolist()]


@double_precision()
def judged(network, asked=ASKED):
    """Shares of right answers and where the hops look, as page 2c measures them."""
    deep = animal_stories(asked, depth=3, generator=torch.Generator().manual_seed(8))
    weights = network.explain(deep.facts, deep.question).weights
    looks = weights.gather(2, deep.support[:, None].expand(-1, weights.shape[1], -1)).mean(0)
    return {
        "right": [right(network, asked, depth=depth) for depth in (1, 2, 3)],
        "without_second_fact": right(network, asked, hide=True, depth=3),
        "two_bystanders": right(network, asked, depth=3, others=2),
        "looks": [rounded(hop) for hop in looks],
    }


@double_precision()
def examined(network, asked=ASKED):
    """The same, with bystanders at each depth, and more about where the hops look when the answer is three facts deep."""
    deep = animal_stories(asked, depth=3, generator=torch.Generator().manual_seed(8))
    weights = network.explain(deep.facts, deep.question).weights
    kind, last = deep.facts[:, :, 3], deep.facts[:, :, 2]
    other = (kind > 0) & (kind != kind.gather(1, deep.support[:, :1]))
    colour = (last >= VOCABULARY.index(COLOURS[0])) & (last <= VOCABULARY.index(COLOURS[-1]))
    return judged(network, asked) | {
        "bystanders": [[right(network, asked, depth=depth, others=others) for depth in (1, 2, 3)] for others in BYSTANDERS],
        "on_colours": rounded((weights * colour[:, None]).sum(-1).mean(0)),
        "on_other_kinds": rounded((weights * other[:, None]).sum(-1).mean(0)),
        "on_the_last_read": rounded((weights[:, 1:] * weights[:, :-1]).sum(-1).mean(0)),
    }


def has(done, setting):
    """Whether a list of results has one of a setting."""
    return any(all(one.get(key) == value for key, value in setting.items()) for one in done)


def write(result):
    """Keep what there is so far."""
    RESULTS.write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")


def main():
    """Train what is asked for and write the file after every network."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--resume", action="store_true", help="keep the networks that the result file has")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with double_precision():
        first = animal_stories(1, depth=3, generator=torch.Generator().manual_seed(1))  # the story of the page
        others = animal_stories(STORIES - 1, depth=3, generator=torch.Generator().manual_seed(2))
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if arguments.resume and RESULTS.exists() else {}
    result = {
        "command": "python experiments/memory_networks.py",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "attnlib": __version__},
        "weights": "8 bits: signed bytes times a scale a table, base64; rows of key and value, and of question, are listed",
        "dim": DIM,
        "words": VOCABULARY,
        "rows": {"fact": rows(FACT), "question": rows(QUESTION)},
        "stories": [
            {"facts": facts.tolist(), "asked": question[-1].item()}
            for stories in (first, others)
            for facts, question in zip(stories.facts, stories.question, strict=True)
        ],
        **{key: before.get(key, []) for key in ("networks", "seeds")},
    }
    for setting in SETTINGS:
        if has(result["networks"], setting):
            continue
        begin = time.process_time()
        network, losses = trained(setting)
        found = setting | {"early": [round(loss, 6) for loss in losses[:EARLY]], "tables": kept(network)}
        found |= {"measured": judged(network_of(found["tables"], setting["hops"])), "exact": judged(network)}
        found |= {"cpu_seconds": round(time.process_time() - begin, 1)}
        result["networks"].append(found)
        write(result)
        print(setting, found["measured"], found["exact"], found["cpu_seconds"], file=sys.stderr, flush=True)
    for seed, varied in itertools.product(range(SEEDS), VARIED):
        setting = {"seed": seed, "keep": True} | varied
        if has(result["seeds"], setting):
            continue
        network, losses = trained(setting, seed=seed)
        result["seeds"].append(setting | {"early": [round(loss, 6) for loss in losses[:EARLY]]} | examined(network))
        write(result)
        print(result["seeds"][-1], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
