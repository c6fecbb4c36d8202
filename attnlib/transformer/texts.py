"""Tokens for a saved transformer, from a text or from a file of numbers; and masked tokens to guess."""

import importlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

ASKED = "give the numbers of the tokens themselves, with --tokens FILE"


@dataclass(frozen=True)
class Text:
    """Numbers of tokens ``[n]``, and that of the token that hides another; None where there is none."""

    tokens: Tensor
    hides: int | None = None


def read_text(folder: Path, text: str) -> Text:
    """Cut a text into the tokens of a folder, by its tokenizer's files and the package tokenizers.

    Raises:
        ValueError: the package is missing, or the folder has none of these files: ``tokenizer.json``; ``vocab.txt`` (word
            pieces); ``vocab.json`` and ``merges.txt`` (pairs of bytes). Also a text without a token.
    """
    if importlib.util.find_spec("tokenizers") is None:
        raise ValueError(f'to read a text takes the package tokenizers: pip install "tokenizers>=0.15"; or {ASKED}')
    cutter = _cutter(folder, importlib.import_module("tokenizers"))  # used where it is there, and never asked for
    numbers = cutter.encode(text).ids
    if not numbers:
        raise ValueError("the text has no token; expected some")
    return Text(torch.tensor(numbers, device="cpu"), cutter.token_to_id("[MASK]"))


def _cutter(folder: Path, tokenizers: Any) -> Any:
    """The tokenizer of a folder."""
    if (folder / "tokenizer.json").is_file():
        return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    if (folder / "vocab.txt").is_file():
        stated = folder / "tokenizer_config.json"
        said = json.loads(stated.read_text(encoding="utf-8")) if stated.is_file() else {}
        lower = bool(said.get("do_lower_case", True))
        return tokenizers.BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=lower)
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        return tokenizers.ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    names = "tokenizer.json, vocab.txt, or vocab.json with merges.txt"
    raise ValueError(f"{folder} has no file of a tokenizer ({names}); {ASKED}")


def read_numbers(text: str) -> Text:
    """Whole numbers with spaces, commas or lines between them. Raises ValueError on anything else."""
    parts = text.replace(",", " ").replace("[", " ").replace("]", " ").split()
    if not parts or not all(part.isdigit() for part in parts):
        strange = next((part for part in parts if not part.isdigit()), "nothing")
        raise ValueError(f"the file of tokens has {strange!r}; expected whole numbers from 0 on")
    return Text(torch.tensor([int(part) for part in parts], device="cpu"))


def hidden(tokens: Tensor, hides: int, share: float, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Tokens of which a share is hidden behind one token, and what they were, -100 elsewhere; the first and last stay.

    At least one is hidden where there are three or more.
    """
    inner = tokens.shape[-1] - 2
    count = min(max(1, round(share * inner)), max(inner, 0))
    generator = torch.Generator("cpu").manual_seed(seed)
    chosen = 1 + torch.randperm(max(inner, 0), generator=generator, device="cpu")[:count]
    shown, targets = tokens.clone(), torch.full_like(tokens, -100)
    targets[..., chosen] = tokens[..., chosen]
    shown[..., chosen] = hides
    return shown, targets
