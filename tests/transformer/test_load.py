"""Folders of saved transformers: the numbers of another implementation, recorded, and one sentence for what does not fit."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from helpers.draw import close
from safetensors.torch import load_file, save_file

from attnlib.transformer import LanguageModel, load

FOLDERS = Path(__file__).resolve().parent / "folders"
NAMES = ("gpt2", "gpt2-untied", "gpt2-bare", "bert", "bert-bare", "albert", "albert-bare")


def recorded(name):
    return load_file(FOLDERS / name / "recorded.safetensors")


def weights(model, tokens, mask=None):
    """What each head attends to at each step, ``[steps, *batch, heads, n, n]``, asked from the mixers themselves."""
    states, found = model.states(tokens, mask), []
    keys = None if mask is None else mask.unsqueeze(-2)
    for step in range(model.stack.steps):
        block = model.stack.blocks[0 if model.stack.tied else step]
        x = block.mixer_norm(states[step]) if block.norm == "before" else states[step]
        found.append(block.mixer.explain(x, mask=keys).weights)
    return torch.stack(found)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_the_implementation_that_was_recorded(name):
    said, model = recorded(name), load(FOLDERS / name, dtype=torch.float64)
    tokens, mask = said["tokens"], said["mask"]
    kept = mask[..., None]  # rows of padding are nobody's business
    close(weights(model, tokens, mask) * kept[:, None], said["attentions"] * kept[:, None])
    found = model.stack(model.embed(tokens), mask=mask[:, None])
    if "logits" in said:
        close(model(tokens, mask) * kept, said["logits"] * kept)
    else:
        close(found * kept, said["last"] * kept)
        assert (model.readout is None) == (name != "gpt2-bare")


def test_recorded_heads_differ_from_an_average():
    """Weights that were all alike would be the same in a wrong model."""
    for name in NAMES:
        spread = recorded(name)["attentions"].amax(-1)
        assert spread.quantile(0.5) > 0.3, name


@pytest.mark.parametrize("name", ["gpt2", "bert", "albert"])
def test_single_precision_is_the_default(name):
    said, model = recorded(name), load(FOLDERS / name)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert not model.training
    close(model(said["tokens"], said["mask"])[0].double(), said["logits"][0], atol=2e-4)


# Other files of the same


@pytest.fixture
def folder(tmp_path):
    """A copy of a folder, its configuration and tensors changed."""

    def make(name, change=lambda tensors: tensors, **settings):
        at = tmp_path / name
        shutil.copytree(FOLDERS / name, at, dirs_exist_ok=True)
        said = json.loads((at / "config.json").read_text()) | settings
        (at / "config.json").write_text(json.dumps({key: value for key, value in said.items() if value != "absent"}))
        tensors = load_file(at / "model.safetensors")
        changed = change(dict(tensors))
        save_file(changed if changed is not None else tensors, at / "model.safetensors")
        return at

    return make


def same(at, name):
    close(load(at, dtype=torch.float64)(recorded(name)["tokens"])[0], recorded(name)["logits"][0])


def split(at):
    """The tensors of a folder in two parts and an index; their names."""
    tensors = load_file(at / "model.safetensors")
    (at / "model.safetensors").unlink()
    names = sorted(tensors)
    return tensors, {"model-1-of-2": names[::2], "model-2-of-2": names[1::2]}


def test_safetensors_in_parts(folder):
    at = folder("gpt2")
    tensors, parts = split(at)
    for part, names in parts.items():
        save_file({name: tensors[name] for name in names}, at / f"{part}.safetensors")
    index = {name: f"{part}.safetensors" for part, names in parts.items() for name in names}
    (at / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    same(at, "gpt2")
    (at / "model-2-of-2.safetensors").unlink()
    with pytest.raises(ValueError, match=r"names 'model-2-of-2.safetensors', which is not in the folder"):
        load(at)


def test_files_of_torch_whole_and_in_parts(folder):
    at = folder("bert")
    tensors, parts = split(at)
    torch.save(tensors, at / "pytorch_model.bin")
    same(at, "bert")
    (at / "pytorch_model.bin").unlink()
    for part, names in parts.items():
        torch.save({name: tensors[name] for name in names}, at / f"{part}.bin")
    index = {name: f"{part}.bin" for part, names in parts.items() for name in names}
    (at / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": index}))
    same(at, "bert")


class Opens:
    """What a pickle could do: call something."""

    def __reduce__(self):
        return (pytest.fail, ("the pickle was executed",))


def test_nothing_in_a_file_of_torch_is_executed(folder):
    at = folder("bert")
    (at / "model.safetensors").unlink()
    torch.save({"bert.embeddings.word_embeddings.weight": Opens()}, at / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"pytorch_model.bin cannot be read as tensors only"):
        load(at)


def test_old_names_copies_and_constants_are_understood(folder):
    def old(tensors):
        renamed = {}
        for name, tensor in tensors.items():
            name = name.removeprefix("bert.")
            if "LayerNorm" in name:
                name = name.replace(".weight", ".gamma").replace(".bias", ".beta")
            renamed[name] = tensor
        renamed["cls.predictions.decoder.weight"] = renamed["embeddings.word_embeddings.weight"].clone()
        renamed["cls.predictions.decoder.bias"] = renamed["cls.predictions.bias"].clone()
        renamed["embeddings.position_ids"] = torch.arange(10)[None]
        return renamed

    same(folder("bert", old), "bert")

    def with_masks(tensors):
        return tensors | {f"transformer.h.{k}.attn.bias": torch.ones(1, 1, 10, 10) for k in (0, 1)}

    same(folder("gpt2", with_masks, n_inner="absent", activation_function="absent", n_ctx=10, n_positions="absent"), "gpt2")


def test_stored_in_half_precision(folder):
    at = folder("albert", lambda tensors: {name: tensor.half() for name, tensor in tensors.items()})
    close(load(at)(recorded("albert")["tokens"])[0].double(), recorded("albert")["logits"][0], atol=0.3)


def test_temperature_by_depth_is_read(folder):
    """The option divides the scores of each block by its number."""
    assert [block.mixer.beta for block in load(FOLDERS / "gpt2").stack.blocks] == [0.5, 0.5]
    model = load(folder("gpt2", scale_attn_by_inverse_layer_idx=True))
    assert [block.mixer.beta for block in model.stack.blocks] == [0.5, 0.25]


# What does not fit: one sentence


def without(name):
    return lambda tensors: {key: tensor for key, tensor in tensors.items() if key != name}


def changed(name, change):
    return lambda tensors: tensors | {name: change(tensors[name]).contiguous()}


WTE, CLS = "transformer.wte.weight", "cls.predictions.bias"
WRONG = {
    "family": ("gpt2", None, {"model_type": "llama"}, "model_type 'llama'; expected 'gpt2' or 'bert' or 'albert'"),
    "no family": ("gpt2", None, {"model_type": "absent"}, "model_type None; expected 'gpt2'"),
    "cross": ("gpt2", None, {"add_cross_attention": True}, "add_cross_attention True; expected False"),
    "activation": ("gpt2", None, {"activation_function": "mish"}, "activation_function 'mish'; expected 'gelu'"),
    "no width": ("gpt2", None, {"n_embd": "absent"}, "n_embd None; expected a positive integer"),
    "odd heads": ("gpt2", None, {"n_head": 3}, "heads is 3, which does not divide dim 8"),
    "epsilon": ("gpt2", None, {"layer_norm_epsilon": -1}, "layer_norm_epsilon -1; expected a number between 0 and 1"),
    "depth": ("gpt2", None, {"n_layer": 3}, r"h.2.attn.c_attn.weight is missing; expected a tensor for stack.blocks.2.mixer"),
    "shallow": ("gpt2", None, {"n_layer": 1}, r"h.1.attn.c_attn.bias, of shape \(24,\), has no place in the model"),
    "missing": ("gpt2", without(WTE), {}, "wte.weight is missing; expected a tensor for embed.words.weight"),
    "surplus": ("gpt2", lambda t: t | {"adapter.weight": torch.zeros(3)}, {}, r"adapter.weight, of shape \(3,\), has no place"),
    "shape": ("gpt2", changed(WTE, lambda t: t[:, :7]), {}, r"wte.weight is torch.float32 of shape \(17, 7\)"),
    "words": ("gpt2", None, {"vocab_size": 16}, r"wte.weight is torch.float32 of shape \(17, 8\); .* \(16, 8\)"),
    "whole": ("gpt2", changed(WTE, torch.Tensor.long), {}, "wte.weight is torch.int64"),
    "nan": ("gpt2", changed(WTE, lambda t: t / 0), {}, "wte.weight has numbers that are not finite"),
    "readout": (
        "gpt2",
        lambda t: t | {"lm_head.weight": t[WTE] + 1},
        {},
        "lm_head.weight differs from wte.weight; expected them to be equal",
    ),
    "places": ("bert", None, {"position_embedding_type": "relative_key"}, "position_embedding_type 'relative_key'"),
    "decoder": ("bert", None, {"is_decoder": True}, "is_decoder True; expected False"),
    "bend": ("bert", without("cls.predictions.transform.dense.bias"), {}, "cls.predictions.transform.dense.bias is missing"),
    "groups": ("albert", None, {"num_hidden_groups": 2}, "num_hidden_groups 2; expected 1"),
    "inner": ("albert", None, {"inner_group_num": 2}, "inner_group_num 2; expected 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_named(folder, case):
    name, change, settings, sentence = WRONG[case]
    with pytest.raises(ValueError, match=sentence):
        load(folder(name, change or (lambda tensors: tensors), **settings))


@pytest.mark.usefixtures("unchecked")
def test_folders_that_are_none(tmp_path, folder):
    for spoil, sentence in [
        (lambda at: (at / "config.json").unlink(), r"holds no config.json"),
        (lambda at: (at / "config.json").write_text("{"), r"config.json is no JSON"),
        (lambda at: (at / "config.json").write_text("[]"), r"config.json holds a list"),
        (lambda at: (at / "model.safetensors").unlink(), r"holds neither model.safetensors nor pytorch_model.bin"),
        (lambda at: (at / "model.safetensors").write_bytes(b"nothing"), r"model.safetensors cannot be read"),
    ]:
        at = folder("gpt2")
        spoil(at)
        with pytest.raises(ValueError, match=sentence):
            load(at)
        shutil.rmtree(at)
    for wrong, sentence in [(tmp_path / "no", "which is no folder"), (3, "folder is a int; expected a path")]:
        with pytest.raises(ValueError, match=sentence):
            load(wrong)
    with pytest.raises(ValueError, match=re.escape("dtype is torch.float16; expected torch.float32")):
        load(FOLDERS / "gpt2", dtype=torch.float16)


def test_a_model_without_a_readout_says_so():
    model = load(FOLDERS / "bert-bare")
    assert isinstance(model, LanguageModel)
    with pytest.raises(ValueError, match="readout is None; expected a model with a map back to tokens"):
        model(torch.tensor([[1, 2]]))
    with pytest.raises(ValueError, match="tokens has numbers from 1 to 17; expected 0 to 16"):
        model.states(torch.tensor([[1, 17]]))
    with pytest.raises(ValueError, match="tokens has 11 of them in a row; expected at most 10"):
        model.states(torch.zeros(1, 11, dtype=torch.long))


def test_the_folders_are_small():
    assert sum(path.stat().st_size for path in FOLDERS.rglob("*")) < 150_000
