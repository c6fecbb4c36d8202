"""The translator against independent answers: a cell written by hand, brute-force search, sacrebleu, numerical gradients."""

import itertools
import math
from dataclasses import dataclass

import course
import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from helpers.draw import normal
from hypothesis import given
from hypothesis import strategies as st

from attnlib.attention import additive_scores, bilinear_scores
from attnlib.course.models import Seq2Seq, alignment_error_rate, bleu, links, teach
from attnlib.course.models.seq2seq import BOS, EOS, PAD, SCORES

ROOT = course.ROOT
SOURCE = torch.tensor([[4, 5, 6, 7], [5, 6, PAD, PAD], [8, 4, 4, PAD]])
GIVEN = torch.tensor([[BOS, 4, 5], [BOS, 6, 7], [BOS, 4, PAD]])


def model(score="scaled_dot", seed=0, **settings):
    torch.manual_seed(seed)
    return Seq2Seq(9, 8, **({"hidden": 6, "embedding": 5, "score": score} | settings)).double()


def by_hand(net, sentence, given):
    """One sentence, one word at a time, from the formulas; returns logits and weights."""
    words = net.source_embedding.weight[sentence]
    lstm, half = net.encoder, net.hidden // 2

    def cell(x, h, c, w_ih, w_hh, b):
        i, f, g, o = (w_ih @ x + w_hh @ h + b).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    directions, first = [], []
    for suffix, order in (("", range(len(words))), ("_reverse", reversed(range(len(words))))):
        w_ih, w_hh, b_ih, b_hh = (getattr(lstm, f"{n}_l0{suffix}") for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        h = c = torch.zeros(half, dtype=words.dtype)
        states = [None] * len(words)
        for t in order:
            h, c = cell(words[t], h, c, w_ih, w_hh, b_ih + b_hh)
            states[t] = h
        directions.append(torch.stack(states))
        first.append((h, c))
    states = torch.cat(directions, -1)
    h, c = (torch.cat(pair) for pair in zip(*first, strict=True))
    feed, (step,), logits, weights = torch.zeros(net.hidden, dtype=words.dtype), net.cells, [], []
    for word in net.target_embedding.weight[given]:
        x = torch.cat([word, feed]) if net.input_feeding else word
        h, c = cell(x, h, c, step.weight_ih, step.weight_hh, step.bias_ih + step.bias_hh)
        if net.score == "none":
            feed = (net.combine.weight @ h).tanh()
        else:
            p = score_by_hand(net, h, states).exp()
            weights.append(p / p.sum())
            feed = (net.combine.weight @ torch.cat([weights[-1] @ states, h])).tanh()
        logits.append(net.out.weight @ feed + net.out.bias)
    return torch.stack(logits), torch.stack(weights) if weights else None


def score_by_hand(net, query, keys):
    """Of one query with every key, times beta."""
    if net.normalise:
        query, keys = (
            (t - t.mean(-1, keepdim=True)) / (t.var(-1, correction=0, keepdim=True) + 1e-5).sqrt() for t in (query, keys)
        )
    if net.score == "general":
        return keys @ (net.to_query.weight @ query)
    if net.score == "additive":
        return (query @ net.to_query.weight.T + keys @ net.to_key.weight.T).tanh() @ net.to_score.weight[0]
    return keys @ query / (math.sqrt(net.hidden) if net.score == "scaled_dot" else 1)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("settings", [{}, {"normalise": True}, {"input_feeding": False}])
def test_the_formulas_one_word_at_a_time(score, settings):
    net = model(score, **settings)
    record = net.explain(SOURCE, GIVEN)
    for b, length in enumerate((4, 2, 3)):
        logits, weights = by_hand(net, SOURCE[b, :length], GIVEN[b])
        torch.testing.assert_close(record.logits[b], logits, rtol=0, atol=1e-9)
        if weights is not None:
            torch.testing.assert_close(record.weights[b, :, :length], weights, rtol=0, atol=1e-9)
            assert bool((record.weights[b, :, length:] == 0).all())
    torch.testing.assert_close(net(SOURCE, GIVEN), record.logits, rtol=0, atol=0)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("layers", [1, 2])
def test_a_sentence_does_not_notice_its_neighbours(score, layers):
    net = model(score, layers=layers)
    together = net(SOURCE, GIVEN)
    for b, length in enumerate((4, 2, 3)):
        torch.testing.assert_close(together[b], net(SOURCE[b : b + 1, :length], GIVEN[b : b + 1])[0], rtol=0, atol=1e-10)


def test_what_stands_under_the_mask_does_not_matter():
    net, mask = model(), SOURCE != PAD
    noisy = torch.where(mask, SOURCE, 8)
    torch.testing.assert_close(net(noisy, GIVEN, mask), net(SOURCE, GIVEN), rtol=0, atol=0)
    assert not torch.allclose(net(noisy, GIVEN), net(SOURCE, GIVEN))


def test_scores_become_weights():
    net = model("scaled_dot")
    record = net.explain(SOURCE, GIVEN)
    scores = torch.einsum("bnd,bmd->bnm", record.query, record.key)
    torch.testing.assert_close(record.scores, scores, rtol=0, atol=1e-12)
    expected = (scores / math.sqrt(6)).masked_fill((SOURCE == PAD)[:, None], -math.inf).softmax(-1)
    torch.testing.assert_close(record.weights, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("score", ["general", "additive"])
def test_learned_scores_are_those_of_the_attention_module(score):
    net = model(score)
    record = net.explain(SOURCE, GIVEN)
    if score == "general":
        expected = bilinear_scores(record.query, record.key, net.to_query.weight.T)
    else:
        maps = net.to_query.weight, net.to_key.weight, net.to_score.weight[0]
        expected = additive_scores(record.query, record.key, *maps)
    torch.testing.assert_close(record.scores, expected, rtol=0, atol=1e-12)


def test_scaled_and_unscaled_differ_by_the_temperature_alone():
    hot, cold = model("scaled_dot"), model("dot")
    cold.load_state_dict(hot.state_dict())
    assert cold.beta / hot.beta == pytest.approx(math.sqrt(6))
    assert not torch.allclose(hot(SOURCE, GIVEN), cold(SOURCE, GIVEN))
    hot.beta = 1.0
    torch.testing.assert_close(hot(SOURCE, GIVEN), cold(SOURCE, GIVEN), rtol=0, atol=0)


def test_normalised_states_have_unit_variance():
    record = model("dot", normalise=True, hidden=64).explain(SOURCE, GIVEN)
    assert record.query.var(-1, correction=0).sub(1).abs().max() < 0.01
    assert record.query.mean(-1).abs().max() < 1e-12


def test_without_attention_the_source_is_seen_through_the_last_state_only():
    net = model("none")
    assert not any(name.startswith("to_") for name, _ in net.named_parameters())
    assert not net.explain(SOURCE, GIVEN).weights.any()
    logits = net(SOURCE, GIVEN)
    assert not torch.allclose(logits[0], logits[1])


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("normalise", [False, True])
def test_gradients(score, normalise):
    net = model(score, hidden=4, embedding=3, normalise=normalise)
    names, values = zip(*net.named_parameters(), strict=True)
    words = normal(9, 3, seed=1).requires_grad_()

    def loss(words, *weights):
        parameters = dict(zip(names, weights, strict=True)) | {"source_embedding.weight": words}
        return F.cross_entropy(torch.func.functional_call(net, parameters, (SOURCE, GIVEN)).flatten(0, 1), GIVEN.flatten())

    keep = [
        value.detach().clone().requires_grad_(name.startswith(("combine", "to_")))
        for name, value in zip(names, values, strict=True)
    ]
    assert torch.autograd.gradcheck(loss, (words, *keep), fast_mode=True)


def test_teacher_forcing_is_causal():
    net, changed = model(), GIVEN.clone()
    changed[:, 2] = 5
    before, after = net(SOURCE, GIVEN), net(SOURCE, changed)
    torch.testing.assert_close(before[:, :2], after[:, :2], rtol=0, atol=0)
    assert not torch.allclose(before[2, 2], after[2, 2])


# --- decoding ---


def log_probability(net, sentence, words):
    """Of a translation, by teacher forcing."""
    given = torch.tensor([[BOS, *words[:-1]]])
    steps = net(sentence[None], given).log_softmax(-1)[0]
    return steps[torch.arange(len(words)), torch.tensor(words)].sum().item()


def unpadded(row):
    return row[: row.index(EOS) + 1] if EOS in row else row


@pytest.mark.parametrize("score", SCORES)
def test_greedy_takes_the_best_word_each_time(score):
    net = model(score, seed=2)
    found = net.greedy(SOURCE, longest=5)
    for b, length in enumerate((4, 2, 3)):
        said = []
        while len(said) < 5 and EOS not in said:
            logits = net(SOURCE[b : b + 1, :length], torch.tensor([[BOS, *said]]))[0, -1]
            said.append(max(set(range(8)) - {PAD, BOS}, key=lambda word: logits[word]))
        assert unpadded(found[b].tolist())[: len(said)] == said


@pytest.mark.parametrize("score", SCORES)
def test_log_probabilities_of_all_translations_sum_to_one(score):
    """All that end within three tokens, and all beginnings of three; each is that of its words, one by one."""
    torch.manual_seed(1)
    net = Seq2Seq(9, 5, hidden=6, embedding=5, score=score).double()
    with torch.no_grad():
        net.out.weight *= 8
        net.out.bias[[PAD, BOS]] = -1e6  # a decoder may say these; a translation has none
    short = [w for n in range(3) for w in itertools.product((3, 4), repeat=n)]
    every = [(*w, EOS) for w in short] + list(itertools.product((3, 4), repeat=3))
    said = torch.tensor([[*words, PAD, PAD][:3] for words in every])
    for b, length in enumerate((4, 2, 3)):
        with torch.no_grad():
            found = net.log_probability(SOURCE[b : b + 1].expand(len(said), -1), said)
        assert found.exp().sum().item() == pytest.approx(1, abs=1e-12)
        for words, value in zip(every, found.tolist(), strict=True):
            assert value == pytest.approx(log_probability(net, SOURCE[b, :length], words), abs=1e-10)


@pytest.mark.parametrize("width", [1, 4])
def test_what_an_untrained_decoder_says_is_words_and_then_padding(width):
    """So its log-probability can be asked for; it is the best of all beams if the beam is wide enough."""
    for seed in range(20):
        net = model(seed=seed, hidden=8)
        said = net.beam(SOURCE, width=width, longest=6)
        for row in said.tolist():
            assert not {PAD, BOS} & set(unpadded(row))
            assert EOS in row or len(row) == 6
            assert set(row[len(unpadded(row)) :]) <= {PAD}
        assert (net.log_probability(SOURCE, said) < 0).all()


def test_log_probability_is_what_training_lowers():
    net = model(seed=5)
    said = torch.tensor([[4, 5, EOS], [6, EOS, PAD], [4, EOS, PAD]])
    given = torch.tensor([[BOS, 4, 5], [BOS, 6, EOS], [BOS, 4, EOS]])
    loss = F.cross_entropy(net(SOURCE, given).flatten(0, 1), said.flatten(), ignore_index=PAD, reduction="sum")
    found = net.log_probability(SOURCE, said)
    assert -found.sum().item() == pytest.approx(loss.item(), abs=1e-12)
    parameters = [net.combine.weight, net.to_query.weight] if net.score == "general" else [net.combine.weight]
    for ours, theirs in zip(torch.autograd.grad(-found.sum(), parameters), torch.autograd.grad(loss, parameters), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("power", [0, 0.7, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_wide_beam_finds_the_best_translation(power, seed):
    torch.manual_seed(seed)
    net = Seq2Seq(9, 5, hidden=6, embedding=5).double()
    with torch.no_grad():
        net.out.weight *= 8
    every = [w for n in range(4) for w in itertools.product((3, 4), repeat=n)]
    ended = [(*w, EOS) for w in every if len(w) < 3] + [w for w in every if len(w) == 3]
    lengths = torch.tensor([len(words) for words in ended])
    said = torch.tensor([[*words, PAD, PAD][:3] for words in ended])
    given = torch.cat([torch.full((len(said), 1), BOS), said[:, :-1]], 1)
    for b, length in enumerate((4, 2, 3)):
        sentence = SOURCE[b : b + 1, :length]
        steps = net(sentence.expand(len(said), -1), given).log_softmax(-1).gather(2, said[..., None])[..., 0]
        worth = (steps * (torch.arange(3) < lengths[:, None])).sum(1) / lengths**power
        found = net.beam(sentence, width=125, longest=3, length_power=power)[0].tolist()
        assert tuple(unpadded(found)) == ended[worth.argmax()]


def test_beams_in_a_batch_are_those_of_single_sentences():
    net = model(seed=3, hidden=16, layers=2)
    together = net.beam(SOURCE, width=3, longest=6).tolist()
    for b, length in enumerate((4, 2, 3)):
        alone = net.beam(SOURCE[b : b + 1, :length], width=3, longest=6)[0].tolist()
        assert unpadded(alone) == unpadded(together[b])


def test_width_one_is_greedy_and_wider_is_no_less_probable():
    net = model(seed=4, hidden=16)
    with torch.no_grad():
        net.out.weight *= 5
    assert torch.equal(net.greedy(SOURCE, longest=6), net.beam(SOURCE, width=1, longest=6))
    sentence = SOURCE[:1]
    greedy, wide = (unpadded(net.beam(sentence, width=w, longest=4, length_power=0)[0].tolist()) for w in (1, 64))
    assert log_probability(net, sentence[0], wide) >= log_probability(net, sentence[0], greedy) - 1e-9


# --- training ---


@dataclass(frozen=True)
class Lesson:
    source: torch.Tensor
    mask: torch.Tensor
    given: torch.Tensor
    wanted: torch.Tensor


def reversal(size, seed):
    """Say the words backwards: a task in which the alignment is known."""
    words = torch.randint(4, 9, (size, 5), generator=torch.Generator().manual_seed(seed))
    back = words.flip(1)
    ends = torch.full((size, 1), BOS), torch.full((size, 1), EOS)
    return Lesson(words, words != PAD, torch.cat([ends[0], back], 1), torch.cat([back, ends[1]], 1))


@pytest.fixture(scope="module")
def taught():
    torch.manual_seed(0)
    net = Seq2Seq(9, 9, hidden=32, embedding=16, score="dot")
    seen = []
    lessons = [reversal(64, seed) for seed in range(20)]
    jaxtyping.config.update("jaxtyping_disable", True)  # its checks would take most of the time
    losses = teach(net, lambda: lessons, 200, learning_rate=1e-2, watch=seen.append)
    jaxtyping.config.update("jaxtyping_disable", False)
    return net, losses, seen


@pytest.mark.slow
def test_it_learns_to_reverse_and_attends_to_the_right_words(taught):
    net, losses, seen = taught
    assert seen == list(range(201))
    assert losses[0] == pytest.approx(math.log(9), abs=0.2)
    assert losses[-1] < 0.1
    fresh = reversal(100, 99)
    assert (net.greedy(fresh.source)[:, :5] == fresh.wanted[:, :5]).float().mean() > 0.97
    assert (net.beam(fresh.source, width=3)[:, :5] == fresh.wanted[:, :5]).float().mean() > 0.97
    found = [links(w[:5]) for w in net.explain(fresh.source, fresh.given).weights]
    gold = frozenset((i, 4 - i) for i in range(5))
    assert alignment_error_rate(found, [gold] * 100) < 0.2


def test_padding_teaches_nothing():
    lesson = reversal(4, 0)
    padded = Lesson(lesson.source, lesson.mask, F.pad(lesson.given, (0, 3)), F.pad(lesson.wanted, (0, 3)))
    results = []
    for batch in (lesson, padded):
        torch.manual_seed(0)
        net = Seq2Seq(9, 9, hidden=8, embedding=4)
        results.append(teach(net, lambda b=batch: [b], 5))
    assert results[0] == pytest.approx(results[1], abs=1e-5)


def test_the_loss_it_reports_is_minus_the_mean_log_probability_of_the_words_wanted():
    torch.manual_seed(0)
    net, lesson = Seq2Seq(9, 9, hidden=8, embedding=4), reversal(4, 0)
    with torch.no_grad():
        log_p = net(lesson.source, lesson.given, lesson.mask).log_softmax(-1)
    target = -log_p.gather(2, lesson.wanted[..., None]).mean().item()
    assert teach(net, lambda: [lesson], 1) == pytest.approx([target], rel=1e-5)


def test_a_longer_warm_up_makes_the_first_steps_smaller():
    """After one step of Adam every weight has moved by the learning rate of that step: the full one, or its sixth part."""

    def first_move(warm_up):
        torch.manual_seed(0)
        net, seen = Seq2Seq(9, 9, hidden=8, embedding=4), []
        teach(
            net,
            lambda: [reversal(4, 0)],
            6,
            learning_rate=1e-2,
            warm_up=warm_up,
            watch=lambda step: seen.append(net.out.bias.detach().clone()),
        )
        return (seen[1] - seen[0]).abs().max().item()

    assert [first_move(warm_up) for warm_up in (0, 1, 6)] == pytest.approx([1e-2, 1e-2, 1e-2 / 6], rel=1e-3)


def test_the_progress_bar(capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    pytest.importorskip("tqdm")
    teach(Seq2Seq(9, 9, hidden=4, embedding=3), lambda: [reversal(2, 0)], 3, progress="learning")
    assert "learning" in capsys.readouterr().err


# --- measures ---


def test_alignment_error_rate_by_counting():
    found = [frozenset({(0, 0), (1, 1), (2, 2)}), frozenset({(0, 1)})]
    sure = [frozenset({(0, 0), (1, 2)}), frozenset({(0, 0)})]
    possible = [sure[0] | {(1, 1)}, sure[1]]
    assert alignment_error_rate(found, sure) == pytest.approx(1 - 2 / 7)
    assert alignment_error_rate(found, sure, possible) == pytest.approx(1 - (1 + 2) / 7)
    assert alignment_error_rate(sure, sure) == 0.0


LINKS = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1)


@given(LINKS, LINKS)
def test_alignment_error_rate_is_one_minus_f1(found, sure):
    hits = len(found & sure)
    precision, recall = hits / len(found), hits / len(sure)
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    assert alignment_error_rate([found], [sure]) == pytest.approx(1 - f1)


def test_links_are_the_largest_weights():
    assert links(torch.tensor([[0.1, 0.9], [0.7, 0.3], [0.2, 0.8]])) == {(0, 1), (1, 0), (2, 1)}


def test_bleu_by_hand():
    assert bleu([["a", "b", "c", "d"]], [["a", "b", "c", "d"]]) == pytest.approx(100.0)
    hypothesis, reference = ["the", "cat", "sat", "on", "the", "mat"], ["the", "cat", "sat", "on", "a", "mat"]
    counts = [(5, 6), (3, 5), (2, 4), (1, 3)]  # n-grams found, n-grams said; the lengths are equal: no penalty
    expected = 100 * math.prod(a / b for a, b in counts) ** 0.25
    assert bleu([hypothesis], [reference]) == pytest.approx(expected, abs=1e-6)


NET = Seq2Seq(9, 8, hidden=4, embedding=3)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Seq2Seq(3, 8), "source_words is 3; expected an integer of at least 4"),
        (lambda: Seq2Seq(9, 2), "target_words is 2; expected an integer of at least 4"),
        (lambda: Seq2Seq(9, 8, hidden=5), "hidden is 5; expected an even number"),
        (lambda: Seq2Seq(9, 8, hidden=0), "hidden is 0; expected an integer of at least 2"),
        (lambda: Seq2Seq(9, 8, embedding=0), "embedding is 0; expected an integer of at least 1"),
        (lambda: Seq2Seq(9, 8, layers=0), "layers is 0; expected an integer of at least 1"),
        (lambda: Seq2Seq(9, 8, score="cosine"), "score is 'cosine'; expected one of 'none', 'dot'"),
        (lambda: NET(SOURCE[0], GIVEN), r"source is torch.int64 of shape \(4,\); expected torch.int64, \[batch, words\]"),
        (lambda: NET(SOURCE.float(), GIVEN), "source is torch.float32 of shape"),
        (lambda: NET(SOURCE + 4, GIVEN), "source runs from 4 to 12; expected 0 to 8"),
        (lambda: NET(SOURCE, GIVEN + 4), "given runs from 4 to 11; expected 0 to 7"),
        (lambda: NET(SOURCE, GIVEN[:2]), r"given has shape \(2, 3\) and source \(3, 4\); expected equal batches"),
        (lambda: NET(SOURCE, GIVEN, SOURCE), r"mask is torch.int64 of shape \(3, 4\); expected torch.bool, \(3, 4\)"),
        (lambda: NET(SOURCE, GIVEN, SOURCE[:, :2] > 0), r"mask is torch.bool of shape \(3, 2\)"),
        (lambda: NET(SOURCE * 0, GIVEN), "source has an empty sentence; expected at least one word in each"),
        (lambda: NET(SOURCE.flip(1), GIVEN), "mask has a gap; expected the words of a sentence first"),
        (lambda: NET.explain(SOURCE + 4, GIVEN), "source runs from 4 to 12"),
        (lambda: NET.greedy(SOURCE + 4), "source runs from 4 to 12"),
        (lambda: NET.greedy(SOURCE, longest=0), "longest is 0; expected an integer of at least 1"),
        (lambda: NET.log_probability(SOURCE, GIVEN + 4), "said runs from 4 to 11; expected 0 to 7"),
        (
            lambda: NET.log_probability(SOURCE, GIVEN[:2]),
            r"said has shape \(2, 3\) and source \(3, 4\); expected equal batches",
        ),
        (lambda: NET.log_probability(SOURCE, GIVEN.flip(1)), "said has words after an end or padding, or a second beginning"),
        (lambda: NET.log_probability(SOURCE, GIVEN * 0), "expected words, then only padding"),
        (lambda: NET.log_probability(SOURCE, GIVEN), "said has words after an end or padding, or a second beginning"),
        (lambda: NET.log_probability(SOURCE[:1], torch.tensor([[4, EOS, 5]])), "expected words, then only padding"),
        (lambda: NET.log_probability(SOURCE[:1], torch.tensor([[4, EOS, PAD, 5]])), "expected words, then only padding"),
        (lambda: NET.beam(SOURCE, width=0), "width is 0; expected an integer of at least 1"),
        (lambda: teach(NET, list, 3), "batches is empty; expected at least one batch"),
        (lambda: teach(NET, list, 0), "steps is 0; expected an integer of at least 1"),
        (lambda: teach(NET, list, 3, warm_up=4), "warm_up is 4; expected an integer of at least 0, at most 3"),
        (lambda: alignment_error_rate([], [frozenset()]), "found, sure, possible have 0, 1, 1 sentences"),
        (lambda: alignment_error_rate([frozenset()], [frozenset()]), "found and sure have no links"),
        (lambda: alignment_error_rate([LINK], [LINK], [frozenset()]), "sure has a link that is not possible"),
        (lambda: bleu([], []), "translations has 0 sentences, references 0; expected equally many, at least one"),
        (lambda: bleu([["a"]], [["a"], ["b"]]), "translations has 1 sentences, references 2"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()


LINK = frozenset({(0, 0)})
