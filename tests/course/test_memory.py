"""The memory network: hops against a loop by hand, derivatives, order, masks, and that a hop more answers a question more."""

import math

import pytest
import torch
from helpers.draw import batches, close, mask_of, normal, ordinary_betas, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import cross_entropy

from attnlib.attention import attend
from attnlib.course.data.stories import VOCABULARY, WORDS, animal_stories, journey_stories
from attnlib.course.models import MemoryNetwork, multi_hop


def drawn(seed):
    return torch.Generator().manual_seed(seed)


def inputs(batch, m, d, c, hops, seed=0, grad=False):
    query, key, value = normal(*batch, d, seed=seed), normal(*batch, m, d, seed=seed + 1), normal(*batch, m, c, seed=seed + 2)
    maps = [normal(d, c, seed=seed + 3 + hop) for hop in range(hops - 1)]
    return [tensor.requires_grad_(grad) for tensor in (query, key, value, *maps)]


@given(sizes, sizes, sizes, st.integers(1, 4), ordinary_betas, st.booleans(), st.booleans(), seeds)
def test_hops_by_hand(m, d, c, hops, beta, keep, masked, seed):
    query, key, value, *maps = inputs((), m, d, c, hops, seed)
    mask = mask_of(m, seed=seed) if masked else torch.ones(m, dtype=torch.bool)
    out = multi_hop(query, key, value, maps, keep=keep, beta=beta, mask=mask)
    q = query.tolist()
    for t in range(hops):
        close(out.query[t], torch.tensor(q, dtype=torch.float64), atol=1e-9)
        scores = [beta * math.fsum(a * b for a, b in zip(q, key[j].tolist())) for j in range(m)]
        top = max(s for s, allowed in zip(scores, mask) if allowed)
        factors = [math.exp(s - top) if allowed else 0.0 for s, allowed in zip(scores, mask)]
        weights = [factor / math.fsum(factors) for factor in factors]
        close(out.weights[t], torch.tensor(weights, dtype=torch.float64), atol=1e-8)
        o = [math.fsum(w * value[j, a].item() for j, w in enumerate(weights)) for a in range(c)]
        close(out.reading[t], torch.tensor(o, dtype=torch.float64), atol=1e-8)
        if t < hops - 1:
            found = [math.fsum(maps[t][i, a].item() * o[a] for a in range(c)) for i in range(d)]
            q = [x * keep + y for x, y in zip(q, found)]


@given(batches, sizes, sizes, st.integers(1, 3), seeds)
def test_one_hop_is_attention_and_batches_do_not_mix(batch, m, d, hops, seed):
    query, key, value, *maps = inputs(batch, m, d, 3, hops, seed)
    mask = mask_of(*batch, m, seed=seed)
    out = multi_hop(query, key, value, maps, mask=mask)
    assert out.weights.shape == (*batch, hops, m)
    assert out.query.shape == (*batch, hops, d)
    close(out.reading[..., :1, :], attend(query[..., None, :], key, value, mask=mask[..., None, :]), atol=1e-12)
    flat = [t.reshape(-1, *t.shape[len(batch) :]) for t in (query, key, value, mask, out.reading)]
    for q, k, v, allowed, reading in zip(*flat):
        close(multi_hop(q, k, v, maps, mask=allowed).reading, reading, atol=1e-12)


@given(sizes, st.integers(1, 3), seeds)
def test_the_order_of_memories_means_nothing(m, hops, seed):
    query, key, value, *maps = inputs((), m, 4, 3, hops, seed)
    order = torch.randperm(m, generator=drawn(seed))
    plain, shuffled = multi_hop(query, key, value, maps), multi_hop(query, key[order], value[order], maps)
    close(shuffled.reading, plain.reading, atol=1e-10)
    close(shuffled.weights, plain.weights[:, order], atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("mask", [None, torch.tensor([True, False, True])])
@pytest.mark.double
@pytest.mark.sweep(0.5)
def test_hops_differentiate(mask, keep):
    leaves = inputs((2,), 3, 2, 2, 3, grad=True)

    def call(query, key, value, *maps):
        out = multi_hop(query, key, value, maps, keep=keep, mask=mask)
        return out.query, out.weights, out.reading

    assert gradcheck(call, leaves)
    assert gradgradcheck(call, leaves)


def test_empty_masks():
    query, key, value, *maps = inputs((2,), 3, 2, 4, 2)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    with pytest.raises(ValueError, match="mask has a row that allows nothing"):
        multi_hop(query, key, value, maps, mask=mask)
    out = multi_hop(query, key, value, maps, mask=mask, empty="zero")
    assert torch.equal(out.reading[1], torch.zeros(2, 4, dtype=torch.float64))
    close(out.query[1], query[1].expand(2, 2), atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_hops_keep_the_dtype(dtype):
    out = multi_hop(*[normal(*shape, dtype=dtype) for shape in [(2,), (3, 2), (3, 4)]], [normal(2, 4, dtype=dtype)])
    assert out.query.dtype == out.weights.dtype == out.reading.dtype == dtype


# The network


def network(**settings):
    _ = torch.manual_seed(0)
    return MemoryNetwork(len(VOCABULARY), WORDS, 16, **settings).double()


STORIES = animal_stories(6, generator=drawn(0))


@pytest.mark.parametrize("hops", [1, 3])
@pytest.mark.parametrize("places", ["none", "sinusoids", "learned"])
def test_the_network_is_embeddings_hops_and_a_linear_map(hops, places):
    net = network(hops=hops, places=places, most=12)
    scores = net(STORIES.facts, STORIES.question)
    assert scores.shape == (6, len(VOCABULARY))
    tables = [e.weight.detach().reshape(WORDS, len(VOCABULARY), 16) for e in (net.question, net.key, net.value)]

    def embed(table, sentence):
        return sum(table[place, word] for place, word in enumerate(sentence.tolist()))

    for i in range(6):
        query = embed(tables[0], STORIES.question[i])
        key, value = (torch.stack([embed(table, fact) for fact in STORIES.facts[i]]) for table in tables[1:])
        if places == "learned":
            key = key + net.place.detach()[:10]
        if places == "sinusoids":
            angles = torch.arange(10)[:, None] / 10_000 ** (torch.arange(0, 16, 2) / 16)
            key = key + torch.stack([angles.double().sin(), angles.double().cos()], -1).flatten(1)
        last = multi_hop(query, key, value, [m.detach() for m in net.maps]).reading[-1]
        close(net.answer(last).detach(), scores[i].detach(), atol=1e-5)


def test_only_places_tell_the_order():
    order = torch.randperm(10, generator=drawn(1))
    for places, told in (("none", False), ("sinusoids", True), ("learned", True)):
        net = network(hops=2, places=places, most=10)
        change = net(STORIES.facts[:, order], STORIES.question) - net(STORIES.facts, STORIES.question)
        assert (change.abs().max().item() > 1e-3) is told


def test_masked_facts_are_not_there():
    net, mask = network(hops=3), torch.ones(6, 10, dtype=torch.bool)
    mask[:, 7:] = False
    close(net(STORIES.facts, STORIES.question, mask), net(STORIES.facts[:, :7], STORIES.question), atol=1e-10)
    assert bool((net.explain(STORIES.facts, STORIES.question, mask).weights[..., 7:] == 0).all())


def test_every_parameter_learns():
    net = network(hops=3, places="learned", most=10)
    cross_entropy(net(STORIES.facts, STORIES.question), STORIES.answer).backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in net.parameters())


@pytest.mark.slow
def test_training_finds_the_last_place_only_with_places():
    """A short run of what page 2c does: with places, one hop learns who is where; without, it cannot beat one in three."""
    right = {}
    for places in ("none", "sinusoids"):
        _ = torch.manual_seed(0)
        net, stream = MemoryNetwork(len(VOCABULARY), WORDS, 32, places=places), drawn(0)
        optimiser = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(500):
            stories = journey_stories(32, generator=stream)
            optimiser.zero_grad()
            cross_entropy(net(stories.facts, stories.question), stories.answer).backward()
            optimiser.step()
        unseen = journey_stories(1000, generator=drawn(1))
        guesses = net(unseen.facts, unseen.question).argmax(-1)
        right[places] = (guesses == unseen.answer).double().mean().item()
    assert right["sinusoids"] > 0.9
    assert right["none"] < 0.45


# Bad input

Q, K, V, R = normal(2, 3), normal(2, 5, 3), normal(2, 5, 4), normal(3, 4)
F, A = STORIES.facts, STORIES.question


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: multi_hop(torch.tensor(1.0), K, V), r"query has shape \(\) and key \(2, 5, 3\); expected \[\*batch, d\]"),
        (lambda: multi_hop(Q[0], K, V), r"query has shape \(3,\) and key \(2, 5, 3\); expected \[\*batch, d\]"),
        (lambda: multi_hop(Q[:, :2], K, V), r"query has shape \(2, 2\) and key \(2, 5, 3\)"),
        (lambda: multi_hop(Q, K[:, :0], V[:, :0]), r"key has shape \(2, 0, 3\); expected at least one row"),
        (lambda: multi_hop(Q, K, V[:, :4]), r"value has shape \(2, 4, 4\); expected \(2, 5, 'c'\)"),
        (lambda: multi_hop(Q, K.float(), V), "key is torch.float32 on cpu, query is torch.float64"),
        (lambda: multi_hop(Q, K, V.float()), "value is torch.float32"),
        (lambda: multi_hop(Q / 0, K, V), "query has non-finite entries"),
        (lambda: multi_hop(Q, K, V / 0), "value has non-finite entries"),
        (lambda: multi_hop(Q, K, V, [R.T]), r"maps has a matrix of shape \(4, 3\); expected \(3, 4\)"),
        (lambda: multi_hop(Q, K, V, [R.float()]), "maps is torch.float32"),
        (lambda: multi_hop(Q, K, V, beta=-1), "beta is -1; expected 0 <= beta"),
        (lambda: multi_hop(Q, K, V, beta=torch.ones(3).double()), r"beta has shape \(3,\)"),
        (lambda: multi_hop(Q, K, V, mask=torch.ones(2, 5)), "mask has dtype torch.float32"),
        (lambda: multi_hop(Q, K, V, mask=torch.ones(2, 4) > 0), r"mask has shape \(2, 1, 4\)"),
        (lambda: MemoryNetwork(0, 4, 8), "vocabulary is 0; expected an integer of at least 1"),
        (lambda: MemoryNetwork(9, 4, 8, hops=0), "hops is 0; expected an integer of at least 1"),
        (lambda: MemoryNetwork(9, 4, 8, places="some"), "places is 'some'; expected one of"),
        (lambda: MemoryNetwork(9, 4, 8, places="learned"), "most is None; expected an integer of at least 1"),
        (lambda: MemoryNetwork(9, 4, 7, places="sinusoids"), "dim is 7; expected an even number"),
        (lambda: network()(F[0], A), r"facts has shape \(10, 4\); expected \[batch, m, words\]"),
        (lambda: network()(F[..., :3], A), r"facts has shape \(6, 10, 3\)"),
        (lambda: network()(F[:, :0], A), r"facts has shape \(6, 0, 4\)"),
        (lambda: network()(F, A[:5]), r"question has shape \(5, 4\); expected \[batch, words\] with 6 stories"),
        (lambda: network()(F.double(), A), "facts has dtype torch.float64; expected integers"),
        (lambda: network()(F, A + 99), "question has numbers from .*; expected 0 <= number < "),
        (lambda: network()(F - 1, A), "facts has numbers from -1 to"),
        (lambda: network(places="learned", most=9)(F, A), r"facts has shape .*; expected at most 9 facts a story"),
        (lambda: network()(F, A, torch.ones(6, 9) > 0), r"mask has shape \(6, 9\); expected \(6, 10\)"),
        (lambda: network()(F, A, torch.zeros(6, 10) > 0), "mask has a row that allows nothing"),
    ],
)
@pytest.mark.double
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
