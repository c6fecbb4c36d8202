"""A language of joinings, ``left group . group right >> left link right``, in which a token's origin is known (chapter 7).

Two parts stand on the left of ``>>``, in either order. Each is a fragment, a random string of letters and brackets, with a
group at the end where it joins. Behind ``>>`` stands the product: both fragments, and between them what a template makes of the
groups. Fragments can only be copied, so whoever fills a gap in one must find its copy on the other side.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnlib._core.checks import check_count, check_number
from attnlib.course.data import _brackets as brackets

PAD, MASK, BEGIN, END, DOT, ARROW = range(6)
"""Numbers of the tokens that are no part of a fragment or a group."""

LETTERS = "abcdefghijkl"

VOCABULARY = ("", "_", "^", "$", ".", ">>", "X", "M", "H", "O", "N", "=", "(", ")", *LETTERS)
"""Every token; its number is its place here. Number 0 fills up short strings, number 1 stands for a token that is hidden."""

FIRST_OF_FRAGMENTS = VOCABULARY.index("(")


@dataclass(frozen=True)
class Template:
    """Two groups that meet, and what takes their place: for each token of the link, which tokens of the groups it may be.

    Tokens of the groups are counted through both, the left one first.
    """

    left: str
    right: str
    link: str
    origins: tuple[tuple[int, ...], ...]


TEMPLATES = (
    Template("X", "M", "", ()),
    Template("X", "HN", "N", ((2,),)),
    Template("X", "HO", "O", ((2,),)),
    Template("OH", "HO", "O", ((0, 3),)),  # one of the two stays, and nobody can say which
    Template("=O", "HHN", "=N", ((0,), (4,))),
    Template("M", "M", "=", ((),)),  # a token that has not been there before
)


@dataclass(frozen=True)
class Joinings:
    """Strings as numbers of tokens, with the origin of each token of a product.

    Shapes: ``tokens [count, n]``, filled up with ``PAD``; ``keys [count, n, n]`` is True where the token of the product
    in the row is the token of the parts in the column. A row has one such place for a token of a fragment, and none, one or two
    for a token of a link. ``form [count]`` numbers template, order and lengths: see ``Language.forms``.
    """

    tokens: Int[Tensor, "count n"]
    keys: Bool[Tensor, "count n n"]
    form: Int[Tensor, "count"]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def real(self) -> Bool[Tensor, "count n"]:
        """What is not filling."""
        return self.tokens != PAD

    @property
    def right_keys(self) -> Int[Tensor, "count n"]:
        """The place that each token of a product comes from, -1 where there is none or where it may be one of two."""
        return torch.where(self.keys.sum(-1) == 1, self.keys.int().argmax(-1), -1)

    def tell(self, index: int = 0) -> str:
        """Write out one string.

        Raises:
            ValueError: an index that is not one of a string.
        """
        if not 0 <= index < len(self):
            raise ValueError(f"index is {index}; expected 0 <= index < {len(self)}")
        return written(self.tokens[index])


def written(tokens: Int[Tensor, "n"]) -> str:
    """Tokens as they are written, with spaces around the dot and the arrow; begin, end and filling are left out."""
    spaced = {DOT: " . ", ARROW: " >> "}
    return "".join(
        spaced[token] if token in spaced else VOCABULARY[token] for token in tokens.tolist() if token not in (PAD, BEGIN, END)
    )


@dataclass(frozen=True)
class Language:
    """The joinings with so many letters and fragments of such lengths; everything that is drawn is drawn independently.

    Template and order are even, the lengths of both fragments even from ``shortest`` to ``longest``. A fragment of a length is
    a string with balanced brackets, with a chance proportional to ``pair`` to the power of their pairs. No pair holds nothing,
    and no more than two are open at once.

    Args:
        letters: how many of a to l are used.
        shortest, longest: tokens of a fragment.
        pair: the weight of a pair of brackets; two letters weigh ``letters ** 2``.

    Raises:
        ValueError: numbers out of range.

    >>> joinings = Language().draw(3, generator=torch.Generator().manual_seed(0))
    >>> for index in range(3):
    ...     print(joinings.tell(index))
    fgiidbX . HNhig >> fgiidbNhig
    d(e)jjOH . HOkfeebk >> d(e)jjOkfeebk
    HNaddb . bjlfX >> bjlfNaddb
    """

    letters: int = len(LETTERS)
    shortest: int = 3
    longest: int = 6
    pair: float | int = 24

    def __post_init__(self) -> None:
        if check_count("letters", self.letters) > len(LETTERS):
            raise ValueError(f"letters is {self.letters}; expected at most {len(LETTERS)}")
        check_count("longest", self.longest, least=check_count("shortest", self.shortest))
        check_number("pair", self.pair, above=0)

    @cached_property
    def forms(self) -> tuple[tuple[Template, bool, int, int], ...]:
        """Every template, order (True where the right part stands first) and pair of lengths, left and right."""
        lengths = range(self.shortest, self.longest + 1)
        return tuple(product(TEMPLATES, (False, True), lengths, lengths))

    @cached_property
    def width(self) -> int:
        """Tokens of the longest string."""
        return max(len(self.layout(*form)) for form in self.forms)

    @property
    def size(self) -> int:
        """How many numbers of tokens there are."""
        return len(VOCABULARY) - len(LETTERS) + self.letters

    def layout(self, template: Template, swapped: bool, left: int, right: int) -> list[int]:
        """What stands where in a string of a form: the number of a token, or ``-1 - k`` for token k of the fragments.

        The left fragment has the first ``longest`` of these numbers, the right one the others.
        """
        fragments = [[-1 - k for k in range(left)], [-1 - self.longest - k for k in range(right)]]
        groups = [[VOCABULARY.index(token) for token in group] for group in (template.left, template.right)]
        parts = [fragments[0] + groups[0], groups[1] + fragments[1]]
        first, second = reversed(parts) if swapped else parts
        link = [VOCABULARY.index(token) for token in template.link]
        return [BEGIN, *first, DOT, *second, ARROW, *fragments[0], *link, *fragments[1], END]

    @cached_property
    def _layouts(self) -> Int[Tensor, "forms n"]:
        rows = [self.layout(*form) for form in self.forms]
        return torch.tensor([row + [PAD] * (self.width - len(row)) for row in rows])

    @cached_property
    def _keys(self) -> Bool[Tensor, "forms n n"]:
        keys = torch.zeros(len(self.forms), self.width, self.width, dtype=torch.bool)
        for index, (template, swapped, left, right) in enumerate(self.forms):
            row = self.layout(template, swapped, left, right)
            arrow, groups = row.index(ARROW), len(template.left) + len(template.right)
            for place in range(arrow + 1, len(row) - 1):
                if row[place] < 0:
                    keys[index, place, row.index(row[place])] = True
            if swapped:  # the right group opens the string, the left one ends before the arrow
                places = [*range(arrow - len(template.left), arrow), *range(1, 1 + len(template.right))]
            else:
                places = list(range(1 + left, 2 + left + groups))
                places.remove(row.index(DOT))
            for token, origins in enumerate(template.origins):
                for origin in origins:
                    keys[index, arrow + 1 + left + token, places[origin]] = True
        return keys

    def draw(self, count: int, *, generator: torch.Generator | None = None) -> Joinings:
        """Draw strings, independent of each other, each filled up to ``width``.

        Raises:
            ValueError: a count that is not an integer of at least 1.
        """
        form = torch.randint(len(self.forms), (check_count("count", count),), generator=generator)
        lengths = torch.tensor([sizes for *_, left, right in self.forms for sizes in [(left, right)]])[form]
        kinds = brackets.draw_kinds(lengths.flatten(), self.letters, self.pair, self.longest, generator)
        letter = torch.randint(self.letters, kinds.shape, generator=generator)
        drawn = torch.where(kinds == brackets.LETTER, FIRST_OF_FRAGMENTS + 2 + letter, FIRST_OF_FRAGMENTS + kinds - 1)
        layout = self._layouts[form]
        copied = drawn.view(count, -1).gather(-1, (-1 - layout).clamp(min=0))
        return Joinings(torch.where(layout < 0, copied, layout), self._keys[form], form)


def hide(
    tokens: Int[Tensor, "count n"], share: float | int, *, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "count n"], Bool[Tensor, "count n"]]:
    """Hide each token with the same chance, all but begin, end and filling: what is left to see, and what is hidden.

    Hidden tokens become ``MASK``. Of one that stands on both sides the copy is hidden with that chance, too: then nothing
    but the letter's frequency is left.

    Raises:
        ValueError: a share that is not between 0 and 1.

    >>> drawn = Language().draw(1, generator=torch.Generator().manual_seed(0))
    >>> shown, hidden = hide(drawn.tokens, 0.3, generator=torch.Generator().manual_seed(0))
    >>> written(shown[0]), int(hidden.sum())
    ('(__d)bX . HNc___(af__bNccl', 7)
    """
    if check_number("share", share, least=0) > 1:
        raise ValueError(f"share is {share}; expected a number from 0 to 1")
    chance = torch.rand(tokens.shape, generator=generator, dtype=torch.float32)  # alike, whatever the default is
    hidden = (chance < share) & (tokens > END)
    return torch.where(hidden, MASK, tokens), hidden
