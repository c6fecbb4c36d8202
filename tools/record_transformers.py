"""Write tiny random transformers of another implementation, and what it makes of them, for tests/transformer/test_load.py.

    python tools/record_transformers.py [FOLDER]

Runs in an environment of its own, with ``transformers``, ``safetensors`` and ``torch``: none of what it makes needs these
again but ``safetensors``. The models are made from configurations, with weights drawn from a seed; nothing is fetched.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent.parent / "tests" / "transformer" / "folders"
COMMON = {"vocab_size": 17, "attn_implementation": "eager"}
BERT = COMMON | {
    "hidden_size": 8,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 10,
    "type_vocab_size": 2,
}
GPT2 = COMMON | {"n_embd": 8, "n_head": 2, "n_layer": 2, "n_positions": 10}

MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", GPT2),
    "gpt2-untied": (
        "GPT2Config",
        "GPT2LMHeadModel",
        GPT2 | {"n_inner": 12, "activation_function": "relu", "tie_word_embeddings": False, "layer_norm_epsilon": 0.01},
    ),
    "gpt2-bare": ("GPT2Config", "GPT2Model", GPT2 | {"n_layer": 1, "scale_attn_weights": False}),
    "bert": ("BertConfig", "BertForPreTraining", BERT | {"num_hidden_layers": 2}),
    "bert-bare": ("BertConfig", "BertModel", BERT | {"num_hidden_layers": 1, "hidden_act": "gelu_new"}),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", BERT | {"num_hidden_layers": 3, "embedding_size": 6}),
    "albert-bare": ("AlbertConfig", "AlbertModel", BERT | {"num_hidden_layers": 2, "embedding_size": 5}),
}
"""A folder, its configuration and its model, and what is set in the configuration."""


def draw(model: torch.nn.Module, generator: torch.Generator) -> None:
    """Weights so large that every part matters: fresh ones have heads that attend to all alike."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            norm = "norm" in name.lower() or ".ln_" in name
            parameter.copy_(1 + drawn / 4 if norm and name.endswith("weight") else drawn / 2)


def record(name: str, at: Path) -> None:
    """One folder: config.json, model.safetensors, recorded.safetensors."""
    transformers, safetensors = importlib.import_module("transformers"), importlib.import_module("safetensors.torch")
    configuration, kind, settings = MODELS[name]
    generator = torch.Generator().manual_seed(sum(map(ord, name)))
    model = getattr(transformers, kind)(getattr(transformers, configuration)(**settings)).eval()
    draw(model, generator)
    model.save_pretrained(at, safe_serialization=True)
    for extra in set(at.iterdir()) - {at / "config.json", at / "model.safetensors"}:
        extra.unlink()
    tokens = torch.randint(settings["vocab_size"], (2, 7), generator=generator)
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    with torch.no_grad():
        said = model.double()(tokens, attention_mask=mask, output_attentions=True, output_hidden_states=True)
    logits = said.get("logits", said.get("prediction_logits"))
    found = {"tokens": tokens, "mask": mask.bool(), "attentions": torch.stack(said.attentions)}
    found |= {"last": said.hidden_states[-1]} if logits is None else {"logits": logits}
    safetensors.save_file({key: tensor.contiguous() for key, tensor in found.items()}, at / "recorded.safetensors")


def main(where: Path) -> None:
    for name in MODELS:
        (where / name).mkdir(parents=True, exist_ok=True)
        record(name, where / name)
    transformers = importlib.import_module("transformers")
    made = {"transformers": transformers.__version__, "torch": torch.__version__.partition("+")[0]}
    (where / "made_with.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
