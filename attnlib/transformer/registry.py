"""The contestants: every mixer under one name, made in one way, with what physics says of each; your own joins in one line."""

import html
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar, overload

from torch import nn

from attnlib._core.checks import check_count

Make = TypeVar("Make", bound=Callable[..., nn.Module])


@dataclass(frozen=True)
class Contestant:
    """A mixer that :func:`mixer` can make, and what there is to say about it.

    ``name`` and ``make``, the class or function that makes it from ``dim`` and settings by name; ``moves``, which quantity a
    call moves; ``couples``, what couples a token to another; ``couplings``, where the couplings come from; ``exact``, what
    about its result is exact.

    >>> registered()["pool"].couplings
    'none'
    """

    name: str
    make: Callable[..., nn.Module]
    moves: str = ""
    couples: str = ""
    couplings: str = ""
    exact: str = ""

    @property
    def takes(self) -> tuple[str, ...]:
        """The settings that it takes by name, apart from ``dim``."""
        return tuple(name for name, kind in _parameters(self.make).items() if kind.kind is not kind.VAR_KEYWORD)


HEAD = ("name", "who moves", "what couples", "where couplings come from", "what is exact")


@dataclass(frozen=True)
class Contestants:
    """What is registered, in the order in which it was: a table that can be printed, walked through and asked by name.

    ``rows`` are ``(name, moves, couples, couplings, exact)``.

    >>> table = registered()
    >>> "softmax" in table, table["softmax"].name, len(table) == len(table.rows)
    (True, 'softmax', True)
    """

    entries: tuple[Contestant, ...]

    @property
    def rows(self) -> tuple[tuple[str, str, str, str, str], ...]:
        """A row for each, with name, who moves, what couples, where the couplings come from, what is exact."""
        return tuple((e.name, e.moves, e.couples, e.couplings, e.exact) for e in self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(entry.name for entry in self.entries)

    def __iter__(self) -> Iterator[Contestant]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Contestant:
        return _found(name, {entry.name: entry for entry in self.entries})

    def _repr_html_(self) -> str:
        """The table, for a notebook."""

        def line(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "\n".join(line(row, "td") for row in self.rows)
        return f'<table class="table">\n<thead>{line(HEAD, "th")}</thead>\n<tbody>\n{body}\n</tbody>\n</table>'

    def __repr__(self) -> str:
        table = (HEAD, *self.rows)
        widths = [max(len(row[column]) for row in table) for column in range(len(HEAD))]
        return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in table)


_entries: dict[str, Contestant] = {}
_ours: set[str] = set()


@overload
def register(
    name: str, make: Make, *, moves: str = ..., couples: str = ..., couplings: str = ..., exact: str = ...
) -> Make: ...
@overload
def register(
    name: str, make: None = None, *, moves: str = ..., couples: str = ..., couplings: str = ..., exact: str = ...
) -> Callable[[Make], Make]: ...
def register(
    name: str, make: Make | None = None, *, moves: str = "", couples: str = "", couplings: str = "", exact: str = ""
) -> Make | Callable[[Make], Make]:
    """Give a mixer a name, by a call or as a decorator; a name of your own that is given again means the new one.

    Args:
        name: how :func:`mixer` finds it.
        make: a class or function that makes a module from ``dim`` and settings by name. Without it, what comes back is a
            decorator. It may take ``tokens`` and ``heads``; where it takes neither it gets neither.
        moves, couples, couplings, exact: what the table says of it; see :class:`Contestant`.

    Returns:
        ``make``, as it was.

    Raises:
        ValueError: a name that is empty or one of attnlib's own, something that cannot be called, a description that is not
            text.

    >>> @register("silence", couplings="none", exact="all of it")
    ... class Silence(nn.Module):
    ...     def __init__(self, dim):
    ...         super().__init__()
    ...     def forward(self, x, context=None, mask=None):
    ...         return 0 * x
    >>> mixer("silence", 8)
    Silence()
    """
    said = {"moves": moves, "couples": couples, "couplings": couplings, "exact": exact}
    for key, text in {"name": name, **said}.items():
        if not isinstance(text, str) or (key == "name" and not text.strip()):
            raise ValueError(f"{key} is {text!r:.40}; expected text")
    if name in _ours:
        raise ValueError(f"name is {name!r}, one of attnlib's own; expected another")
    if make is not None and not callable(make):
        raise ValueError(f"make is {make!r:.60}; expected a class or a function that makes a module")

    def join(made: Make) -> Make:
        _entries[name] = Contestant(name, made, **said)
        return made

    return join if make is None else join(make)


def mixer(name: str, dim: int, *, tokens: int | None = None, heads: int | None = None, **own: object) -> nn.Module:
    """Make a registered mixer.

    Args:
        name: one of :func:`registered`.
        dim: width of the tokens.
        tokens: the largest number of tokens, for mixers whose couplings belong to places; the others do not get it.
        heads: number of heads; default the mixer's own; a mixer without heads does not get it.
        own: settings of its own, such as ``causal=True``.

    Returns:
        The module. One that has no attribute ``dim`` gets it, so that a :class:`Block` knows its width.

    Raises:
        ValueError: an unknown name, and which there are; a setting that the mixer does not take; no ``tokens`` where they are
            needed; something else than a module; and what the mixer raises.

    >>> mixer("softmax", 8, tokens=5, heads=2, causal=True).heads
    2
    """
    entry, dim = _found(name, _entries), check_count("dim", dim)
    taken = _parameters(entry.make)
    free = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
    for key in own:
        if key not in taken and not free:
            raise ValueError(f"{key} is no setting of {name!r}; expected one of {', '.join(entry.takes) or 'none'}")
    offered = {"tokens": tokens, "heads": heads}
    given = {key: check_count(key, count) for key, count in offered.items() if count is not None}
    if tokens is None and "tokens" in taken and taken["tokens"].default is inspect.Parameter.empty:
        raise ValueError(f"tokens is None; expected the largest number of tokens, since couplings of {name!r} belong to places")
    made = entry.make(dim, **{key: count for key, count in given.items() if key in taken}, **own)
    if not isinstance(made, nn.Module):
        raise ValueError(f"{name!r} made a {type(made).__name__}; expected a torch.nn.Module")
    if not hasattr(made, "dim"):
        made.dim = dim  # type: ignore[assignment]
    return made


def keep() -> None:
    """From here on the names that are registered are attnlib's own, and nobody else's. No shapes, no errors."""
    _ours.update(_entries)


def registered() -> Contestants:
    """What :func:`mixer` can make: a table of who moves, what couples, where couplings come from, what is exact.

    No shapes, no errors: those of a wrong name are raised where it is asked for.

    >>> registered().names[:4]
    ('identity', 'pool', 'linear', 'places')
    """
    return Contestants(tuple(_entries.values()))


def _found(name: str, entries: Mapping[str, Contestant]) -> Contestant:
    if not isinstance(name, str) or name not in entries:
        near = get_close_matches(name, entries, 1) if isinstance(name, str) else []
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"name is {name!r:.40}; expected one of {', '.join(entries)}{hint}")
    return entries[name]


def _parameters(make: Callable[..., nn.Module]) -> dict[str, inspect.Parameter]:
    """The parameters of a maker, without the first, which is the width."""
    return dict(list(inspect.signature(make).parameters.items())[1:])
