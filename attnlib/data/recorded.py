"""Results of the experiments that take too long for a page: the scripts lie in ``experiments/``, their files here."""

import json
from importlib.resources import files
from typing import Any

_FOLDER = files("attnlib.data") / "results"
"""Inside the package, so that a page finds them in Colab too."""


def recorded(name: str) -> dict[str, Any]:
    """Read what an experiment measured, with the command, the date, the seeds and the versions behind it.

    Takes the name of a script in ``experiments/``, such as ``"associative_capacity"``. Raises ValueError for another name.

    >>> found = recorded("associative_capacity")
    >>> found["title"], found["command"]
    ('Capacity and basins of associative memories, random patterns', 'python experiments/associative_capacity.py')
    """
    known = sorted(path.name.removesuffix(".json") for path in _FOLDER.iterdir() if path.name.endswith(".json"))
    if name not in known:
        raise ValueError(f"name is {name!r}; expected one of {', '.join(map(repr, known))}")
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found
