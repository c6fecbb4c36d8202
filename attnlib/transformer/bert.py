"""BERT and ALBERT from the parts of the course: attention in both directions, norms after, blocks of their own or one tied."""

from torch import nn

from attnlib.attention import SoftmaxAttention
from attnlib.transformer.block import Block
from attnlib.transformer.families import ACTIVATIONS, BENDS, Family, Rebuilt, Source, linear
from attnlib.transformer.feed_forward import Activation
from attnlib.transformer.language import Embedding, LanguageModel
from attnlib.transformer.stack import Stack
from attnlib.transformer.tensors import Configuration

ENDINGS = ((".gamma", ".weight"), (".beta", ".bias"))
"""Names of the norms' parameters in old files."""


def rebuild_bert(config: Configuration, stored: set[str]) -> Rebuilt:
    """BERT as ``config.json`` describes it. Raises ValueError on what it asks for and the parts cannot do.

    Source: Devlin et al. 2019.
    """
    depth, dim = config.count("num_hidden_layers"), config.count("hidden_size")
    stack = Stack([_block(config, "gelu") for _ in range(depth)])
    sources: dict[str, Source] = {}
    for step in range(depth):
        ours, theirs = f"stack.blocks.{step}", f"encoder.layer.{step}"
        for name in ("query", "key", "value"):
            sources |= linear(f"{ours}.mixer.to_{name}", f"{theirs}.attention.self.{name}")
        sources |= linear(f"{ours}.mixer.to_out", f"{theirs}.attention.output.dense")
        sources |= linear(f"{ours}.mixer_norm", f"{theirs}.attention.output.LayerNorm")
        sources |= linear(f"{ours}.feed_forward.inner", f"{theirs}.intermediate.dense")
        sources |= linear(f"{ours}.feed_forward.outer", f"{theirs}.output.dense")
        sources |= linear(f"{ours}.feed_forward_norm", f"{theirs}.output.LayerNorm")
    head = {"0": "cls.predictions.transform.dense", "2": "cls.predictions.transform.LayerNorm", "3": "cls.predictions"}
    ignored = r"pooler\..*|cls\.seq_relationship\..*|classifier\..*|qa_outputs\..*|embeddings\.(position_ids|token_type_ids)"
    return _with_ends(config, stack, sources, head, ignored, stored, dim, "gelu")


def rebuild_albert(config: Configuration, stored: set[str]) -> Rebuilt:
    """ALBERT as ``config.json`` describes it: one block, tied. Raises ValueError on what the parts cannot do.

    Source: Lan et al. 2020.
    """
    config.choice("num_hidden_groups", (1,), 1)
    config.choice("inner_group_num", (1,), 1)
    stack = Stack(_block(config, "gelu_new"), steps=config.count("num_hidden_layers"))
    ours, theirs = "stack.blocks.0", "encoder.albert_layer_groups.0.albert_layers.0"
    sources: dict[str, Source] = {}
    for name in ("query", "key", "value"):
        sources |= linear(f"{ours}.mixer.to_{name}", f"{theirs}.attention.{name}")
    sources |= linear(f"{ours}.mixer.to_out", f"{theirs}.attention.dense")
    sources |= linear(f"{ours}.mixer_norm", f"{theirs}.attention.LayerNorm")
    sources |= linear(f"{ours}.feed_forward.inner", f"{theirs}.ffn") | linear(
        f"{ours}.feed_forward.outer", f"{theirs}.ffn_output"
    )
    sources |= linear(f"{ours}.feed_forward_norm", f"{theirs}.full_layer_layer_norm")
    sources |= linear("embed.widen", "encoder.embedding_hidden_mapping_in")
    head = {"0": "predictions.dense", "2": "predictions.LayerNorm", "3": "predictions"}
    ignored = r"pooler\..*|sop_classifier\..*|classifier\..*|qa_outputs\..*|embeddings\.(position_ids|token_type_ids)"
    return _with_ends(config, stack, sources, head, ignored, stored, config.count("embedding_size", 128), "gelu_new")


def _block(config: Configuration, activation: str) -> Block:
    config.choice("position_embedding_type", ("absolute",), "absolute")
    config.choice("is_decoder", (False,), False)
    config.choice("add_cross_attention", (False,), False)
    return Block(
        SoftmaxAttention(config.count("hidden_size"), heads=config.count("num_attention_heads"), bias=True),
        norm="after",
        feed_forward=config.count("intermediate_size"),
        activation=_activation(config, activation),
        epsilon=config.number("layer_norm_eps", 1e-12),
    )


def _activation(config: Configuration, default: str) -> Activation:
    return ACTIVATIONS[config.choice("hidden_act", ACTIVATIONS, default)]


def _with_ends(
    config: Configuration,
    stack: Stack,
    sources: dict[str, Source],
    head: dict[str, str],
    ignored: str,
    stored: set[str],
    width: int,
    activation: str,
) -> Rebuilt:
    """The embedding, and the readout of masked words where the folder has one; ``width`` is that of the words' vectors."""
    words, epsilon, dim = config.count("vocab_size"), config.number("layer_norm_eps", 1e-12), config.count("hidden_size")
    widened = dim if "embed.widen.weight" in sources else None
    places = config.count("max_position_embeddings")
    embed = Embedding(words, width, places=places, kind=True, norm=True, widened=widened, epsilon=epsilon)
    sources |= linear("embed.norm", "embeddings.LayerNorm") | {
        "embed.words.weight": Source("embeddings.word_embeddings.weight"),
        "embed.places.weight": Source("embeddings.position_embeddings.weight"),
        "embed.kind": Source("embeddings.token_type_embeddings.weight", row=0),
    }
    bias, decoder = f"{head['3']}.bias", f"{head['3']}.decoder"
    twins = {}
    readout = None
    if bias in stored or f"{decoder}.bias" in stored:
        tied = config.choice("tie_word_embeddings", (True, False), True)
        bend = BENDS[_activation(config, activation)]()
        readout = nn.Sequential(nn.Linear(dim, width), bend, nn.LayerNorm(width, epsilon), nn.Linear(width, words))
        sources |= linear("readout.0", head["0"]) | linear("readout.2", head["2"])
        kept, twin = (bias, f"{decoder}.bias") if bias in stored else (f"{decoder}.bias", bias)
        sources["readout.3.bias"], twins[twin] = Source(kept), kept
        if tied:
            readout[3].weight = embed.words.weight
            twins[f"{decoder}.weight"] = "embeddings.word_embeddings.weight"
        else:
            sources["readout.3.weight"] = Source(f"{decoder}.weight")
    return Rebuilt(LanguageModel(embed, stack, readout), sources, twins, ignored)


BERT, ALBERT = Family("bert.", rebuild_bert, ENDINGS), Family("albert.", rebuild_albert, ENDINGS)
