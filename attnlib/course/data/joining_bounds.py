"""What can be known of a joining: the chance of what is seen, the best guess at what is hidden, the entropy of a whole string.

A hidden token is known exactly if its copy is seen. If the copy is hidden as well, what is left is the grammar: brackets must
balance, groups must fit, and a form must explain what is seen. All forms are summed, and all fragments by the transfer matrix,
so that no string is enumerated.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib.course.data import _brackets as brackets
from attnlib.course.data.joining import ARROW, END, FIRST_OF_FRAGMENTS, MASK, PAD, Joinings, Language


def log_evidence(language: Language, tokens: Int[Tensor, "count n"], seen: Bool[Tensor, "count n"]) -> Float[Tensor, "count"]:
    """Logarithm of the chance that a string has this length and these tokens where they are seen.

    Args:
        language: what strings there are.
        tokens: ``[count, n]``, filled up with :data:`PAD`, which is always seen; what stands where nothing is seen is ignored.
        seen: which tokens are seen.

    Returns:
        ``[count]``, in nats, minus infinity where no string looks like that.
    """
    length, known = (tokens != PAD).sum(-1), torch.where(seen | (tokens == PAD), tokens, MASK)
    total = torch.zeros(len(tokens), dtype=torch.float64)
    partitions = brackets.totals(language.letters, language.pair, language.longest)[:, 0]
    for form in language.forms:
        layout = language.layout(*form)
        rows = (length == len(layout)).nonzero()[:, 0]
        if not len(rows):
            continue
        given, code = known[rows][:, : len(layout)], torch.tensor(layout)
        fits = ((given == code) | (given == MASK) | (code < 0)).all(-1).double()
        for first, size in ((0, form[2]), (language.longest, form[3])):
            places = torch.tensor([[i for i, c in enumerate(layout) if c == -1 - first - k] for k in range(size)])
            fits = fits * brackets.weighed(_kinds(given[:, places], language)) / partitions[size]
        total[rows] += fits / len(language.forms)
    return total.log()


def _kinds(given: Int[Tensor, "rows length 2"], language: Language) -> Float[Tensor, "rows length kinds"]:
    """Weight of a letter and of either bracket at a place of a fragment, of which two copies are seen or hidden."""
    weights = torch.tensor([language.letters, language.pair, 1.0], dtype=torch.float64)
    one, other = given.unbind(-1)
    token = torch.where(one == MASK, other, one)
    is_kind = torch.stack([token >= FIRST_OF_FRAGMENTS + 2, token == FIRST_OF_FRAGMENTS, token == FIRST_OF_FRAGMENTS + 1], -1)
    told = is_kind * weights / torch.tensor([language.letters, 1.0, 1.0])
    told[(one != MASK) & (other != MASK) & (one != other)] = 0.0
    return torch.where((token == MASK)[..., None], weights, told)


def posterior(
    language: Language, tokens: Int[Tensor, "count n"], seen: Bool[Tensor, "count n"], at: Int[Tensor, "count"]
) -> Float[Tensor, "count {language.size}"]:
    """The chance of each token at one hidden place of each string, given what is seen of it and its length."""
    many = torch.arange(language.size).repeat(len(tokens))
    rows = torch.arange(len(tokens)).repeat_interleave(language.size)
    tried, shown = tokens[rows].clone(), seen[rows].clone()
    tried[torch.arange(len(rows)), at[rows]] = many
    shown[torch.arange(len(rows)), at[rows]] = True
    impossible = many <= MASK  # a place that is not filling has a token
    evidence = log_evidence(language, torch.where(impossible[:, None], END, tried), shown).masked_fill(impossible, -math.inf)
    return evidence.view(len(tokens), -1).softmax(-1)


def best_guesses(
    language: Language, strings: Joinings, hidden: Bool[Tensor, "count n"], *, one_side: bool = False
) -> tuple[Float[Tensor, "hidden"], Bool[Tensor, "hidden"]]:
    """How well anybody can do who fills the gaps of strings, one entry for each hidden token, string by string.

    Args:
        language: what strings there are.
        strings, hidden: strings, and which of their tokens are hidden, as :func:`attnlib.course.data.joining.hide` says.
        one_side: use only what is seen on the token's own side of the arrow, as who knows the grammar and never maps would.

    Returns:
        Minus the logarithm of the chance that the true token has in the exact posterior, in nats, and whether the most probable
        token is the true one.
    """
    row, at = hidden.nonzero().unbind(-1)
    tokens, seen = strings.tokens[row], ~hidden[row]
    if one_side:
        place, arrow = torch.arange(tokens.shape[-1]), (tokens == ARROW).int().argmax(-1)
        behind = place > arrow[:, None]
        seen = seen & (behind == (at > arrow)[:, None])
    chance = posterior(language, tokens, seen, at)
    true = strings.tokens[row, at]
    return -chance.gather(-1, true[:, None])[:, 0].log(), chance.argmax(-1) == true


def bounds(language: Language, strings: Joinings, hidden: Bool[Tensor, "count n"]) -> dict[str, list[float]]:
    """The best that anybody can do on these strings: the mean loss in nats, and the share of gaps that is guessed right.

    Returns:
        ``best`` of who knows everything, ``one_side`` of who knows the grammar and the token's own side of the arrow, and
        ``causal`` of who says whole strings, token by token, which has no share.
    """
    found = {}
    for name, one_side in (("best", False), ("one_side", True)):
        loss, right = best_guesses(language, strings, hidden, one_side=one_side)
        found[name] = [loss.mean().item(), right.double().mean().item()]
    whole = log_evidence(language, strings.tokens, torch.ones_like(hidden))
    return found | {"causal": [-whole.sum().item() / (strings.real.sum() - len(strings)).item()]}


def entropy(language: Language) -> float:
    """Entropy of a string in nats: of its form and of two fragments. What stands behind the arrow adds nothing."""
    lengths = range(language.shortest, language.longest + 1)
    fragment = sum(brackets.entropy_of(length, language.letters, language.pair) for length in lengths) / len(lengths)
    return math.log(len(language.forms)) + 2 * fragment


def mean_length(language: Language) -> float:
    """The mean number of tokens of a string, begin and end among them."""
    return sum(len(language.layout(*form)) for form in language.forms) / len(language.forms)
