"""The language of joinings, against one that is written out string by string, with the origin of every token."""

import itertools
import math
from collections import Counter, defaultdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course.data import _brackets, joining_bounds
from attnlib.course.data.joining import END, MASK, PAD, TEMPLATES, VOCABULARY, Language, hide, written

SMALL = Language(letters=2, shortest=1, longest=3, pair=3.0)
NUMBER = {token: number for number, token in enumerate(VOCABULARY)}
STAY = {"X M": (), "X HN": ("r2",), "X HO": ("r2",), "OH HO": ("l1 r2",), "=O HHN": ("l1", "r3"), "M M": ("",)}
"""Which token of which group each token of a link may be."""


def drawn(seed):
    return torch.Generator().manual_seed(seed)


def pairs_of(fragment):
    """How many pairs of brackets, or None where they do not balance, hold nothing, or are more than two deep."""
    depth = pairs = 0
    for i, token in enumerate(fragment):
        if token == "(":
            depth, pairs = depth + 1, pairs + 1
        elif token == ")":
            if not depth or fragment[i - 1] == "(":
                return None
            depth -= 1
        if depth > 2:
            return None
    return None if depth else pairs


def fragments_of(language, length):
    """Every fragment of a length with its chance."""
    alphabet = VOCABULARY[NUMBER["("] : language.size]
    weight = {}
    for tokens in itertools.product(alphabet, repeat=length):
        if (pairs := pairs_of(tokens)) is not None:
            weight["".join(tokens)] = language.pair**pairs
    return {fragment: each / sum(weight.values()) for fragment, each in weight.items()}


def tagged(template, swapped, left, right):
    """A string as tokens with tags, and for each place of the product the places of its origin: tags say who is who."""
    sides = (("l", template.left), ("r", template.right))
    group, other = ([(token, f"{side}{i + 1}") for i, token in enumerate(text)] for side, text in sides)
    first = [(token, f"L{i}") for i, token in enumerate(left)]
    second = [(token, f"R{i}") for i, token in enumerate(right)]
    parts = [first + group, other + second]
    before = [("^", "")] + parts[swapped] + [(".", "")] + parts[not swapped] + [(">>", "")]
    stay = STAY[f"{template.left} {template.right}"]
    link = list(zip(template.link, stay, strict=True))
    after = first + link + second
    origins = [[i for i, (_, tag) in enumerate(before) if tag and tag in wanted.split()] for _, wanted in after]
    return [token for token, _ in before + after] + ["$"], {len(before) + i: places for i, places in enumerate(origins)}


def everything(language):
    """Every string of a language: numbers of tokens, chance, origins."""
    lengths = range(language.shortest, language.longest + 1)
    known = {length: fragments_of(language, length) for length in lengths}
    even = 1 / (len(TEMPLATES) * 2 * len(lengths) ** 2)
    for template, swapped, n, m in itertools.product(TEMPLATES, (False, True), lengths, lengths):
        for (left, p), (right, q) in itertools.product(known[n].items(), known[m].items()):
            tokens, origins = tagged(template, swapped, left, right)
            yield tuple(NUMBER[token] for token in tokens), p * q * even, origins


ALL = list(everything(SMALL))
CHANCE = {tokens: chance for tokens, chance, _ in ALL}


def test_every_string_has_one_reading():
    assert len(CHANCE) == len(ALL) == 12 * (2 + 4 + 10) ** 2
    assert sum(CHANCE.values()) == pytest.approx(1)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
@pytest.mark.slow
def test_fragments_are_drawn_with_their_chances(length):
    chances = fragments_of(SMALL, length)
    kinds = _brackets.draw_kinds(torch.full((20_000,), length), 2, 3.0, 6, drawn(length))[:, :length]
    shapes = defaultdict(float)
    for fragment, chance in chances.items():
        shapes["".join(token if token in "()" else "." for token in fragment)] += chance
    found = defaultdict(float)
    for row in kinds.tolist():
        found["".join(".()"[kind] for kind in row)] += 1 / 20_000
    assert set(found) <= set(shapes)
    for shape, chance in shapes.items():
        assert abs(found[shape] - chance) < 5 * math.sqrt(chance / 20_000)
    by_hand = -sum(chance * math.log(chance) for chance in chances.values())
    assert _brackets.entropy_of(length, 2, 3.0) == pytest.approx(by_hand)


def test_strings_are_drawn_with_their_chances():
    """Pearson's statistic over forms: as many as there are, give or take."""
    strings = SMALL.draw(30_000, generator=drawn(1))
    count = defaultdict(int)
    for row in strings.tokens.tolist():
        count[tuple(token for token in row if token != PAD)] += 1
    assert set(count) <= set(CHANCE)
    statistic = sum((count[tokens] - 30_000 * p) ** 2 / (30_000 * p) for tokens, p in CHANCE.items())
    assert abs(statistic - len(CHANCE)) < 6 * math.sqrt(2 * len(CHANCE))


@given(st.integers(0, 10**6))
def test_keys_are_the_origins(seed):
    origins = {tokens: places for tokens, _, places in ALL}
    strings = SMALL.draw(5, generator=drawn(seed))
    assert strings.tokens.shape == (5, SMALL.width)
    for row, keys in zip(strings.tokens.tolist(), strings.keys, strict=True):
        wanted = torch.zeros_like(keys)
        for place, sources in origins[tuple(token for token in row if token != PAD)].items():
            wanted[place, sources] = True
        assert torch.equal(keys, wanted)
    single = [[row.nonzero()[0].item() if row.sum() == 1 else -1 for row in keys] for keys in strings.keys]
    assert strings.right_keys.tolist() == single


def test_a_token_is_the_token_it_comes_from():
    strings = Language().draw(500, generator=drawn(2))
    row, target, source = strings.keys.nonzero().unbind(-1)
    assert torch.equal(strings.tokens[row, target], strings.tokens[row, source])
    assert strings.real.sum(-1).float().mean().item() == pytest.approx(joining_bounds.mean_length(Language()), abs=0.6)


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_evidence_is_the_sum_over_all_strings(seed, share):
    strings = SMALL.draw(4, generator=drawn(seed))
    _, hidden = hide(strings.tokens, share, generator=drawn(seed))
    found = joining_bounds.log_evidence(SMALL, strings.tokens, ~hidden)
    for row, unseen, evidence in zip(strings.tokens.tolist(), hidden.tolist(), found.tolist(), strict=True):
        length = sum(token != PAD for token in row)
        by_hand = sum(
            chance
            for tokens, chance in CHANCE.items()
            if len(tokens) == length and all(u or a == b for a, b, u in zip(tokens, row, unseen, strict=False))
        )
        assert evidence == pytest.approx(math.log(by_hand))


@pytest.mark.parametrize("seed", range(4))
def test_the_posterior_is_that_of_all_strings(seed):
    strings = SMALL.draw(1, generator=drawn(seed))
    _, hidden = hide(strings.tokens, 0.5, generator=drawn(seed))
    row, unseen = strings.tokens[0].tolist(), hidden[0].tolist()
    length = sum(token != PAD for token in row)
    for at in hidden[0].nonzero()[:, 0].tolist():
        by_hand = torch.zeros(SMALL.size, dtype=torch.float64)
        for tokens, chance in CHANCE.items():
            if len(tokens) == length and all(u or a == b for a, b, u in zip(tokens, row, unseen, strict=False)):
                by_hand[tokens[at]] += chance
        found = joining_bounds.posterior(SMALL, strings.tokens, ~hidden, torch.tensor([at]))[0]
        torch.testing.assert_close(found, by_hand / by_hand.sum())


def test_nothing_looks_like_nonsense():
    tokens = SMALL.draw(1, generator=drawn(0)).tokens
    tokens[0, 1] = END
    assert joining_bounds.log_evidence(SMALL, tokens, torch.ones_like(tokens, dtype=torch.bool)).item() == -math.inf


def test_the_entropy_is_that_of_all_strings():
    by_hand = -sum(chance * math.log(chance) for chance in CHANCE.values())
    assert joining_bounds.entropy(SMALL) == pytest.approx(by_hand)
    assert joining_bounds.mean_length(SMALL) == pytest.approx(sum(chance * len(tokens) for tokens, chance in CHANCE.items()))


def test_the_larger_language_agrees_with_itself():
    """Whole strings are as probable as their form and their fragments; the chain rule gives the entropy back."""
    language = Language()
    strings = language.draw(3000, generator=drawn(3))
    whole = joining_bounds.log_evidence(language, strings.tokens, torch.ones_like(strings.tokens, dtype=torch.bool))
    assert -whole.mean().item() == pytest.approx(joining_bounds.entropy(language), abs=5 * whole.std().item() / 3000**0.5)


@pytest.mark.slow
@pytest.mark.slow
def test_who_maps_knows_more_than_who_does_not():
    strings = Language().draw(60, generator=drawn(4))
    _, hidden = hide(strings.tokens, 0.2, generator=drawn(4))
    loss, right = joining_bounds.best_guesses(Language(), strings, hidden)
    other, wrong = joining_bounds.best_guesses(Language(), strings, hidden, one_side=True)
    assert len(loss) == len(other) == hidden.sum()
    assert (loss.mean() < 0.5) & (other.mean() > 1.3)
    assert right.double().mean() > 0.8 > 0.6 > wrong.double().mean()
    found = joining_bounds.bounds(Language(), strings, hidden)
    assert found["best"] == [loss.mean().item(), right.double().mean().item()]
    assert found["one_side"] == [other.mean().item(), wrong.double().mean().item()]
    expected = joining_bounds.entropy(Language()) / (joining_bounds.mean_length(Language()) - 1)
    assert found["causal"][0] == pytest.approx(expected, abs=0.1)


def test_places_alone_tell_47_of_a_hundred_origins():
    """Who knows its own place, that of the arrow and that of the end: exact, since forms are even (claim 7.92)."""
    strings = Language().draw(4000, generator=drawn(5))
    kinds = {int(form): index for index, form in enumerate(strings.form)}
    assert len(kinds) == len(Language().forms)
    origins: dict[tuple[int, int, int], Counter[int]] = {}
    for index in kinds.values():
        arrow, end = (strings.tokens[index].tolist().index(NUMBER[name]) for name in (">>", "$"))
        for row, key in strings.keys[index].nonzero().tolist():
            origins.setdefault((row, arrow, end), Counter())[key] += 1
    rows = sum(int(strings.keys[index].any(-1).sum()) for index in kinds.values())
    assert sum(max(keys.values()) for keys in origins.values()) / rows == pytest.approx(0.4746, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_one_side_is_all_that_its_owner_sees(seed):
    """The posterior by summing over all strings of that length whose tokens agree on one side of the arrow."""
    strings = SMALL.draw(1, generator=drawn(seed))
    _, hidden = hide(strings.tokens, 0.4, generator=drawn(seed))
    found, _ = joining_bounds.best_guesses(SMALL, strings, hidden, one_side=True)
    row = [token for token in strings.tokens[0].tolist() if token != PAD]
    arrow = row.index(NUMBER[">>"])
    for at, loss in zip(hidden[0].nonzero()[:, 0].tolist(), found.tolist(), strict=True):
        seen = [i for i in range(len(row)) if not hidden[0, i] and (i > arrow) == (at > arrow)]
        fits = {t: p for t, p in CHANCE.items() if len(t) == len(row) and all(t[i] == row[i] for i in seen)}
        true = sum(p for t, p in fits.items() if t[at] == row[at])
        assert loss == pytest.approx(-math.log(true / sum(fits.values())))


def test_hidden_tokens_are_hidden_with_the_share():
    strings = Language().draw(2000, generator=drawn(5))
    shown, hidden = hide(strings.tokens, 0.2, generator=drawn(6))
    assert torch.equal(shown == MASK, hidden)
    assert torch.equal(shown[~hidden], strings.tokens[~hidden])
    may = strings.tokens > END
    assert not hidden[~may].any()
    assert hidden[may].float().mean().item() == pytest.approx(0.2, abs=0.01)
    assert torch.equal(hide(strings.tokens, 0)[0], strings.tokens)


def test_what_is_hidden_does_not_depend_on_the_default_precision():
    tokens = Language().draw(20, generator=torch.Generator().manual_seed(3)).tokens
    single = hide(tokens, 0.2, generator=torch.Generator().manual_seed(4))[1]
    torch.set_default_dtype(torch.float64)
    try:
        double = hide(tokens, 0.2, generator=torch.Generator().manual_seed(4))[1]
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(single, double)


def test_the_same_generator_draws_the_same():
    one, other = (Language().draw(20, generator=drawn(7)) for _ in range(2))
    assert torch.equal(one.tokens, other.tokens)
    assert one.tell(3) == written(one.tokens[3])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"letters": 13}, "letters is 13; expected at most 12"),
        ({"letters": 0}, "letters is 0"),
        ({"shortest": 4, "longest": 3}, "longest is 3; expected an integer of at least 4"),
        ({"pair": 0}, "pair is 0"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Language(**wrong)


def test_calls_out_of_range_are_refused():
    strings = Language().draw(2)
    with pytest.raises(ValueError, match="count is 0"):
        Language().draw(0)
    with pytest.raises(ValueError, match="index is 2; expected 0 <= index < 2"):
        strings.tell(2)
    with pytest.raises(ValueError, match=r"share is 1\.5; expected a number from 0 to 1"):
        hide(strings.tokens, 1.5)
