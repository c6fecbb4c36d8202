"""The small translators of pages 1 and 2b, trained once, so that a page need not train them.

    python experiments/translators.py            trains all, two minutes of one core
    python experiments/translators.py --resume   only those that the result file does not have yet

Page 2b has five, one for each score: four hundred batches of 64 sentences at a learning rate of 0.008. In training the spread
of the scores and the entropy of the weights are measured on all validation sentences of nine words in both languages. Their
weights are kept in 8 bits, each table as whole numbers from -127 to 127 and a scale; BLEU and alignment error on the first 300
test sentences are given before and after rounding. Page 1 has one, which learns from sentences of at most eight words. Of it
the scores of all test sentences of eight words in both languages are kept, every fifty steps, in 16 bits; of four others, which
differ in weights and order, what claims are made of.

Every translator is written to attnlib/course/data/results/translators.json as soon as it is trained.
"""

import argparse
import contextlib
import json
import math
import platform
import re
import sys
import time
from pathlib import Path

import torch
from memory_networks import double_precision, packed

from attnlib import __version__
from attnlib.course.data import Vocabulary, batches, make_batch, translation_corpus
from attnlib.course.data.networks import network_weights
from attnlib.course.models import Seq2Seq, alignment_error_rate, evaluate, links, teach
from attnlib.softmax import entropy, freezing_scale, participation_ratio, relative_spread

RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "translators.json"
SCORES = ("dot", "scaled_dot", "general", "additive", "none")
HIDDEN, STEPS, BATCH, RATE, WARM_UP, EARLY, JUDGED = 96, 400, 64, 8e-3, 20, 20, 300
SHORT = {"longest": 8, "batch": 32, "warm_up": 0, "every": 50}
"""What is different for the translator of page 1."""
OTHERS = 4
"""How many others like it are trained, from seed 1 on."""


def rounded(numbers, digits=6):
    """A list of numbers, so many digits of each."""
    return [float(f"{number:.{digits}g}") for number in numbers]


def lessons(longest=None):
    """The corpus, the pairs to learn from, and the vocabularies of these."""
    corpus = translation_corpus()
    pairs = [pair for pair in corpus.train if longest is None or len(pair.source) <= longest]
    source, target = (Vocabulary(getattr(pair, side) for pair in pairs) for side in ("source", "target"))
    return corpus, pairs, source, target


def of_length(pairs, length):
    """The pairs that have so many words in both languages."""
    return [pair for pair in pairs if len(pair.source) == len(pair.target) == length]


def written(pairs):
    """Pairs as a file holds them: words, words, links."""
    return [[" ".join(pair.source), " ".join(pair.target), sorted(map(list, pair.alignment))] for pair in pairs]


def taught(model, pairs, source, target, watch, *, batch=BATCH, warm_up=WARM_UP, until=STEPS, seed=0):
    """Teach a model, with a seed for the order, and return the losses; none are left where it stops early, on this schedule."""
    order = torch.Generator().manual_seed(seed)

    def lessons():
        return batches(pairs, source, target, batch, generator=order)

    def look(step):
        watch(step)
        if step == until < STEPS:
            raise StopIteration

    with contextlib.suppress(StopIteration):
        return teach(model, lessons, STEPS, learning_rate=RATE, warm_up=warm_up, watch=look)
    return []


def trained(score, until=STEPS):
    """One of the five, what was watched in its training, and its losses."""
    corpus, pairs, source, target = lessons()
    probe, history = make_batch(of_length(corpus.validation, 9), source, target), []
    torch.manual_seed(0)
    model = Seq2Seq(len(source), len(target), hidden=HIDDEN, score=score)

    def watch(step):
        if score != "none" and (step % 25 == 0 or step == 10):
            with torch.no_grad():
                seen = model.explain(probe.source, probe.given)
            spread = relative_spread(seen.scores[:, :-1], beta=model.beta).mean()
            decided = (entropy(seen.weights[:, :-1]) / math.log(9)).mean()
            history.append([step, *rounded([spread.item(), decided.item()])])

    return model, history, taught(model, pairs, source, target, watch, until=until)


def judged(model):
    """BLEU and alignment error on the first test sentences, as page 2b measures them."""
    corpus, _, source, target = lessons()
    found = evaluate(model, batches(corpus.test[:JUDGED], source, target, 100), target.decode)
    return {"bleu": round(found.bleu, 2), "aer": None if model.score == "none" else round(found.aer, 4)}


def of_tables(score, tables):
    """The rounded network."""
    _, _, source, target = lessons()
    model = Seq2Seq(len(source), len(target), hidden=HIDDEN, score=score)
    model.load_state_dict(network_weights(tables))
    return model


def run(score):
    """What the file holds of one of the five."""
    begin = time.process_time()
    model, history, losses = trained(score)
    tables = {name: packed(table) | {"shape": [*table.shape]} for name, table in model.state_dict().items()}
    found = {"history": history, "early": rounded(losses[:EARLY]), "exact": judged(model), "tables": tables}
    found["measured"] = judged(of_tables(score, tables))
    return {"score": score, "cpu_seconds": round(time.process_time() - begin, 1)} | found


@double_precision()
def watched(seed=0, until=STEPS):
    """A translator of page 1 in training: sentences of eight words, when it was looked at, its scores of them, and its losses.

    The page computes in double precision, the network does not.
    """
    corpus, pairs, source, target = lessons(SHORT["longest"])
    pairs_of_eight, at, path = of_length(corpus.test, 8), [], []
    eight = make_batch(pairs_of_eight, source, target)
    torch.manual_seed(seed)
    model = Seq2Seq(len(source), len(target), hidden=HIDDEN, score="dot").float()

    def watch(step):
        if step % SHORT["every"] == 0:
            at.append(step)
            with torch.no_grad():
                path.append(model.explain(eight.source, eight.given).scores[:, :8])

    how = {"batch": SHORT["batch"], "warm_up": SHORT["warm_up"], "until": until, "seed": seed}
    losses = taught(model, pairs, source, target, watch, **how)
    return pairs_of_eight, at, torch.stack(path), losses


def short(until=STEPS):
    """What the file holds of the translator of page 1."""
    pairs, at, scores, losses = watched(until=until)
    kept = packed(scores, torch.int16) | {"shape": [*scores.shape]}
    return SHORT | {"at": at, "early": rounded(losses[:EARLY]), "pairs": written(pairs), "scores": kept}


@double_precision()
def another(seed, until=STEPS):
    """Another of them, by its numbers: alignment error, spread of scores over the freezing scale, and participation ratio.

    Beside it the participation ratios of Gaussian scores, and of one score above seven, that spread as each row of its own.
    """
    pairs, at, scores, _ = watched(seed, until)
    scores = scores.double()
    spread = scores.std(-1, correction=0) / freezing_scale(8)
    drawn = torch.randn(500, 8, generator=torch.Generator().manual_seed(seed))

    def alike(kind):
        unit = freezing_scale(8) * torch.nn.functional.layer_norm(kind, (8,), eps=0)
        return [participation_ratio((rows[..., None, None] * unit).softmax(-1)).mean().item() for rows in spread]

    found = {
        "spread": spread.mean((1, 2)).tolist(),
        "participation": participation_ratio(scores.softmax(-1)).mean((1, 2)).tolist(),
    }
    found |= {"gaussian": alike(drawn), "one": alike(torch.eye(8)[:1])}
    gold = [pair.alignment for pair in pairs]
    error = alignment_error_rate([links(weights) for weights in scores[-1].softmax(-1)], gold)
    found = {name: rounded(row, 4) for name, row in found.items()}
    return {"seed": seed, "processor": processor(), "at": at, "aer": round(error, 4)} | found


def processor():
    """What decides the last digits beside the versions: the processor, and what torch uses of it."""
    named = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else None
    return f"{named[1] if named else platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"


def main():
    """Train what is asked for and write the file after every translator."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--resume", action="store_true", help="keep what the result file has")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if arguments.resume and RESULTS.exists() else {}
    result = {
        "command": "python experiments/translators.py",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "attnlib": __version__},
        "processor": before.get("processor", processor()),
        "seed": 0,
        "weights": "8 bits: signed bytes times a scale a table, base64; scores of the short one in 16 bits",
        "settings": {"hidden": HIDDEN, "steps": STEPS, "batch": BATCH, "rate": RATE, "warm_up": WARM_UP, "judged": JUDGED},
        "runs": before.get("runs", []),
        "short": before.get("short"),
        "others": before.get("others", []),
    }
    for score in SCORES:
        if all(done["score"] != score for done in result["runs"]):
            result["runs"].append(run(score))
            RESULTS.write_text(json.dumps(result) + "\n", encoding="utf-8")
            print({key: result["runs"][-1][key] for key in ("score", "exact", "measured", "cpu_seconds")}, file=sys.stderr)
    if result["short"] is None:
        result["short"] = short()
        RESULTS.write_text(json.dumps(result) + "\n", encoding="utf-8")
    for seed in range(len(result["others"]) + 1, OTHERS + 1):
        result["others"].append(another(seed))
        RESULTS.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
