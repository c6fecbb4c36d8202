"""GPT-2 from the parts of the course: causal attention, norms before, a last norm, and the embedding as its own readout."""

from torch import nn

from attnlib.attention import SoftmaxAttention
from attnlib.transformer.block import Block
from attnlib.transformer.families import ACTIVATIONS, Family, Rebuilt, Source, linear
from attnlib.transformer.language import Embedding, LanguageModel
from attnlib.transformer.stack import Stack
from attnlib.transformer.tensors import Configuration


def rebuild(config: Configuration, stored: set[str]) -> Rebuilt:
    """GPT-2 as ``config.json`` describes it. Raises ValueError on what it asks for and the parts cannot do.

    Source: Radford et al. 2019.
    """
    config.choice("add_cross_attention", (False,), False)
    scaled = config.choice("scale_attn_weights", (True, False), True)
    by_depth = config.choice("scale_attn_by_inverse_layer_idx", (True, False), False)
    dim, heads, depth = config.count("n_embd"), config.count("n_head"), config.count("n_layer")
    words, epsilon = config.count("vocab_size"), config.number("layer_norm_epsilon", 1e-5)
    activation = ACTIVATIONS[config.choice("activation_function", ACTIVATIONS, "gelu_new")]
    tied = config.choice("tie_word_embeddings", (True, False), True)
    beta = (dim // heads) ** -0.5 if scaled else 1.0
    blocks = [
        Block(
            SoftmaxAttention(dim, heads=heads, causal=True, bias=True, beta=beta / (step + 1 if by_depth else 1)),
            feed_forward=config.count("n_inner", 4 * dim),
            activation=activation,
            epsilon=epsilon,
        )
        for step in range(depth)
    ]
    embed = Embedding(words, dim, places=config.count("n_positions", config.said.get("n_ctx")))
    readout = nn.Linear(dim, words, bias=False) if tied or "lm_head.weight" in stored else None
    if tied and readout is not None:
        readout.weight = embed.words.weight
    model = LanguageModel(embed, Stack(blocks, norm=True, epsilon=epsilon), readout)
    sources = {"embed.words.weight": Source("wte.weight"), "embed.places.weight": Source("wpe.weight")}
    for step in range(depth):
        ours, theirs = f"stack.blocks.{step}", f"h.{step}"
        for part, name in enumerate(("query", "key", "value")):
            sources |= linear(f"{ours}.mixer.to_{name}", f"{theirs}.attn.c_attn", turned=True, part=part, of=3)
        sources |= linear(f"{ours}.mixer.to_out", f"{theirs}.attn.c_proj", turned=True)
        sources |= linear(f"{ours}.mixer_norm", f"{theirs}.ln_1") | linear(f"{ours}.feed_forward_norm", f"{theirs}.ln_2")
        sources |= linear(f"{ours}.feed_forward.inner", f"{theirs}.mlp.c_fc", turned=True)
        sources |= linear(f"{ours}.feed_forward.outer", f"{theirs}.mlp.c_proj", turned=True)
    sources |= linear("stack.norm", "ln_f")
    if readout is not None and not tied:
        sources["readout.weight"] = Source("lm_head.weight")
    twins = {"lm_head.weight": "wte.weight"} if tied else {}
    return Rebuilt(model, sources, twins, r"h\.\d+\.attn\.(bias|masked_bias)|score\.weight|multiple_choice_head\..*")


GPT2 = Family("transformer.", rebuild)
