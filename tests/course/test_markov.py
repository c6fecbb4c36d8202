"""Markov chains with a law of their own: costs against the evidence of whole chains, and the numbers of page 7c."""

import itertools
import math

import pytest
import torch

from attnlib.course.data.markov import markov_chains, markov_costs, markov_floors, markov_guesses


def chains(count, seed=0, **more):
    return markov_chains(count, generator=torch.Generator().manual_seed(seed), **more)


@pytest.mark.parametrize("concentration", [1.0, 0.5])
def test_bayes_costs_add_up_to_the_evidence_of_the_chain(concentration):
    """The Dirichlet-multinomial evidence of all transitions: a product of Gamma functions, in no order."""
    some = chains(20, k=4, length=30, concentration=concentration)
    costs = markov_costs(some, concentration=concentration)["bigram"].sum(-1)
    for states, cost in zip(some.states.tolist(), costs.tolist(), strict=True):
        log = 0.0
        for a in range(4):
            counts = [sum(x == a and y == b for x, y in itertools.pairwise(states)) for b in range(4)]
            log += math.lgamma(4 * concentration) - math.lgamma(4 * concentration + sum(counts))
            log += sum(math.lgamma(concentration + n) - math.lgamma(concentration) for n in counts)
        assert cost == pytest.approx(-log, rel=1e-10)


def test_unigram_and_true_costs_by_hand():
    some = chains(5, length=12)
    costs = markov_costs(some)
    for chain, states in enumerate(some.states.tolist()):
        for place in range(11):
            then = states[place + 1]
            seen = states[: place + 1].count(then) + 1
            assert costs["unigram"][chain, place].item() == pytest.approx(-math.log(seen / (place + 1 + 3)))
            assert costs["true"][chain, place].item() == pytest.approx(-some.law[chain, states[place], then].log().item())
    assert (costs["uniform"] == math.log(3)).all()


def test_guesses_are_chances_and_the_first_one_knows_nothing():
    some = chains(40, length=9)
    for name, chances in markov_guesses(some, concentration=0.5).items():
        torch.testing.assert_close(chances.sum(-1), torch.ones(40, 8, dtype=torch.float64))
        cost = -chances.gather(-1, some.next[..., None])[..., 0].log()
        torch.testing.assert_close(cost, markov_costs(some, concentration=0.5)[name])
    assert (markov_guesses(some)["bigram"][:, 0] - 1 / 3).abs().max() < 1e-12


@pytest.mark.slow
def test_the_floors_of_page_7c_are_these():
    found = markov_floors(chains(8000))
    for name, expected in (("uniform", 1.0986), ("unigram", 1.018), ("bigram", 0.906), ("true", 0.818)):
        assert found[name].mean == pytest.approx(expected, abs=4 * found[name].error + 0.0005)


def test_chains_follow_their_law_and_rows_have_the_entropy_of_a_dirichlet():
    some = chains(20_000, length=3)
    assert some.law.xlogy(some.law).sum(-1).mean().item() == pytest.approx(-5 / 6, abs=0.005)  # psi(4) - psi(2)
    moved = some.law[torch.arange(20_000), some.states[:, 0], some.states[:, 1]]
    assert moved.mean().item() == pytest.approx(0.5, abs=0.01)  # E sum p^2 of a flat law of three


def test_what_cannot_be_drawn_is_refused():
    for settings, name in (({"count": 0}, "count"), ({"length": 1}, "length"), ({"concentration": 0.0}, "concentration")):
        with pytest.raises(ValueError, match=rf"^{name} is "):
            markov_chains(**({"count": 1} | settings))
