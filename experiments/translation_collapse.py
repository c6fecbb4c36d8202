"""Does the dot product collapse? Train attentions on the generated corpus at several widths and write what they did.

    python experiments/translation_collapse.py            the whole table, about half an hour of one core
    python experiments/translation_collapse.py --resume   only the runs that the result file does not have yet

Every run is appended to attnlib/data/results/translation_collapse.json as soon as it is done. All attentions of a width have
the same number of steps, learning rate, batches and first weights (the seed sets them).
"""

import argparse
import itertools
import json
import math
import platform
import sys
import time
from pathlib import Path

import torch

from attnlib import __version__
from attnlib.attention import Seq2Seq, alignment_error_rate, bleu, links, teach
from attnlib.data import Vocabulary, batches, make_batch, translation_corpus

RESULTS = Path(__file__).parents[1] / "attnlib" / "data" / "results" / "translation_collapse.json"
BATCH = 64
BUDGETS = {32: (400, 1e-2), 64: (400, 8e-3), 128: (400, 6e-3), 256: (300, 4e-3), 512: (200, 3e-3)}
"""Width to steps and highest learning rate."""
PLAIN = ("dot", "scaled_dot", "none", "general", "additive")
WATCHED = (0, 10, 25, 50, 75, 100, 150, 200, 250, 300, 400, 600, 800, 1000, 1500, 2000)
"""Steps after which spread and entropy are recorded."""


def settings():
    """All runs: the narrow widths first, so that a table that was cut off is complete for the widths it has."""
    for widths in ((32, 64, 128), (256,), (512,)):
        for seed, hidden in itertools.product((0, 1, 2), widths):
            steps, rate = BUDGETS[hidden]
            plain = [(score, False) for score in (PLAIN if hidden <= 128 else PLAIN[:3])]
            for score, normalise in (*plain, ("dot", True), ("scaled_dot", True)):
                yield {
                    "hidden": hidden,
                    "score": score,
                    "normalise": normalise,
                    "seed": seed,
                    "steps": steps,
                    "rate": rate,
                }
    for score in ("dot", "scaled_dot"):  # does the loser catch up when there is time?
        yield {"hidden": 64, "score": score, "normalise": False, "seed": 0, "steps": 2000, "rate": 8e-3}


def rows(record, batch):
    """Which rows of a batch are words to be translated (the end of the sentence and padding are not)."""
    lengths = torch.tensor([len(pair.target) for pair in batch.pairs])
    return torch.arange(record.logits.shape[1]) < lengths[:, None]


def state_of(model, batch):
    """Spread of beta times the scores over the keys, entropy in units of ln T, share of rows beyond sqrt(2 ln T)."""
    with torch.no_grad():
        record = model.explain(batch.source, batch.given, batch.mask)
    real, mask = rows(record, batch), batch.mask[:, None].expand_as(record.weights)
    count = mask.sum(-1)[real]
    scores = torch.where(mask, model.beta * record.scores, 0.0)[real]
    mean = scores.sum(-1, keepdim=True) / count[:, None]
    spread = ((scores - mean).square() * mask[real]).sum(-1).div(count).sqrt()
    weights = record.weights[real]
    entropy = -torch.xlogy(weights, weights).sum(-1) / count.log()
    freezing = (2 * count.log()).sqrt()
    return {
        "spread": spread.mean().item(),
        "spread_over_freezing": (spread / freezing).mean().item(),
        "frozen_rows": (spread > freezing).float().mean().item(),
        "entropy": entropy.mean().item(),
        "largest_weight": weights.amax(-1).mean().item(),
        "key_norm": record.key.norm(dim=-1)[batch.mask].mean().item(),
        "query_norm": record.query.norm(dim=-1)[real].mean().item(),
        "key_variance": record.key[batch.mask].var().item(),
        "query_variance": record.query[real].var().item(),
    }


def links_of(record, batch):
    """The alignment that attention draws of each sentence of a batch."""
    sizes = [(len(pair.target), len(pair.source)) for pair in batch.pairs]
    return [links(weights[:n, :m]) for weights, (n, m) in zip(record.weights, sizes, strict=True)]


def run(setting, corpus, source, target, test_pairs):
    """Train one model and measure it on the test sentences."""
    torch.manual_seed(setting["seed"])
    order = torch.Generator().manual_seed(setting["seed"])
    sizes = {key: setting[key] for key in ("hidden", "score", "normalise")}
    model = Seq2Seq(len(source), len(target), **sizes)
    probe = make_batch(corpus.validation[:100], source, target)
    history = []

    def watch(step):
        if step in WATCHED:
            now = state_of(model, probe) if setting["score"] != "none" else {}
            history.append({"step": step} | {key: round(now[key], 4) for key in ("spread", "entropy") if now})

    begin = time.process_time()
    losses = teach(
        model,
        lambda: batches(corpus.train, source, target, BATCH, generator=order),
        setting["steps"],
        learning_rate=setting["rate"],
        watch=watch,
    )
    seconds = time.process_time() - begin
    said, wanted, found, gold = [], [], [], []
    with torch.no_grad():
        for batch in batches(test_pairs, source, target, 100):
            record = model.explain(batch.source, batch.given, batch.mask)
            said += [target.decode(words) for words in model.greedy(batch.source, batch.mask).tolist()]
            wanted += [pair.target for pair in batch.pairs]
            gold += [pair.alignment for pair in batch.pairs]
            found += links_of(record, batch)
    attends = setting["score"] != "none"
    at_the_end = state_of(model, make_batch(test_pairs, source, target)) if attends else {}
    return setting | {
        "loss": sum(losses[-20:]) / 20,
        "bleu": bleu(said, wanted),
        "aer": alignment_error_rate(found, gold) if attends else None,
        **at_the_end,
        "history": history,
        "cpu_seconds": round(seconds, 1),
    }


def rounded(result):
    """Five significant digits are more than training repeats on another processor."""
    return {key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in result.items()}


def main():
    """Run what is asked for and write the table after every run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--resume", action="store_true", help="keep the runs that the result file has")
    parser.add_argument("--sentences", type=int, default=500, help="test sentences to translate")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpus = translation_corpus()
    source, target = (Vocabulary(getattr(pair, side) for pair in corpus.train) for side in ("source", "target"))
    test_pairs = corpus.test[: arguments.sentences]
    full = [
        frozenset({min(link for link in pair.alignment if link[0] == i) for i in range(len(pair.target))})
        for pair in test_pairs
    ]
    table = {
        "command": "python experiments/translation_collapse.py",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "attnlib": __version__},
        "corpus": {"pairs": 24_000, "seed": 0, "source_words": len(source), "target_words": len(target)},
        "batch": BATCH,
        "test_sentences": len(test_pairs),
        "mean_source_length": sum(len(pair.source) for pair in test_pairs) / len(test_pairs),
        "mean_log_source_length": sum(math.log(len(pair.source)) for pair in test_pairs) / len(test_pairs),
        "best_aer_of_one_link_a_word": alignment_error_rate(full, [pair.alignment for pair in test_pairs]),
        "runs": json.loads(RESULTS.read_text())["runs"] if arguments.resume and RESULTS.exists() else [],
    }
    for setting in settings():
        if any(all(done[key] == value for key, value in setting.items()) for done in table["runs"]):
            continue
        result = rounded(run(setting, corpus, source, target, test_pairs))
        table["runs"].append(result)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(table, indent=1) + "\n")
        shown = {key: result.get(key) for key in ("hidden", "score", "normalise", "seed", "bleu", "aer", "entropy", "spread")}
        print(*(f"{key} {value}" for key, value in shown.items()), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
