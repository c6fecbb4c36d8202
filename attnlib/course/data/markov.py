"""Markov chains, each with a law of its own, to be learned in context: what the next state costs, guessed in four ways."""

import dataclasses

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlib._core.checks import check_count, check_generator, check_number
from attnlib.course.data.seeds import Estimate, over_runs


@dataclasses.dataclass(frozen=True)
class MarkovChains:
    """Chains and their laws: what :func:`markov_chains` returns, so no ValueError.

    ``states [count, length]``, ``law [count, k, k]``, a row for each state that is left.

    >>> markov_chains(2, length=5).next.shape
    torch.Size([2, 4])
    """

    states: Int[Tensor, "count length"]
    law: Float[Tensor, "count k k"]

    @property
    def next(self) -> Int[Tensor, "count places"]:
        """What is to be said at each place but the last, that is the state that follows, ``[count, length - 1]``."""
        return self.states[:, 1:]


def markov_chains(
    count: int, k: int = 3, *, length: int = 64, concentration: float | int = 1.0, generator: torch.Generator | None = None
) -> MarkovChains:
    """Draw a law for each chain, its rows from a Dirichlet distribution, then a chain that starts anywhere.

    Args:
        count, k, length: how many chains, states, and places in each.
        concentration: of the Dirichlet distribution, the same for all states.
        generator: where random numbers come from; default torch's own.

    Returns:
        :class:`MarkovChains`; the law is in double precision.

    Raises:
        ValueError: counts that are not integers of at least 1, a length below 2, a concentration that is not above 0.

    Source: Edelman et al. 2024, The evolution of statistical induction heads.

    >>> markov_chains(2, length=5, generator=torch.Generator().manual_seed(0)).law.sum(-1).round(decimals=6).unique()
    tensor([1.], dtype=torch.float64)
    """
    count, k, length = check_count("count", count), check_count("k", k), check_count("length", length, 2)
    check_generator(generator)
    shape = torch.full((count, k, k), check_number("concentration", concentration, above=0), dtype=torch.float64)
    drawn = torch._standard_gamma(shape, generator=generator)  # pyright: ignore[reportPrivateImportUsage]
    law = drawn / drawn.sum(-1, keepdim=True)
    states = [torch.randint(k, (count,), generator=generator)]
    edges, chain = law.cumsum(-1), torch.arange(count)
    for _ in range(length - 1):
        drawn = torch.rand(count, 1, generator=generator, dtype=torch.float64)
        states.append((drawn >= edges[chain, states[-1], :-1]).sum(-1))
    return MarkovChains(torch.stack(states, 1), law)


def markov_guesses(chains: MarkovChains, *, concentration: float | int = 1.0) -> dict[str, Float[Tensor, "count places k"]]:
    r"""The chances of the next state, ``[count, length - 1, k]``, for who knows more and more.

    ``"uniform"`` says ``1 / k`` each time. ``"unigram"`` counts how often each state has come so far, ``"bigram"`` how often
    each has followed the present one; both add the concentration to each count,

    .. math:: p(b \mid a) = \frac{n_{ab} + \alpha}{\sum_c n_{ac} + k \alpha}

    which for the bigram is Bayes' answer. ``"true"`` knows the law.

    Args:
        chains: from :func:`markov_chains`.
        concentration: alpha.

    Raises:
        ValueError: a concentration that is not above 0.

    >>> guesses = markov_guesses(MarkovChains(torch.tensor([[0, 1, 0, 1]]), torch.full((1, 2, 2), 0.5).double()))
    >>> guesses["bigram"][0, -1], guesses["unigram"][0, -1]  # 1 has followed 0 once; it came once of three times
    (tensor([0.3333, 0.6667], dtype=torch.float64), tensor([0.6000, 0.4000], dtype=torch.float64))
    """
    alpha, (count, k, _) = check_number("concentration", concentration, above=0), chains.law.shape
    now, one = chains.states[:, :-1], torch.nn.functional.one_hot(chains.states, k).double()
    chain, place = torch.arange(count)[:, None], torch.arange(now.shape[1])
    pairs = one[:, :-1, :, None] * one[:, 1:, None, :]  # [count, length - 1, k, k]
    seen = pairs.cumsum(1) - pairs  # before the pair that is to be said
    rows, so_far = seen[chain, place, now] + alpha, one[:, :-1].cumsum(1) + alpha
    return {
        "uniform": torch.full_like(so_far, 1 / k),
        "unigram": so_far / so_far.sum(-1, keepdim=True),
        "bigram": rows / rows.sum(-1, keepdim=True),
        "true": chains.law[chain, now],
    }


def markov_costs(chains: MarkovChains, *, concentration: float | int = 1.0) -> dict[str, Float[Tensor, "count places"]]:
    """Nats that the next state costs by each guess of :func:`markov_guesses`, ``[count, length - 1]``. Errors are its.

    >>> costs = markov_costs(markov_chains(500, generator=torch.Generator().manual_seed(0)))
    >>> costs["uniform"].mean() > costs["unigram"].mean() > costs["bigram"].mean() > costs["true"].mean()
    tensor(True)
    """
    guesses, then = markov_guesses(chains, concentration=concentration), chains.next[..., None]
    return {name: -chances.gather(-1, then)[..., 0].log() for name, chances in guesses.items()}


def markov_floors(chains: MarkovChains, *, concentration: float | int = 1.0) -> dict[str, Estimate]:
    """The mean cost of each guess of :func:`markov_costs` over all places, with its error over chains. Errors are its.

    >>> round(markov_floors(markov_chains(2))["uniform"].mean, 4)
    1.0986
    """
    return {name: over_runs(costs.mean(-1)) for name, costs in markov_costs(chains, concentration=concentration).items()}
