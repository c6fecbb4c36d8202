"""What lies at the end of a path into a record."""

from typing import Any


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    """What a dictionary or a list holds at the end of a path of keys and places. Raises ValueError where it leads nowhere."""
    for step in path:
        held: dict[Any, Any] = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        if step not in held:
            raise ValueError(f"path has {step!r}; expected one of {', '.join(map(repr, held)) or 'nothing more'}")
        value = held[step]
    return value
