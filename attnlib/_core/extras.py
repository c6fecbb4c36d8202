"""What attnlib says when a package of its extra ``attnlib[book]`` is missing."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(what: str) -> Iterator[None]:
    """Around the imports of a package of the extra: where it is missing, the error says what needs it and how to get it.

    Raises ModuleNotFoundError.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        sentence = f'{what} needs {missing}, which is missing; install it with: pip install "attnlib[book]"'
        raise ModuleNotFoundError(sentence, name=error.name) from error
