"""Which score translates best? Speed, alignment and final quality, each score at a learning rate of its own.

    python experiments/translation_scores.py [--jobs N] [--dask N] [--blocks NAME ...] [--widths D ...] [--output FILE]

Every run is written to its file in attnlib/course/data/results as soon as it is done; a second call makes only what is
missing. With one thread a run is the same every time. All runs together take about nine and a half hours of one quiet core.

A kind of attention is a score and whether queries and keys are normalised. The blocks, in the order in which they run:

- ``grid``: 400 steps at learning rates a factor of two apart, as far as the best is at the edge. The rate with the lowest loss
  on the validation set is kept. Neither these runs nor the choice see the test set, and their seeds are used nowhere else. A
  run whose loss overflows has no loss, and its rate is not kept.
- ``short``: 400 steps at that rate, up to width 128: who is fast? Beyond it the curves of the long runs must answer.
- ``long``: 2,000 steps at the same rate, at width 128: is what is best for 400 steps good for more?
- ``rates``: 2,000 steps (1,000 from width 256 on) with seed 0 at learning rates a factor of two apart, as far as the best is at
  the edge: a long run has a rate of its own, chosen by its loss on the validation set.
- ``final``: five other seeds at that rate, which no choice has seen, where ``long`` has not made them: who is good in the end?
- ``warm-up``: 400 steps at one rate for all, with warm-ups of 0 to 200 steps, and 2,000 steps with a warm-up of 20 or of 100:
  does a run fail because the first steps are too large?
- ``gentle``: 400 steps at each kind's own rate, and at half of it, with a warm-up of 100 in place of 20: is a score slow, or
  does it only begin badly?
- ``heat``: 400 steps of the plain dot product at that rate, times a constant beta from 1/64 to 4, and nothing else changed;
  2,000 steps for three of them: does time make up for it? These three also at half and at twice that rate: does another
  learning rate make up for it?
  Beta of one and of 1/sqrt(128) are the runs with a warm-up of 20 steps, which is the package's own for 400.
- ``lengths``: 4,000 steps at the rate for 2,000: does the verdict still change?
- ``layers``: 2,000 steps at that rate, and at half of it, with two layers in encoder and decoder, five seeds: does it hold for
  a deeper network? For two layers no rate is searched.
"""

import argparse
import contextlib
import itertools
import json
import math
import os
import platform
import statistics
import sys
import time
from pathlib import Path

import joblib
import torch
import torch.nn.functional as F

from attnlib import __version__
from attnlib.course.data import Vocabulary, batches, make_batch, translation_corpus
from attnlib.course.data.translation_runs import KINDS as NAMED
from attnlib.course.models import Seq2Seq, alignment_error_rate, evaluate, links, teach
from attnlib.softmax import entropy, relative_spread

RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "translation_scores.json"
BATCH, CLIP = 64, 1.0
KINDS = tuple(NAMED.values())
"""Score, and whether queries and keys are normalised."""
WIDTHS = (128, 256, 32, 64)
"""In the order in which they run, so that a record that was cut is complete for the widths that it has. Width 512 runs when
it is asked for: four more hours of one core."""
LADDER = [1.5e-3 * 2**k for k in range(-3, 7)]
FIRST_RUNGS = {32: range(4, 8), 64: range(4, 8), 128: range(3, 7), 256: range(2, 6), 512: range(2, 5)}
"""The learning rates of a width that every kind tries; it goes on while the best is at the edge."""
GRID_SEEDS = {32: (10,), 64: (10,), 128: (10, 11), 256: (10,), 512: (10,)}
SEEDS = {32: range(5), 64: range(5), 128: range(5), 256: range(3), 512: range(3)}
FRESH = range(1, 6)
"""The seeds of long runs that no choice has seen: the first one has chosen their rate."""
SHORT = 400
LONG = {32: 2000, 64: 2000, 128: 2000, 256: 1000, 512: 1000}
TESTBED, SHARED_RATE = 128, 6e-3
"""The width, and the one learning rate, of the blocks that change a cause."""
WARM_UPS = (0, 20, 60, 120, 200)
GENTLE = 100
HEATS = (1 / 64, 1 / 32, 1 / 4, 1 / 2, 2.0, 4.0)
FAR_HEATS = (1 / 64, 1 / 4, 4.0)
HEAT_RATES = (SHARED_RATE, SHARED_RATE / 2, 2 * SHARED_RATE)
BLOCKS = ("grid", "short", "long", "warm-up", "gentle", "heat", "rates", "final", "lengths", "layers")
EARLY = (0, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 400)
"""Steps after which the state of attention is recorded."""
CURVE = (50, 100, 150, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 4000)
"""Steps after which loss, BLEU and alignment error are measured on sentences of the validation set."""
PROBED, TRANSLATED = 100, 100
"""How many of them."""
IDENTITY = ("block", "hidden", "layers", "score", "normalise", "beta", "seed", "steps", "rate", "warm_up")


def setting(block, hidden, kind, seed, steps, rate, warm_up=None, beta=None, layers=1):
    """What defines a run; a warm-up or beta of None is the package's own."""
    score, normalise = kind
    return {
        "block": block,
        "hidden": hidden,
        "layers": layers,
        "score": score,
        "normalise": normalise,
        "beta": beta,
        "seed": seed,
        "steps": steps,
        "rate": rate,
        "warm_up": warm_up,
    }


def key_of(run):
    """By what a run is found again."""
    return tuple(run[name] for name in IDENTITY)


# --- what is measured ---


def words_of(record, batch):
    """Which rows of a batch are words to be translated (the end of the sentence and padding are not), ``[batch, n]``."""
    lengths = torch.tensor([len(pair.target) for pair in batch.pairs])
    return torch.arange(record.logits.shape[1]) < lengths[:, None]


def links_of(record, batch):
    """The alignment that attention draws of each sentence of a batch."""
    sizes = [(len(pair.target), len(pair.source)) for pair in batch.pairs]
    return [links(weights[:n, :m]) for weights, (n, m) in zip(record.weights, sizes, strict=True)]


def state_of(model, record, batch):
    """Spread of beta times the scores over the keys, entropy in units of ln T, what is frozen, and where the rows look."""
    real = words_of(record, batch)
    mask, weights = batch.mask[:, None].expand_as(record.weights)[real], record.weights[real]
    count = mask.sum(-1)
    spread = relative_spread(record.scores[real], beta=float(model.beta), mask=mask)
    return {
        "spread": spread.mean().item(),
        "frozen": (spread > 1).float().mean().item(),
        "entropy": (entropy(weights) / count.log()).mean().item(),
        "late": (weights.argmax(-1) >= count - 2).float().mean().item(),
    }


def geometry_of(model, record, batch):
    """Norms of states along the sentence, cosines between keys, and size of the raw scores, on sentences of equal length."""
    key, real = record.key, words_of(record, batch)
    unit = F.normalize(key, dim=-1)
    cosines = unit @ unit.mT
    apart = ~torch.eye(key.shape[1], dtype=torch.bool)
    scores = record.scores[real]
    return {
        "key_norms": key.norm(dim=-1).mean(0).tolist(),
        "query_norm": record.query[real].norm(dim=-1).mean().item(),
        "key_variance": key.var().item(),
        "cosine": cosines[:, apart].mean().item(),
        "cosine_of_neighbours": cosines.diagonal(1, 1, 2).mean().item(),
        "score_norm": scores.norm(dim=-1).mean().item(),
        "score_mean": scores.mean().item(),
        "score_deviation": scores.std(-1, correction=0).mean().item(),
        "scale": float(model.beta),
    }


def actor(pair):
    """How many English words say who acts, if a German object stands first; otherwise 0.

    Then the subject stands behind the verb, and the first English word is not the first German one.
    """
    if (0, 0) in pair.alignment:
        return 0
    finite = min(j for i, j in pair.alignment if i == 0) - 1
    return min(i for i, j in pair.alignment if j == finite)


def quality_of(model, pairs, source, target):
    """BLEU, alignment error, sentences that are right to the last word, and objects in front that are understood."""
    found = evaluate(model, batches(pairs, source, target, 100), target.decode)
    spoken = [(tuple(words), pair) for words, pair in zip(found.said, found.pairs, strict=True)]
    fronted = [words[: actor(pair)] == pair.target[: actor(pair)] for words, pair in spoken if actor(pair)]
    return {
        "bleu": found.bleu,
        "aer": found.aer,
        "exact": statistics.mean(words == pair.target for words, pair in spoken),
        "actors": statistics.mean(fronted) if fronted else None,
    }


def loss_of(model, pairs, source, target):
    """Mean negative log-probability per word of the references, in nats."""
    total = words = 0.0
    with torch.no_grad():
        for batch in batches(pairs, source, target, 200):
            logits = model(batch.source, batch.given, batch.mask).flatten(0, 1)
            total += F.cross_entropy(logits, batch.wanted.flatten(), ignore_index=0, reduction="sum").item()
            words += (batch.wanted != 0).sum().item()
    return total / words


# --- one run ---


def lessons(size=24_000, held_out=1000):
    """Corpus and vocabularies."""
    corpus = translation_corpus(size, validation=held_out, test=held_out)
    return (corpus, *(Vocabulary(getattr(pair, side) for pair in corpus.train) for side in ("source", "target")))


class Enough(Exception):
    """A run is stopped before its end."""


def run(wanted, corpus, source, target, *, until=None):
    """Train one model and measure it; with ``until`` stop after that step, on the same schedule, with the history only."""
    torch.set_num_threads(1)
    torch.manual_seed(wanted["seed"])
    order = torch.Generator().manual_seed(wanted["seed"])
    sizes = {name: wanted[name] for name in ("hidden", "layers", "score", "normalise")}
    model = Seq2Seq(len(source), len(target), **sizes)
    if wanted["beta"] is not None:
        model.beta = wanted["beta"]
    probe = make_batch(corpus.validation[:PROBED], source, target)
    attends, searching = wanted["score"] != "none", wanted["block"] == "grid"
    early, curve, watching = [], [], 0.0

    def watch(step):
        nonlocal watching
        begin = time.process_time()
        if attends and step in EARLY:
            with torch.no_grad():
                now = state_of(model, model.explain(probe.source, probe.given, probe.mask), probe)
            early.append([step, *now.values()])
        if step in CURVE and not searching:
            some = corpus.validation[:TRANSLATED]
            now = quality_of(model, some, source, target)
            curve.append([step, loss_of(model, some, source, target), now["bleu"], now["aer"], now["actors"]])
        watching += time.process_time() - begin
        if step == until:
            raise Enough

    begin = time.process_time()
    try:
        losses = teach(
            model,
            lambda: batches(corpus.train, source, target, BATCH, generator=order),
            wanted["steps"],
            learning_rate=wanted["rate"],
            clip=CLIP,
            warm_up=wanted["warm_up"],
            watch=watch,
        )
    except Enough:
        return wanted | {"early": early, "curve": curve}
    except ValueError as error:
        if "too high" not in str(error):
            raise
        return rounded(wanted | {"validation_loss": None, "early": early, "curve": curve})  # the loss has overflowed
    seconds = time.process_time() - begin - watching
    found = {
        "loss": statistics.mean(losses[-20:]),
        "validation_loss": loss_of(model, corpus.validation, source, target),
    }
    if not searching:
        found |= quality_of(model, corpus.test, source, target)
    if attends:
        pairs = corpus.validation if searching else corpus.test
        nine = [pair for pair in pairs if len(pair.source) == len(pair.target) == 9] or pairs[:1]
        for measure, some in ((state_of, pairs[:500]), (geometry_of, nine)):
            batch = make_batch(some, source, target)
            with torch.no_grad():
                found |= measure(model, model.explain(batch.source, batch.given, batch.mask), batch)
    return rounded(wanted | found | {"early": early, "curve": curve, "cpu_seconds": seconds})


def rounded(value):
    """Five significant digits are more than training repeats on another processor; settings are short already."""
    if isinstance(value, dict):
        return {name: each if name in IDENTITY else rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


# --- the plan ---


def kinds(hidden):
    """The network without attention is a baseline at one width only."""
    return KINDS if hidden == TESTBED else KINDS[:-1]


def rungs(runs, hidden, kind):
    """The learning rates of a grid that are still to be tried."""
    return untried(grid_losses(runs, hidden, kind), FIRST_RUNGS[hidden])


def untried(loss, first):
    """Which rungs of the ladder come next: the first ones, then a neighbour of a best one at the edge."""
    if any(LADDER[place] not in loss for place in first):
        return [LADDER[place] for place in first if LADDER[place] not in loss]
    places, best = [LADDER.index(rate) for rate in loss], LADDER.index(min(loss, key=loss.get))
    ahead = [place for place in (best - 1, best + 1) if 0 <= place < len(LADDER) and place not in places]
    return [LADDER[place] for place in ahead]


def grid_losses(runs, hidden, kind):
    """Learning rate to mean validation loss, where all seeds are there."""
    losses = {}
    for one in runs:
        if one["block"] == "grid" and (one["hidden"], one["score"], one["normalise"]) == (hidden, *kind):
            loss = one["validation_loss"]
            losses.setdefault(one["rate"], []).append(math.inf if loss is None else loss)
    return {rate: statistics.mean(each) for rate, each in losses.items() if len(each) == len(GRID_SEEDS[hidden])}


def best_rate(runs, hidden, kind):
    """The rate that the grid of a width chose."""
    losses = grid_losses(runs, hidden, kind)
    return min(losses, key=losses.get)


def long_losses(runs, hidden, kind):
    """Learning rate to validation loss of the long runs with the first seed."""
    same = {"hidden": hidden, "score": kind[0], "normalise": kind[1], "seed": 0, "steps": LONG[hidden], "layers": 1}
    some = [one for one in runs if one["block"] in ("long", "rates") and all(one[name] == same[name] for name in same)]
    return {one["rate"]: math.inf if one["validation_loss"] is None else one["validation_loss"] for one in some}


def rates(runs, hidden):
    """What a width wants next in search of a rate for its long runs; nothing when every kind has its best rate inside."""
    wanted = []
    for kind in kinds(hidden):
        place = LADDER.index(best_rate(runs, hidden, kind))
        first = [place - 1, place, place + 1] if hidden == TESTBED else [place - 1, place]
        loss = long_losses(runs, hidden, kind)
        if hidden == TESTBED and LADDER[place] not in loss:
            return []  # the long runs come first
        wanted += [setting("rates", hidden, kind, 0, LONG[hidden], rate) for rate in untried(loss, first)]
    return wanted


def long_rate(runs, hidden, kind):
    """The rate that the long runs of a width chose."""
    losses = long_losses(runs, hidden, kind)
    return min(losses, key=losses.get)


def own_rates(runs):
    """``[width, score, normalise, rate for 400 steps, rate for long runs]`` of what has been searched."""
    found = []
    searched = [(hidden, kind) for hidden in FIRST_RUNGS for kind in kinds(hidden)]
    for hidden, kind in searched:
        if grid_losses(runs, hidden, kind) and not rungs(runs, hidden, kind):
            long = long_losses(runs, hidden, kind)
            settled = len(long) > 1 and not untried(long, ())
            found.append([hidden, *kind, best_rate(runs, hidden, kind), long_rate(runs, hidden, kind) if settled else None])
    return found


def grid(runs, hidden):
    """What the grid of a width wants next; nothing when every kind has its best rate inside."""
    wanted = [(kind, rate) for kind in kinds(hidden) for rate in rungs(runs, hidden, kind)]
    return [setting("grid", hidden, kind, seed, SHORT, rate) for kind, rate in wanted for seed in GRID_SEEDS[hidden]]


def block(name, runs, hidden):
    """The runs of a block at a width, after its grid: seed by seed, so that a record that was cut has whole seeds."""
    rate = {kind: best_rate(runs, hidden, kind) for kind in kinds(hidden)}
    if name == "final":
        own = {kind: long_rate(runs, hidden, kind) for kind in rate}
        there = {(seed, kind) for seed in SEEDS[hidden] for kind in rate if hidden == TESTBED and own[kind] == rate[kind]}
        lacking = [(seed, kind) for seed, kind in itertools.product(FRESH, rate) if (seed, kind) not in there]
        return [setting(name, hidden, kind, seed, LONG[hidden], own[kind]) for seed, kind in lacking]
    if name == "short" and hidden <= TESTBED:
        return [setting(name, hidden, kind, seed, SHORT, rate[kind]) for seed in SEEDS[hidden] for kind in rate]
    if hidden != TESTBED:
        return []
    if name == "long":
        return [setting(name, hidden, kind, seed, LONG[hidden], rate[kind]) for seed in SEEDS[hidden] for kind in rate]
    if name == "warm-up":
        short = itertools.product(SEEDS[hidden], (KINDS[0], KINDS[1], KINDS[2], KINDS[4]), WARM_UPS)
        long = itertools.product(SEEDS[hidden], (KINDS[0],), (20, 100))
        wanted = [(SHORT, *one) for one in short] + [(LONG[hidden], *one) for one in long]
        return [setting(name, hidden, kind, seed, steps, SHARED_RATE, warm) for steps, seed, kind, warm in wanted]
    if name == "gentle":
        wanted = itertools.product(SEEDS[hidden], (1.0, 0.5), KINDS[:-1])
        return [setting(name, hidden, kind, seed, SHORT, part * rate[kind], GENTLE) for seed, part, kind in wanted]
    if name == "heat":
        wanted = []
        for rate in HEAT_RATES:
            heats = HEATS if rate == SHARED_RATE else FAR_HEATS
            wanted += [(SHORT, rate, *one) for one in itertools.product(SEEDS[hidden], heats)]
            wanted += [(LONG[hidden], rate, *one) for one in itertools.product(SEEDS[hidden], FAR_HEATS)]
        return [setting(name, hidden, KINDS[0], seed, steps, rate, beta=beta) for steps, rate, seed, beta in wanted]
    own = {kind: long_rate(runs, hidden, kind) for kind in rate}
    if name == "lengths":
        return [setting(name, hidden, kind, 0, 2 * LONG[hidden], own[kind]) for kind in KINDS[:-1]]
    deep = itertools.product(SEEDS[hidden], (1.0, 0.5), (KINDS[0], KINDS[1], KINDS[3]))
    return [setting(name, hidden, kind, seed, LONG[hidden], part * own[kind], layers=2) for seed, part, kind in deep]


def plan(runs, blocks, widths):
    """Lists of runs, one after the other; each is made with what the runs before it have found."""
    searches = {"grid": grid, "rates": rates}
    for hidden, name in itertools.product(widths, BLOCKS):
        if name in blocks and name in searches:
            while wanted := searches[name](runs, hidden):
                yield wanted
        elif name in blocks:
            yield block(name, runs, hidden)


def made(wanted, known):
    """The runs, as they are done, by as many processes as joblib was told to take."""
    return joblib.Parallel(return_as="generator_unordered")(joblib.delayed(run)(one, *known) for one in wanted)


# --- the record ---


def header(corpus, source, target):
    """What all runs share."""
    test = corpus.test
    one = [frozenset(dict(sorted(pair.alignment)).items()) for pair in test]
    gold = [(len(pair.source), j) for pair in test for _, j in pair.alignment]
    return {
        "command": "python experiments/translation_scores.py",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "attnlib": __version__},
        "corpus": {"pairs": 24_000, "seed": 0, "source_words": len(source), "target_words": len(target)},
        "batch": BATCH,
        "clip": CLIP,
        "test_sentences": len(test),
        "validation_sentences": len(corpus.validation),
        "curve_sentences": TRANSLATED,
        "early_sentences": PROBED,
        "early": ["step", "spread", "frozen", "entropy", "late"],
        "curve": ["step", "loss", "bleu", "aer", "actors"],
        "mean_log_source_length": statistics.mean(math.log(len(pair.source)) for pair in test),
        "best_aer_of_one_link_a_word": alignment_error_rate(one, [pair.alignment for pair in test]),
        "gold_links_on_the_last_two": statistics.mean(j >= length - 2 for length, j in gold),
        "sentences_with_the_object_first": sum(actor(pair) > 0 for pair in test),
    }


def write(path, head, runs):
    """The record, a run a line, in place of the old one in one step."""
    lines = ",\n".join(json.dumps(one) for one in runs)
    fresh = path.with_suffix(".part")
    fresh.write_text(json.dumps(head, indent=1)[:-2] + ',\n "runs": [\n' + lines + "\n]}\n", encoding="utf-8")
    os.replace(fresh, path)


def main():
    """Make what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time, each on one core")
    parser.add_argument("--dask", type=int, metavar="N", help="run on a local Dask cluster of N workers")
    parser.add_argument("--blocks", nargs="+", choices=BLOCKS, default=BLOCKS)
    parser.add_argument("--widths", nargs="+", type=int, choices=FIRST_RUNGS, default=WIDTHS)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    known = lessons()
    head = header(*known)
    runs = json.loads(arguments.output.read_text(encoding="utf-8"))["runs"] if arguments.output.exists() else []
    with contextlib.ExitStack() as stack:
        if arguments.dask:
            from dask.distributed import Client

            stack.enter_context(Client(n_workers=arguments.dask, threads_per_worker=1, dashboard_address=None))
            stack.enter_context(joblib.parallel_config(backend="dask"))
        else:
            stack.enter_context(joblib.parallel_config(n_jobs=arguments.jobs))
        for wanted in plan(runs, arguments.blocks, arguments.widths):
            done = {key_of(one) for one in runs}
            missing = [one for one in wanted if key_of(one) not in done]
            for result in made(missing, known):
                runs.append(result)
                write(arguments.output, head | {"own_rates": own_rates(runs)}, runs)
                shown = {name: result.get(name) for name in (*IDENTITY, "validation_loss", "bleu", "aer", "cpu_seconds")}
                print(*(f"{name} {value}" for name, value in shown.items()), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
