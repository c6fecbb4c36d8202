"""The four memory networks of page 2c, small enough to be sent to a browser.

    python experiments/memory_networks.py            trains all, a few minutes of one core
    python experiments/memory_networks.py --resume   only the networks that the result file does not have yet

Three learn from answers alone, with one, two and three hops; the fourth, with three hops, is told which facts each answer rests
on. Stories, seeds, steps and learning rates are those of the page. Every table is then rounded to 8 bits, a whole number from
-127 to 127 times a scale of its own, and only the rows that a story about animals can ask for are kept. What is measured is
measured on the rounded networks: the share of right answers at each depth, with and without the second fact, and with two
bystanders, and the mean weight of each hop on each supporting fact. Written to attnlib/data/results/memory_networks.json.
"""

import argparse
import base64
import contextlib
import json
import platform
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from attnlib import __version__
from attnlib.attention import MemoryNetwork
from attnlib.data.stories import ANIMALS, COLOURS, KINDS, NAMES, VOCABULARY, WORDS, animal_stories
from attnlib.live.hop_lab import unpacked

RESULTS = Path(__file__).parents[1] / "attnlib" / "data" / "results" / "memory_networks.json"
SETTINGS = (
    {"hops": 3, "told": True},
    {"hops": 3, "told": False},
    {"hops": 2, "told": False},
    {"hops": 1, "told": False},
)
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
def trained(setting, steps=STEPS):
    """A network after so many of the steps of its schedule, and its loss at each."""
    torch.manual_seed(0)
    network, losses = MemoryNetwork(len(VOCABULARY), WORDS, DIM, hops=setting["hops"]), []
    draw, optimiser = torch.Generator().manual_seed(0), torch.optim.Adam(network.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=STEPS)
    for _ in range(steps):
        loss = objective(network, animal_stories(32, generator=draw), setting["told"])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rate.step()
        losses.append(loss.item())
    return network.requires_grad_(False), losses


def packed(table):
    """A table in 8 bits: whole numbers and the scale that they are multiplied with."""
    scale = float(f"{table.abs().max() / 127:.6g}")
    whole = (table / scale).round().clamp(-127, 127).to(torch.int8)
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
    network = MemoryNetwork(len(VOCABULARY), WORDS, DIM, hops=hops).double().requires_grad_(False)
    for embedding, name, kind in (
        (network.question, "question", QUESTION),
        (network.key, "key", FACT),
        (network.value, "value", FACT),
    ):
        embedding.weight.zero_()
        embedding.weight[rows(kind)] = unpacked(tables[name], DIM)
    for matrix, packed_matrix in zip(network.maps, tables["maps"], strict=True):
        matrix.copy_(unpacked(packed_matrix, DIM))
    network.answer.weight.copy_(unpacked(tables["answer"], DIM))
    network.answer.bias.copy_(unpacked(tables["bias"], 1)[:, 0])
    return network


@double_precision()
def judged(network, asked=ASKED):
    """Shares of right answers and where the hops look, as page 2c measures them."""

    def right(mask=None, **kind):
        stories = animal_stories(asked, generator=torch.Generator().manual_seed(7), **kind)
        hidden = None
        if mask:
            everything = torch.ones(stories.facts.shape[:2], dtype=torch.bool)
            hidden = everything.scatter(1, stories.support[:, 1:2], False)
        guess = network(stories.facts, stories.question, hidden).argmax(-1)
        return (guess == stories.answer).double().mean().item()

    deep = animal_stories(asked, depth=3, generator=torch.Generator().manual_seed(8))
    weights = network.explain(deep.facts, deep.question).weights
    looks = weights.gather(2, deep.support[:, None].expand(-1, weights.shape[1], -1)).mean(0)
    return {
        "right": [right(depth=depth) for depth in (1, 2, 3)],
        "without_second_fact": right(mask=True, depth=3),
        "two_bystanders": right(depth=3, others=2),
        "looks": [[round(weight, 4) for weight in hop] for hop in looks.tolist()],
    }


def main():
    """Train what is asked for and write the file after every network."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--resume", action="store_true", help="keep the networks that the result file has")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with double_precision():
        first = animal_stories(1, depth=3, generator=torch.Generator().manual_seed(1))  # the story of the page
        others = animal_stories(STORIES - 1, depth=3, generator=torch.Generator().manual_seed(2))
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
        "networks": json.loads(RESULTS.read_text())["networks"] if arguments.resume and RESULTS.exists() else [],
    }
    for setting in SETTINGS:
        if any(all(done[key] == value for key, value in setting.items()) for done in result["networks"]):
            continue
        begin = time.process_time()
        network, losses = trained(setting)
        found = setting | {"early": [round(loss, 6) for loss in losses[:EARLY]], "tables": kept(network)}
        found |= {"measured": judged(network_of(found["tables"], setting["hops"])), "exact": judged(network)}
        found |= {"cpu_seconds": round(time.process_time() - begin, 1)}
        result["networks"].append(found)
        RESULTS.write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")
        print(setting, found["measured"], found["exact"], found["cpu_seconds"], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
