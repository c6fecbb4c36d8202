"""A saved transformer, rebuilt from the parts of the course: GPT-2, BERT, ALBERT."""

import os
import re
from pathlib import Path

import torch
from torch import Tensor

from attnlib._core.checks import check_dtype
from attnlib.transformer.bert import ALBERT, BERT
from attnlib.transformer.families import Family, Rebuilt
from attnlib.transformer.gpt2 import GPT2
from attnlib.transformer.language import LanguageModel
from attnlib.transformer.tensors import Configuration, stored

FAMILIES: dict[str, Family] = {"gpt2": GPT2, "bert": BERT, "albert": ALBERT}


def load(folder: str | os.PathLike[str], *, dtype: torch.dtype | None = None) -> LanguageModel:
    r"""Rebuild a transformer that someone saved: GPT-2, BERT or ALBERT, from a folder with its configuration and its tensors.

    What is read is ``config.json`` and ``model.safetensors`` (which needs the package safetensors), else ``pytorch_model.bin``
    (as tensors only: nothing in it is executed), each whole or in parts with an index. The model is one of this package's
    blocks, :class:`Stack` and :class:`LanguageModel`: GPT-2 with a last norm and its embedding as readout; BERT with blocks of
    their own and ALBERT with one that is tied, both with the readout of masked words where the folder has it, else with
    ``readout`` None. It is in ``eval`` mode and has no dropout. All tokens are of the first kind (the first sentence).

    Left out are the pooler and the heads of other tasks (next sentence, sentence order, labels, questions): they read the last
    state and change nothing in it. Everything else must fit, tensor by tensor.

    Args:
        folder: where the files are.
        dtype: of the parameters, ``torch.float32`` or ``torch.float64``; default torch's own, whatever they are stored as.

    Raises:
        ValueError: a folder without these files, a family or an option that is not rebuilt here, a tensor that is missing, of
            another shape, not finite, or that no part of the model asks for; each named.
        ModuleNotFoundError: the files are safetensors and the package is missing.

    Source: the numbers are those of the ``transformers`` package of Wolf et al. 2020, to 1e-10, which a test compares.

    >>> load("there/is/no/such/folder")
    Traceback (most recent call last):
    ...
    ValueError: folder is there/is/no/such/folder, which is no folder; expected that of a saved transformer
    """
    if not isinstance(folder, str | os.PathLike):
        raise ValueError(f"folder is a {type(folder).__name__}; expected a path")
    check_dtype(dtype)
    if dtype is not None and dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype is {dtype}; expected torch.float32, torch.float64 or None")
    place = Path(folder)
    if not place.is_dir():
        raise ValueError(f"folder is {place}, which is no folder; expected that of a saved transformer")
    config = Configuration(place)
    family = FAMILIES[config.choice("model_type", FAMILIES, None)]
    tensors = {_plain(name, family): tensor for name, tensor in stored(place).items()}
    rebuilt = family.rebuild(config, set(tensors))
    _fill(rebuilt, tensors)
    model = rebuilt.model
    return model.to(torch.get_default_dtype() if dtype is None else dtype).eval()


def _plain(name: str, family: Family) -> str:
    """The name of a tensor without the family's prefix, and with the endings that are usual today."""
    name = name.removeprefix(family.prefix)
    for old, new in family.endings:
        name = name.removesuffix(old) + new if name.endswith(old) else name
    return name


def _fill(rebuilt: Rebuilt, tensors: dict[str, Tensor]) -> None:
    """Put the tensors where they belong; raise where one is missing, does not fit, or belongs nowhere."""
    asked = {source.name for source in rebuilt.sources.values()}
    for name, tensor in tensors.items():
        twin = rebuilt.twins.get(name)
        if twin is not None and (twin not in tensors or not torch.equal(tensor, tensors[twin])):
            raise ValueError(f"{name} differs from {twin}; expected them to be equal, as config.json ties them")
        if twin is None and name not in asked and not re.fullmatch(rebuilt.ignored, name):
            raise ValueError(f"{name}, of shape {tuple(tensor.shape)}, has no place in the model that config.json describes")
    with torch.no_grad():
        for name, parameter in rebuilt.model.named_parameters():
            source = rebuilt.sources[name]
            if source.name not in tensors:
                raise ValueError(f"{source.name} is missing; expected a tensor for {name}, {tuple(parameter.shape)}")
            given = tensors[source.name]
            found = source.read(given)
            if found.shape != parameter.shape or not given.is_floating_point():
                raise ValueError(
                    f"{source.name} is {given.dtype} of shape {tuple(given.shape)}; expected floating point numbers that "
                    f"make {name}, {tuple(parameter.shape)}"
                )
            if not torch.isfinite(found).all():
                raise ValueError(f"{source.name} has numbers that are not finite; expected a network that was trained well")
            parameter.copy_(found)
