"""Attention while it learns: record the weights of a few sentences at steps of a few training runs.

    python experiments/alignment_film.py            all runs, a few minutes of one core
    python experiments/alignment_film.py --resume   only the runs that the result file does not have yet

The runs are those of ``translation_scores.py`` at width 128 and its shared learning rate, the same seeds and batches, and one
of them once more with five times the steps. More steps also stretch the schedule: the learning rate warms up for a twentieth of
them. Every run is appended to attnlib/course/data/results/alignment_film.json as soon as it is done.

Weights are stored in 8 bits: each row of a map is shared out in 255 parts (largest remainders), so that it still sums to one.
The curves are measured before that, on 100 sentences of the validation set; so are the entropy and the alignment error of each
sentence on show. Nobody has seen these sentences in training.
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
from translation_scores import BATCH, SHARED_RATE, TESTBED, links_of, state_of

from attnlib import __version__
from attnlib.course.data import Vocabulary, batches, make_batch, translation_corpus
from attnlib.course.models import Seq2Seq, alignment_error_rate, teach

RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "alignment_film.json"
SENTENCES = (
    "den schweren Lederkoffer macht ein Gast auf .",
    "der Prinz weiß , dass ein Fischer mich findet .",
    "am Montag zeichnen wir den schönen Birnbaum nicht .",
)
"""On show: an object in front and a verb in two parts, a verb that German puts last, a time in front. All from the test set."""
RUNS = (("dot", 0, 400), ("dot", 2, 400), ("dot", 2, 2000), ("scaled_dot", 2, 400), ("scaled_dot", 2, 2000))
"""Score, seed, steps."""
HIDDEN, RATE = TESTBED, SHARED_RATE
JUDGED = 1000
"""Test sentences for the alignment error after training, the same as in ``translation_scores.py``."""


def settings():
    """All runs, as the result file names them."""
    return [{"hidden": HIDDEN, "score": score, "seed": seed, "steps": steps, "rate": RATE} for score, seed, steps in RUNS]


def watched(steps):
    """Steps after which a picture is taken: dense at the beginning, where attention changes fastest."""
    short = steps <= 400
    early = [*range(0, 50, 5), *range(50, 100, 10)] if short else range(0, 100, 10)
    late = range(200, min(steps, 500), 25 if short else 50)
    return [*early, *range(100, 200, 20), *late, *range(500, steps, 100), steps]


def parts(weights):
    """Rows that sum to one ``[n, m]`` in whole parts that sum to 255: the largest remainders get what rounding down leaves."""
    exact = 255 * weights.double() / weights.double().sum(-1, keepdim=True)
    whole = exact.floor()
    order = (exact - whole).argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    return (whole + (order < 255 - whole.sum(-1, keepdim=True))).to(torch.uint8)


def measured(model, batch):
    """Loss per word, alignment error, and what ``translation_scores.py`` watches, on one batch."""
    with torch.no_grad():
        record = model.explain(batch.source, batch.given, batch.mask)
    state = state_of(model, record, batch)
    return {
        "loss": F.cross_entropy(record.logits.flatten(0, 1), batch.wanted.flatten(), ignore_index=0).item(),
        "aer": alignment_error_rate(links_of(record, batch), [pair.alignment for pair in batch.pairs]),
        "entropy": state["entropy"],
        "spread": state["spread"],
    }


def filmed(model, batch):
    """The map of one sentence, and its entropy in units of ln T and its alignment error."""
    with torch.no_grad():
        record = model.explain(batch.source, batch.given)
    weights = record.weights[0, : len(batch.pairs[0].target)].double()
    entropy = -torch.xlogy(weights, weights).sum(-1).mean() / torch.tensor(weights.shape[1]).log()
    return parts(weights), entropy.item(), alignment_error_rate(links_of(record, batch), [batch.pairs[0].alignment])


def run(setting, corpus, source, target, pairs, *, until=None):
    """Train one model and film it; with ``until`` stop at that step, on the same schedule."""
    torch.manual_seed(setting["seed"])
    order = torch.Generator().manual_seed(setting["seed"])
    model = Seq2Seq(len(source), len(target), hidden=setting["hidden"], score=setting["score"])
    probe, shown = make_batch(corpus.validation[:100], source, target), [make_batch([pair], source, target) for pair in pairs]
    steps, curves, films = [], [], [[] for _ in pairs]

    def watch(step):
        if step in pictures:
            steps.append(step)
            curves.append(measured(model, probe))
            for film, batch in zip(films, shown, strict=True):
                film.append(filmed(model, batch))
        if step == until:
            raise StopIteration

    pictures, begin = set(watched(setting["steps"])), time.process_time()
    with contextlib.suppress(StopIteration):
        teach(
            model,
            lambda: batches(corpus.train, source, target, BATCH, generator=order),
            setting["steps"],
            learning_rate=setting["rate"],
            watch=watch,
        )
    found = {
        "at": steps,
        **{key: [round(now[key], 4) for now in curves] for key in curves[0]},
        "films": [
            {
                "weights": base64.b64encode(torch.stack([picture for picture, _, _ in film]).numpy().tobytes()).decode(),
                "entropy": [round(entropy, 4) for _, entropy, _ in film],
                "aer": [round(error, 4) for _, _, error in film],
            }
            for film in films
        ],
    }
    if until is None:
        judged = measured(model, make_batch(corpus.test[:JUDGED], source, target))
        found |= {"test_aer": round(judged["aer"], 4), "cpu_seconds": round(time.process_time() - begin, 1)}
    return setting | found


def lessons():
    """Corpus, vocabularies, and the pairs on show."""
    corpus = translation_corpus()
    source, target = (Vocabulary(getattr(pair, side) for pair in corpus.train) for side in ("source", "target"))
    said = {" ".join(pair.source): pair for pair in corpus.test}
    return corpus, source, target, [said[sentence] for sentence in SENTENCES]


def main():
    """Record what is asked for and write the file after every run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--resume", action="store_true", help="keep the runs that the result file has")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpus, source, target, pairs = lessons()
    result = {
        "command": "python experiments/alignment_film.py",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "attnlib": __version__},
        "weights": "8 bits: each row in 255 parts, frames x target words x source words, base64",
        "batch": BATCH,
        "validation_sentences": 100,
        "test_sentences": JUDGED,
        "sentences": [{"source": pair.source, "target": pair.target, "gold": sorted(pair.alignment)} for pair in pairs],
        "runs": json.loads(RESULTS.read_text())["runs"] if arguments.resume and RESULTS.exists() else [],
    }
    for setting in settings():
        if any(all(done[key] == value for key, value in setting.items()) for done in result["runs"]):
            continue
        found = run(setting, corpus, source, target, pairs)
        result["runs"].append(found)
        RESULTS.write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")
        ends = {key: found[key][-1] for key in ("loss", "aer", "entropy", "spread")}
        print(setting, ends, found["test_aer"], found["cpu_seconds"], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
