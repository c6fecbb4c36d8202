"""What the committed records of page 7d's networks have in common."""

from types import ModuleType
from typing import Any

from attnlib.course.models.specimens import NETWORKS


def is_whole(record: dict[str, Any], script: ModuleType) -> None:
    """It is what the script asks for, of five seeds of each network, each once."""
    assert record["settings"] == script.SETTINGS
    assert not record["quick"]
    assert record["command"] == f"python experiments/{script.__name__}.py"
    places = sorted((run["network"], run["seed"]) for run in record["runs"])
    assert places == sorted((name, seed) for name in NETWORKS for seed in range(1, 6))
