"""The judge of translators against counting by hand, on a translator that says and looks as it is told."""

import pytest
import torch
from helpers.parrot import Parrot

from attnlib.course.data import Pair, Vocabulary, batches, make_batch
from attnlib.course.models import Seq2Seq, alignment_error_rate, evaluate

FRONT = Pair(
    ("den", "Hund", "sieht", "der", "Mann", "."),
    ("the", "man", "sees", "the", "dog", "."),
    frozenset({(0, 3), (1, 4), (2, 2), (3, 0), (4, 1), (5, 5)}),
)
PLAIN = Pair(("der", "Mann", "sieht", "den", "Hund", "."), FRONT.target, frozenset((i, i) for i in range(6)))
SHORT = Pair(("der", "Hund", "sieht"), ("the", "dog", "sees", "it", "all"), frozenset({(0, 0), (1, 1), (2, 2)}))
PAIRS = [FRONT, PLAIN, SHORT]
GERMAN, ENGLISH = Vocabulary([p.source for p in PAIRS]), Vocabulary([p.target for p in PAIRS])


def right(pair):
    return pair.target, pair.alignment


def parrot(told, score="dot"):
    return Parrot(told, GERMAN, ENGLISH, score)


def judged(told, score="dot", size=3):
    return evaluate(parrot(told, score), batches(list(told), GERMAN, ENGLISH, size), ENGLISH.decode)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_who_says_and_looks_right_is_perfect_but_for_words_without_links(size):
    found = judged({pair: right(pair) for pair in PAIRS}, size=size)
    assert found.bleu == pytest.approx(100)
    assert {pair: tuple(said) for pair, said in zip(found.pairs, found.said, strict=True)} == {p: p.target for p in PAIRS}
    assert found.aer == pytest.approx(1 - 2 * 15 / (17 + 15))  # two words of SHORT have no gold link, and get one each


def test_links_are_counted_over_all_words_and_no_others():
    found = judged({FRONT: (FRONT.target, PLAIN.alignment), PLAIN: (("the",) * 6, PLAIN.alignment)})
    assert found.aer == pytest.approx(1 - 2 * (2 + 6) / 24)
    assert sum(map(len, found.found)) == 12
    assert 0 < found.bleu < 100


def test_the_order_is_that_of_the_batches():
    found = judged({pair: right(pair) for pair in PAIRS}, size=2)
    assert found.pairs == (SHORT, FRONT, PLAIN)  # by length
    assert found.said[0] == list(SHORT.target)
    assert found.found[0] >= SHORT.alignment


def test_without_attention_or_gold_links_there_is_no_alignment_error():
    assert judged({FRONT: right(FRONT)}, score="none").aer is None
    bare = Pair(FRONT.source, FRONT.target)
    found = evaluate(parrot({FRONT: right(FRONT)}), [make_batch([bare], GERMAN, ENGLISH)], ENGLISH.decode)
    assert (found.aer, found.found) == (None, [FRONT.alignment])
    assert found.bleu == pytest.approx(100)
    both = [make_batch([bare, PLAIN], GERMAN, ENGLISH)]
    found = evaluate(parrot({FRONT: right(FRONT), PLAIN: (PLAIN.target, FRONT.alignment)}), both, ENGLISH.decode)
    assert found.aer == pytest.approx(1 - 2 * 2 / 12)  # that of the pair that has gold links


def test_a_real_translator_sentence_by_sentence():
    torch.manual_seed(0)
    model = Seq2Seq(len(GERMAN), len(ENGLISH), hidden=8, embedding=4, score="dot")
    found = evaluate(model, batches(PAIRS, GERMAN, ENGLISH, 3), ENGLISH.decode)
    hits = links = 0
    for pair, said in zip(found.pairs, found.said, strict=True):
        alone = make_batch([pair], GERMAN, ENGLISH)
        assert said == ENGLISH.decode(model.greedy(alone.source)[0].tolist())
        with torch.no_grad():
            weights = model.explain(alone.source, alone.given).weights[0]
        drawn = {(i, max(range(len(pair.source)), key=lambda j: weights[i, j])) for i in range(len(pair.target))}
        hits, links = hits + len(drawn & pair.alignment), links + len(drawn)
    assert found.aer == pytest.approx(1 - 2 * hits / (links + 15))
    assert found.aer == alignment_error_rate(found.found, [pair.alignment for pair in found.pairs])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.nn.Linear(1, 1), [], ENGLISH.decode), "model is a Linear; expected a Seq2Seq"),
        ((parrot({}), [], ENGLISH), "decode is a Vocabulary; expected a function"),
        ((parrot({}), None, ENGLISH.decode), "batches is a NoneType; expected batches of pairs"),
        ((parrot({}), PAIRS, ENGLISH.decode), "batches has a Pair; expected batches of pairs"),
        ((parrot({}), [], ENGLISH.decode), "batches is empty; expected at least one batch of pairs"),
    ],
)
def test_what_cannot_be_judged_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluate(*arguments)
