"""The examination of whole models: every number against loops, weights changed by hand, and models that are known."""

import copy
import csv
import math
import re
import sys

import pytest
import torch
from helpers.draw import close, normal
from torch import nn
from torch.nn.functional import cross_entropy

from attnlib import EnergyAttention, SoftmaxAttention, random_energy
from attnlib.transformer import (
    Block,
    Embedding,
    LanguageModel,
    Stack,
    antisymmetric_share,
    arrow_estimate,
    examine,
    films_under_noise,
    nearby_starts,
    partners,
    run,
    symmetric_share,
    thermometer,
    value_kinds,
)
from attnlib.transformer import mixer as registered_mixer

pytestmark = pytest.mark.usefixtures("in_double")


def model(*, causal=False, tied=False, norm="before", steps=3, readout=True):
    """Eight components, two heads of three, and weights large enough to matter."""
    blocks = [
        Block(SoftmaxAttention(8, heads=2, head_dim=3, causal=causal, bias=True), norm=norm, feed_forward=6)
        for _ in range(1 if tied else steps)
    ]
    stack = Stack(blocks[0], steps=steps) if tied else Stack(blocks, norm=True)
    made = LanguageModel(Embedding(11, 8, places=9), stack, nn.Linear(8, 11) if readout else None)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) / 3)
    return made


TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
RIGHT = torch.tensor([[1, 2, -1, 0, 5, -1], [3, 3, 3, -1, 0, 2]])


def heads_of(made, tokens):
    """For each step the mixer, its weights and its scores, from the blocks themselves."""
    states = made.states(tokens)
    for step in range(made.stack.steps):
        block = made.stack.blocks[0 if made.stack.tied else step]
        x = block.mixer_norm(states[step]) if block.norm == "before" else states[step]
        seen = block.mixer.explain(x)
        yield block.mixer, seen.weights, seen.scores * block.mixer.beta


@pytest.mark.parametrize("causal", [True, False])
def test_numbers_of_heads_by_loops(causal):
    made = model(causal=causal)
    found = examine(made, TOKENS, RIGHT, ablate=False)
    rows = iter(found.heads)
    for step, (mixer, weights, scores) in enumerate(heads_of(made, TOKENS), 1):
        for head in range(2):
            row, p, s = next(rows), weights[:, head], scores[:, head]
            assert (row.step, row.block, row.head) == (step, step, head + 1)
            spread, y2, law = [], [], []
            for text in range(2):
                for i in range(1 if causal else 0, 6):
                    seen = s[text, i, : i + 1] if causal else s[text, i]
                    spread.append(seen.std(correction=0) / math.sqrt(2 * math.log(len(seen))))
                    y2.append(p[text, i].square().sum())
                    law.append(random_energy(len(seen), seen.std()).participation)
            close(exactly(row.spread), torch.stack(spread).mean())
            close(exactly(row.spread_deviation), torch.stack(spread).std(correction=0))
            close(exactly(row.participation), torch.stack(y2).mean())
            close(exactly(row.participation_deviation), torch.stack(y2).std(correction=0))
            close(exactly(row.participation_law), torch.stack(law).mean(), atol=1e-3)
            close(exactly(row.first_token), p[:, 1:, 0].mean())
            close(exactly(row.arrow), arrow_estimate(p).mean())
            close(exactly(row.antisymmetric_share), antisymmetric_share(s).mean())
            told = thermometer(p, RIGHT)
            close(exactly(row.thermometer), told.ratio)
            close(exactly(row.thermometer_error), told.error)
            rows_of = slice(3 * head, 3 * head + 3)
            query, key, value = (m.weight[rows_of] for m in (mixer.to_query, mixer.to_key, mixer.to_value))
            close(exactly(row.symmetric_share), symmetric_share(query, key))
            kinds = value_kinds(mixer.to_out.weight[:, rows_of], value)
            close(exactly(row.store, row.walk, row.erase, row.value_size), torch.stack([*vars(kinds).values()][1:]))
            close(torch.tensor(row.eigenvalues), kinds.eigenvalues)


def exactly(*numbers):
    found = torch.tensor(numbers, dtype=torch.float64)
    return found[0] if len(numbers) == 1 else found


def test_numbers_of_states_by_loops():
    made = model()
    states, found = made.states(TOKENS), examine(made, TOKENS)
    assert [row.step for row in found.states] == [0, 1, 2, 3]
    assert found.states[0].change is None
    for step, row in enumerate(found.states):
        x = states[step].flatten(0, 1)
        close(exactly(row.length), x.square().mean(-1).sqrt().mean())
        pairs = [(t[i], t[j]) for t in states[step] for i in range(6) for j in range(6) if i != j]
        cosines = [nn.functional.cosine_similarity(one, other, 0) for one, other in pairs]
        close(exactly(row.cosine), torch.stack(cosines).mean())
        if step:
            past = states[step - 1].flatten(0, 1)
            close(exactly(row.change), ((x - past).norm(dim=-1) / past.norm(dim=-1)).mean())


@pytest.mark.parametrize("norm", ["before", "after"])
def test_ablation_is_what_changed_weights_cost(norm):
    """A head that says its mean: its columns of the map out set to zero, and what they made of the mean in the offset."""
    made = model(causal=True, norm=norm)
    found = examine(made, TOKENS)
    targets = TOKENS[:, 1:].flatten()
    loss = lambda m: cross_entropy(m(TOKENS)[:, :-1].flatten(0, 1), targets)  # noqa: E731
    close(exactly(found.loss), loss(made))
    rows = iter(found.heads)
    for step, (_, weights, _) in enumerate(heads_of(made, TOKENS)):
        for head in range(2):
            other = copy.deepcopy(made)
            states, block = other.states(TOKENS)[step], other.stack.blocks[step]
            x = block.mixer_norm(states) if norm == "before" else states
            mixer, columns = block.mixer, slice(3 * head, 3 * head + 3)
            value = x @ mixer.to_value.weight[columns].mT + mixer.to_value.bias[columns]
            mean = (weights[:, head] @ value).mean((0, 1))
            with torch.no_grad():
                mixer.to_out.bias += mixer.to_out.weight[:, columns] @ mean
                mixer.to_out.weight[:, columns] = 0
            close(exactly(next(rows).ablation), loss(other) - loss(made))


@pytest.mark.parametrize("together", [12, 60])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("how", ["as they are", "padding", "own loss"])
def test_heads_are_silenced_at_once_as_one_by_one(monkeypatch, together, tied, how):
    """One head, all three, and two and one that is left over, in copies of the batch; the last is as costly as the first."""
    made = model(causal=True, tied=tied)
    made.stack.blocks[0].mixer = SoftmaxAttention(8, heads=3, head_dim=2, causal=True)
    more = {"mask": torch.tensor([[True] * 6, [True] * 4 + [False] * 2])} if how == "padding" else {}
    more |= {"loss": lambda logits: logits.square().mean()} if how == "own loss" else {}
    sizes = []
    monkeypatch.setattr(run, "TOGETHER", 1)
    alone = examine(made, TOKENS[None], **{name: m[None] if name == "mask" else m for name, m in more.items()})
    monkeypatch.setattr(run, "TOGETHER", together)
    hook = made.stack.blocks[0].mixer.register_forward_pre_hook(lambda _, given: sizes.append(len(given[0])))
    found = examine(made, TOKENS, **more)
    hook.remove()
    assert max(sizes) == (2 if together == 12 else 6)
    costs = torch.stack([exactly(*(row.ablation for row in one.heads)) for one in (alone, found)])
    torch.testing.assert_close(costs[0], costs[1], atol=1e-12, rtol=0)
    assert costs[0].unique().numel() == costs[0].numel()


def test_what_follows_a_silenced_head_may_be_solved(monkeypatch):
    """A block with an iterative solver ends where it ended for one head alone."""
    made = model(steps=2)
    made.stack.blocks[1].mixer = registered_mixer("mean-field-naive", 8, tokens=6)
    costs = []
    for together in (1, 2048):
        monkeypatch.setattr(run, "TOGETHER", together)
        costs.append(exactly(*(row.ablation for row in examine(made, TOKENS, targets=TOKENS).heads)))
    torch.testing.assert_close(*costs, atol=1e-9, rtol=0)


@pytest.mark.slow
def test_a_tied_head_is_ablated_at_one_step():
    """The last step alone: the steps before are those of the model, the last one is a block with changed weights."""
    made = model(tied=True, norm="after")
    targets = torch.full_like(TOKENS, -100)
    targets[:, 2] = TOKENS[:, 2]
    found = examine(made, TOKENS, targets=targets)
    x = made.states(TOKENS)[2]
    block = copy.deepcopy(made.stack.blocks[0])
    mixer = block.mixer
    mean = mixer.mix(mixer.split(x))[:, 1].mean((0, 1))
    with torch.no_grad():
        mixer.to_out.bias += mixer.to_out.weight[:, 3:] @ mean
        mixer.to_out.weight[:, 3:] = 0
    whole, without = (cross_entropy(made.readout(b(x))[:, 2], TOKENS[:, 2]) for b in (made.stack.blocks[0], block))
    assert [(row.step, row.block, row.head) for row in found.heads][-1] == (3, 1, 2)
    close(exactly(found.heads[-1].ablation), without - whole)


def test_a_loss_of_ones_own_and_none():
    made = model()
    found = examine(made, TOKENS, loss=lambda logits: logits.square().mean())
    close(exactly(found.loss), made(TOKENS).square().mean())
    assert all(math.isfinite(row.ablation) for row in found.heads)
    for none in (examine(made, TOKENS), examine(model(readout=False), TOKENS, targets=TOKENS)):
        assert none.loss is None
        assert all(row.ablation is None for row in none.heads)


@pytest.mark.slow
def test_padding_counts_nowhere():
    """A text with padding behind it, and one beside it: the numbers of each alone, averaged as means over queries are."""
    for made in (model(tied=True), model(tied=True, causal=True)):
        padded = torch.cat([TOKENS[:1], torch.tensor([[7, 7]])], -1)
        mask = torch.tensor([[True] * 6 + [False] * 2])
        right = torch.cat([RIGHT[:1], torch.tensor([[-1, -1]])], -1)
        alone, beside = examine(made, TOKENS[:1], RIGHT[:1]), examine(made, padded, right, mask=mask)
        for one, other in zip(alone.heads + alone.states, beside.heads + beside.states):
            mine, theirs = ([v for v in vars(row).values() if isinstance(v, float)] for row in (one, other))
            torch.testing.assert_close(exactly(*mine), exactly(*theirs), atol=1e-9, rtol=0, equal_nan=True)
        assert alone.loss == pytest.approx(beside.loss, abs=1e-9) if alone.loss is not None else beside.loss is None


class LinearStep(nn.Module):
    """A block that is a matrix for each token; it mixes nothing."""

    def __init__(self, matrix):
        super().__init__()
        self.dim, self.matrix = len(matrix), nn.Parameter(matrix)

    def forward(self, x, mask=None):
        return x @ self.matrix.mT


def test_exponent_of_a_linear_tied_block():
    eigenvalues = torch.tensor([0.2, -0.9, 0.5, 0.1])
    basis = normal(4, 4)
    matrix = basis @ torch.diag(eigenvalues) @ torch.linalg.inv(basis)
    found = examine(LanguageModel(Embedding(11, 4), Stack(LinearStep(matrix), steps=2)), TOKENS)
    close(exactly(found.lyapunov), exactly(math.log(0.9)), atol=1e-4)
    assert found.heads == ()
    assert found.table() == []


@pytest.mark.slow
def test_exponent_is_for_tied_blocks_and_does_not_see_padding():
    assert examine(model(), TOKENS).lyapunov is None
    with_padding = torch.cat([TOKENS, TOKENS[:, :2]], -1)
    mask = torch.tensor([True] * 6 + [False] * 2).expand(2, 8)
    made = model(tied=True, norm="after")
    close(exactly(examine(made, with_padding, mask=mask).lyapunov), exactly(examine(made, TOKENS).lyapunov), atol=0.02)


# A tied block under noise


@pytest.fixture
def short(monkeypatch):
    """Few steps, and what the films began with."""
    for name, number in (("TEXTS", 3), ("FILMS", 4), ("STEPS", 6), ("BEFORE", 2), ("LAST", 3)):
        monkeypatch.setattr(partners, name, number)
    for name, number in (("BEFORE", 1), ("STEPS", 2)):
        monkeypatch.setattr(sys.modules["attnlib.transformer.examine"], name, number)
    began = []

    def filmed(stack, starts, sigma, **settings):
        began.append(starts)
        return films_under_noise(stack, starts, sigma, **settings)

    monkeypatch.setattr(partners, "films_under_noise", filmed)
    return began


def test_rows_of_noises(short):
    made = model(tied=True, norm="after")
    found = examine(made, TOKENS, noises=(0, 0.3), ablate=False, progress=False)
    starts = made.embed(torch.stack([TOKENS, TOKENS.flip(0)]))
    assert [row.sigma for row in found.noises] == [0.0, 0.3]
    for row, began in zip(found.noises, short):
        close(began, starts)
        told = films_under_noise(made.stack, starts, row.sigma, films=4, steps=6, last=3)
        growth = nearby_starts(made.stack, starts[0], row.sigma, steps=6)[2:]
        close(exactly(row.exponent, row.apart, row.met), torch.stack([growth.mean(), told.apart.mean(), told.met.mean()]))
        assert (row.law is None) == (row.law_over_error is None) == (row.sigma == 0)
    close(exactly(row.law, row.law_over_error), torch.stack([told.law.mean(), told.law_over_error.mean()]))


def test_the_second_start_has_its_tokens_at_the_same_places(short):
    """The next text with the same mask; where there is none, the text backwards; the first three texts begin."""
    made = model(tied=True, norm="after")
    tokens = torch.cat([TOKENS, TOKENS.roll(1, 1)])
    mask = torch.ones(4, 6, dtype=torch.bool)
    mask[1, 4:] = False
    examine(made, tokens, mask=mask, noises=[0.3], ablate=False, progress=False)
    backwards = torch.tensor([3, 5, 6, 2, 5, 8])  # of 2 6 5 3, and what is filling stays where it is
    close(short[0], made.embed(torch.stack([tokens[:3], torch.stack([tokens[2], backwards, tokens[3]])])))
    (one,) = examine(made, TOKENS[0], noises=[0.3], ablate=False, progress=False).noises  # a text without a batch
    close(short[1], made.embed(torch.stack([TOKENS[:1], TOKENS[:1].flip(1)])))
    assert math.isfinite(one.law_over_error)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.slow
def test_noises_are_refused_where_no_block_goes_on():
    assert examine(model(), TOKENS).noises == examine(model(tied=True), TOKENS).noises == ()
    with pytest.raises(
        ValueError, match=r"noises is \(0.1, 1.0\), and the stack has blocks of their own; expected a tied stack"
    ):
        examine(model(), TOKENS, noises=(0.1, 1))
    for wrong in (0.1, "1", b"1", torch.ones(2), [None], [-1.0], [math.nan]):
        with pytest.raises(ValueError, match="noises is"):
            examine(model(tied=True), TOKENS, noises=wrong)
    with pytest.raises(ValueError, match=r"noises has 1e\+300, and the block cannot go on so: .*; expected"):
        examine(model(tied=True), TOKENS, noises=(1e300,))


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_noises_are_shown_where_there_are_some(short, tmp_path):
    import matplotlib.pyplot as plt

    found = examine(model(tied=True), TOKENS, noises=(0, 0.3), progress=False)
    assert [row["sigma"] for row in found.table("noises")] == [0, 0.3]
    assert set(found.table("norms")[0]) == {"step", "block", "norm", "variance", "epsilon", "share", "temperature"}
    for rows, count in (("states", 4), ("norms", 6), ("noises", 2)):
        found.to_csv(tmp_path / "rows.csv", rows)
        with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
            assert [dict(row) for row in csv.DictReader(file)] == [
                {name: "" if one is None else str(one) for name, one in row.items()} for row in found.table(rows)
            ]
        assert len(found.table(rows)) == count
    page = found.page()
    assert page.count("<caption>") == page.count("<table>") == 4
    assert "Films under noise" in page
    assert f"at 0.3 {found.noises[1].apart:.3g} apart" in page
    assert '<th scope="row">feed forward</th>' in page
    assert '<th scope="row">0.3</th>' in page
    figure = found.plot()
    assert "Films under noise" in [ax.get_title() for ax in figure.axes]
    plt.close(figure)
    with pytest.raises(ValueError, match="rows is 'temperatures'; expected one of 'heads', 'states', 'norms', 'noises'"):
        found.table("temperatures")


# Heads that are known


def test_heads_that_are_known():
    mixer = SoftmaxAttention(6, heads=2, head_dim=6)
    turn = torch.block_diag(*[torch.tensor([[0.0, 1.0], [-1.0, 0.0]])] * 3)
    eye = torch.eye(6)
    with torch.no_grad():
        mixer.to_query.weight.copy_(torch.cat([eye, turn]))
        mixer.to_key.weight.copy_(torch.cat([eye, eye]))
        mixer.to_value.weight.copy_(torch.cat([eye, eye.roll(1, 0)]))
        mixer.to_out.weight.copy_(torch.cat([eye, eye], -1))
    storing, walking = examine(LanguageModel(Embedding(11, 6), Stack([Block(mixer)])), TOKENS).heads
    close(exactly(storing.symmetric_share, storing.store, walking.symmetric_share, walking.walk), exactly(1, 1, 0, 1))
    close(exactly(storing.antisymmetric_share < 0.4, walking.antisymmetric_share > 0.6), exactly(1, 1))


def test_a_head_with_random_scores_obeys_the_law():
    """Bare attention between 64 independent tokens of 256 components: scores that are nearly Gaussian and independent."""
    for size in (1.0, 1.7):
        tokens = size * normal(4, 64, 256, seed=2)
        made = LanguageModel(nn.Identity(), Stack([Block(SoftmaxAttention(256, heads=4, head_dim=64), norm=None)]))
        mixer = made.stack.blocks[0].mixer
        with torch.no_grad():
            for m in (mixer.to_query, mixer.to_key):
                m.weight.copy_(normal(*m.weight.shape, seed=int(m is mixer.to_key)) / 16)
        for row in examine(made, tokens).heads:
            assert abs(row.participation / row.participation_law - 1) < 0.08
            assert abs(row.antisymmetric_share - 0.5) < 0.1


def test_energy_attention_and_mixers_without_weights():
    """Values tied to keys: they store, and the steps of the other kind are read as states only."""
    stack = Stack(
        [Block(EnergyAttention(8, heads=2)), Block(registered_mixer("identity", 8, tokens=6)), LinearStep(torch.eye(8))]
    )
    found = examine(LanguageModel(Embedding(11, 8), stack), TOKENS)
    assert [(row.step, row.head) for row in found.heads] == [(1, 1), (1, 2)]
    assert len(found.states) == 4
    energy = stack.blocks[0].mixer
    close(
        exactly(found.heads[0].store, found.heads[0].erase),
        torch.stack([*vars(value_kinds(energy.to_out.weight[:, :4], energy.to_key.weight[:4])).values()][1:4:2]),
    )
    assert found.grid("spread").shape == (3, 2)
    assert found.grid("spread")[1:].isnan().all()


# What it leaves behind, and what it refuses


def test_the_model_is_left_as_it_was():
    made = model(causal=True).train()
    before = copy.deepcopy(made.state_dict())
    examine(made, TOKENS)
    assert made.training
    assert all(module.training for module in made.modules())
    for block in made.stack.blocks:
        assert "mix" not in vars(block.mixer)
        assert not block.mixer._forward_pre_hooks
    close(torch.cat([t.flatten() for t in made.state_dict().values()]), torch.cat([t.flatten() for t in before.values()]))
    assert made(TOKENS).requires_grad

    def fails(logits):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        examine(made, TOKENS, loss=fails)
    assert made.training


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": nn.Linear(2, 2)}, r"model has embed, stack and readout \['NoneType', 'NoneType', 'NoneType'\]"),
        ({"model": "gpt2"}, "model is a str; expected a module with embed, stack and readout"),
        ({"tokens": TOKENS[:, :1]}, r"tokens has shape \(2, 1\), of which embed makes \(2, 1, 8\); expected .* n at least 2"),
        ({"tokens": TOKENS + 6}, "tokens has numbers from 7 to 15; expected 0 to 10"),
        ({"right_keys": RIGHT[:, :5]}, r"right_keys is torch.int64 of shape \(2, 5\); expected whole numbers \(2, 6\)"),
        ({"right_keys": RIGHT + 1}, "right_keys has no key, or some outside 0 to 5"),
        ({"targets": TOKENS.double()}, "targets is torch.float64"),
        ({"targets": TOKENS + 6}, "targets has 11; expected 0 to 10, or -100 where nothing is asked"),
        ({"targets": TOKENS - 2}, "targets has -1; expected 0 to 10"),
        ({"mask": TOKENS}, r"mask is torch.int64 of shape \(2, 6\); expected booleans \(2, 6\)"),
        ({"mask": TOKENS > 8}, "mask leaves less than two tokens of a text"),
        ({"ablate": 1}, "ablate is 1"),
    ],
)
def test_what_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        examine(**{"model": model(), "tokens": TOKENS} | change)


def test_states_that_overflow_are_refused_by_the_names_of_what_was_given():
    for size, sentence in (
        (1e200, "tokens, or the states that model makes of them, are too large"),
        (1e30, "tokens cannot go on"),
    ):
        growing = Stack(LinearStep(torch.full((4, 4), size)), steps=3)
        with pytest.raises(ValueError, match=sentence):
            examine(LanguageModel(Embedding(11, 4), growing), TOKENS)


# What is made of it


def test_table_and_file(tmp_path):
    found = examine(model(causal=True), TOKENS, RIGHT)
    found.to_csv(tmp_path / "heads.csv")
    with (tmp_path / "heads.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    told = [{name: float(text) if text else None for name, text in row.items()} for row in read]
    assert told == found.table()
    close(found.grid("ablation")[1, 0].double(), exactly(found.heads[2].ablation), atol=1e-7)
    with pytest.raises(ValueError, match="name is 'warmth'; expected one of step, block, head, spread,"):
        found.grid("warmth")


@pytest.mark.slow
def test_page_needs_nothing_and_shows_what_was_read():
    found = examine(model(causal=True), TOKENS)
    page = found.page("A <model>")
    assert "A &lt;model&gt;" in page
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert addresses
    assert all(address.startswith("data:image/svg+xml;base64,") for address in addresses)
    pictures = re.findall(r"<img [^>]*>", page)
    assert len(pictures) == len(re.findall(r"<figcaption>[^<]+</figcaption>", page)) == 12  # all but the thermometer
    assert all(re.search(r'alt="[^"]{40,}"', picture) for picture in pictures)
    assert page.count("<caption>") == page.count("<table>") == 3
    assert "Norms: what the epsilon" in page
    assert "noise" not in page
    assert "thermometer" not in page
    assert "prefers-color-scheme: dark" in page
    assert page == found.page("A <model>")
    largest = max(found.heads, key=lambda row: row.ablation)
    assert f"largest {largest.ablation:.3g} at step {largest.step}, head {largest.head}" in page
    assert found._repr_html_() in page
    assert "Thermometer U" in examine(model(), TOKENS, RIGHT).page()


@pytest.mark.slow
def test_plot_has_a_map_for_each_instrument():
    import matplotlib.pyplot as plt

    figure = examine(model(tied=True), TOKENS, RIGHT).plot()
    titles = [ax.get_title() for ax in figure.axes]
    assert {"Thermometer U", "Spread / √(2 ln K)", "The states"} <= set(titles)
    assert not {"Cost of its ablation", "Films under noise"} & set(titles)
    plt.close(figure)


def test_one_thermometer_far_off_does_not_take_all_colours():
    """A head that never sees the right key has a U of hundreds; the others are still told apart."""
    import matplotlib.pyplot as plt

    from attnlib.transformer.pictures import INSTRUMENTS, _map

    heat = next(one for one in INSTRUMENTS if one.name == "thermometer")
    figure, ax = plt.subplots()
    _map(ax, torch.tensor([[0.9, 300.0], [1.1, 0.5]]), heat)
    assert ax.images[0].get_clim() == (0, 2)
    assert ax.images[0].colorbar.extend == "max"
    _map(ax, torch.tensor([[0.9, 1.2]]), heat)
    assert ax.images[1].get_clim() == pytest.approx((0.8, 1.2))
    plt.close(figure)
