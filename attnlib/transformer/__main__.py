"""Examine a saved transformer: ``python -m attnlib.transformer examine FOLDER --text FILE``, one page with pictures."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from attnlib.transformer.examine import examine
from attnlib.transformer.language import LanguageModel
from attnlib.transformer.load import load
from attnlib.transformer.run import is_causal
from attnlib.transformer.texts import Text, hidden, read_numbers, read_text


def parser() -> argparse.ArgumentParser:
    """What the command understands."""
    made = argparse.ArgumentParser(prog="python -m attnlib.transformer", description="Instruments for a saved transformer.")
    command = made.add_subparsers(dest="command", required=True).add_parser(
        "examine",
        help="put a GPT-2, BERT or ALBERT under every instrument",
        description="Reads config.json with model.safetensors or pytorch_model.bin, and writes one page with pictures.",
    )
    command.add_argument("folder", type=Path, help="where the transformer was saved")
    given = command.add_mutually_exclusive_group(required=True)
    given.add_argument("--text", type=Path, help="a text; needs the package tokenizers and the tokenizer's files in the folder")
    given.add_argument("--tokens", type=Path, help="numbers of tokens, with spaces or commas between them")
    command.add_argument("--out", type=Path, default=Path("examination.html"), help="the page (default: %(default)s)")
    command.add_argument("--csv", type=Path, help="the table of heads as well")
    command.add_argument("--length", type=int, default=128, help="how many tokens, from the first on (default: %(default)s)")
    command.add_argument("--hide", type=float, default=0.15, help="BERT, ALBERT: share of hidden tokens (default: %(default)s)")
    command.add_argument("--mask-token", type=int, help="the token that hides another, where the tokenizer does not say")
    said = "for a tied block (ALBERT): films under noise of so many times a token's size, such as 0.1 1; takes long"
    command.add_argument("--noise", type=float, nargs="+", default=(), metavar="SIZE", help=said)
    command.add_argument("--no-ablation", action="store_true", help="leave out what each head is worth, which takes longest")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0, or 2 with a sentence where something is wrong."""
    asked = parser().parse_args(arguments)
    try:
        model = load(asked.folder)
        text = _text(asked)
        if asked.mask_token is not None:
            text = Text(text.tokens, asked.mask_token)
        tokens, targets, remark = _task(model, text, asked.length, asked.hide)
        found = examine(model, tokens, targets=targets, noises=tuple(asked.noise), ablate=not asked.no_ablation)
        asked.out.write_text(found.page(f"Examination of {asked.folder.resolve().name}"), encoding="utf-8")
        if asked.csv is not None:
            found.to_csv(asked.csv)
    except (ValueError, ModuleNotFoundError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{tokens.shape[-1]} tokens, {len(found.heads)} readings of heads. {remark}Look at {asked.out}")
    return 0


def _text(asked: argparse.Namespace) -> Text:
    if asked.tokens is not None:
        return read_numbers(asked.tokens.read_text(encoding="utf-8"))
    return read_text(asked.folder, asked.text.read_text(encoding="utf-8"))


def _task(model: LanguageModel, text: Text, length: int, share: float) -> tuple[Tensor, Tensor | None, str]:
    """Tokens ``[1, n]``, what is asked of them, and what there is to say about it."""
    longest = getattr(model.embed, "longest", None) or length
    tokens = text.tokens[: min(length, longest)].unsqueeze(0)
    if is_causal(model.stack):
        return tokens, None, ""
    if model.readout is None or text.hides is None:
        return tokens, None, "No tokens were hidden, so that there is no loss and no ablation. "
    if not 0 < share < 1:
        raise ValueError(f"--hide is {share}; expected a share between 0 and 1")
    shown, targets = hidden(tokens, text.hides, share)
    return shown, targets, f"{int((targets >= 0).sum())} of them hidden. "


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    sys.exit(main())
