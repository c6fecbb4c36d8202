"""Folders in which people keep transformers: what their configuration says, and their tensors."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnlib._core.extras import extra

WHOLE, PARTS = "model.safetensors", "model.safetensors.index.json"
PICKLED, PICKLED_PARTS = "pytorch_model.bin", "pytorch_model.bin.index.json"


class Configuration:
    """What ``config.json`` says, read option by option: every complaint names the option."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "config.json"
        if not self.path.is_file():
            raise ValueError(f"folder is {folder}, which holds no config.json; expected the folder of a saved transformer")
        self.said = _json(self.path)

    def count(self, name: str, default: int | None = None) -> int:
        """A positive integer; without a default it must be stated."""
        found = self.said.get(name)
        found = default if found is None else found
        if isinstance(found, bool) or not isinstance(found, int) or found < 1:
            raise ValueError(f"config.json has {name} {found!r}; expected a positive integer")
        return found

    def number(self, name: str, default: float) -> float:
        """A positive number."""
        found = self.said.get(name, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < 1:
            raise ValueError(f"config.json has {name} {found!r}; expected a number between 0 and 1")
        return float(found)

    def choice(self, name: str, allowed: Iterable[Any], default: Any) -> Any:
        """One of what is allowed."""
        found, known = self.said.get(name, default), list(allowed)
        if not any(type(found) is type(one) and found == one for one in known):
            known = [repr(one) for one in known]
            raise ValueError(f"config.json has {name} {found!r}; expected {' or '.join(known)}: attnlib rebuilds nothing else")
        return found


def stored(folder: Path) -> dict[str, Tensor]:
    """All tensors of a folder, by name: from safetensors where they are there, else from torch's own files.

    Raises:
        ValueError: no file of tensors, one that cannot be read, or one that holds something else.
        ModuleNotFoundError: safetensors is missing.
    """
    for index, one, read in ((PARTS, WHOLE, _safe), (PICKLED_PARTS, PICKLED, _pickled)):
        if (folder / one).is_file():
            return read(folder / one)
        if (folder / index).is_file():
            names = _json(folder / index).get("weight_map")
            if not isinstance(names, dict):
                raise ValueError(f"{index} has no weight_map; expected the file of each tensor")
            found: dict[str, Tensor] = {}
            for part in sorted(set(names.values())):
                if Path(part).name != part or not (folder / part).is_file():
                    raise ValueError(f"{index} names {part!r}, which is not in the folder; expected every part beside it")
                found |= read(folder / part)
            return found
    raise ValueError(f"folder is {folder}, which holds neither {WHOLE} nor {PICKLED}; expected one of them, or their parts")


def _safe(path: Path) -> dict[str, Tensor]:
    with extra("attnlib.transformer.load"):
        import safetensors
        from safetensors.torch import load_file
    try:
        found: dict[str, Tensor] = load_file(path)
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path.name} cannot be read: {error}; expected a file of safetensors") from error
    return found


def _pickled(path: Path) -> dict[str, Tensor]:
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # what torch raises depends on what is wrong, and on its version
        sentence = f"{path.name} cannot be read as tensors only; expected what torch.save makes of a state_dict"
        raise ValueError(sentence) from error
    if not isinstance(found, dict) or not all(isinstance(tensor, Tensor) for tensor in found.values()):
        raise ValueError(f"{path.name} holds {type(found).__name__}; expected a state_dict, tensors by name")
    return dict(found)


def _json(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is no JSON: {error}") from error
    if not isinstance(said, dict):
        raise ValueError(f"{path.name} holds a {type(said).__name__}; expected an object, names and values")
    return said
