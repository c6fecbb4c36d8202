"""The weights of one specimen of page 7d, small enough to ship: a tied block, trained from seed 1, in half precision.

    python experiments/specimen_weights.py --weights FOLDER [--quick] [--output FILE]

FOLDER is what ``specimens.py`` was given; its ``tied-1.pt`` is the first final run of ``tied``, and was not chosen by anything
that was measured. Nothing is trained here. On strings that nobody has learned from and nobody was judged by, the network is
read before its numbers are rounded to half precision (``exact``) and after it (``measured``):

- ``loss``: nats for each hidden token;
- ``mapper``: the head and the step, counted from 1, at which the largest weight is on the right key in most hidden rows, the
  share of these rows, and the thermometer U of that head at that step, with its error over strings;
- ``mapping``: the share of hidden rows for each head at each step, ``[steps][heads]``.

``curve`` is for the live figure: for each step and for betas from an eighth to eight times that in training, U of the mapper's
head and the mean weight of the right key. A hidden row is a token of the product that is hidden and whose copy is seen; U is
read where there is one copy only.
"""

import base64
import sys
from pathlib import Path
from typing import Any

import records
import torch
from examinations import Asked
from torch import Tensor

from attnlib.course.models.specimens import mapped, specimen, trained_specimen, weights_of
from attnlib.transformer import LanguageModel, thermometer

TITLE = "A tied transformer that has learned the language of joinings: its weights, and who in it maps"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "specimen_weights.json"
SETTINGS: dict[str, Any] = {
    "network": "tied",
    "seed": 1,
    "sizes": {"dim": 128, "heads": 8, "steps": 8, "feed_forward": 256},
    "strings": 1000,
    "share": 0.2,
    "drawn": 4 * 10**9,
    "log2_betas": [k / 4 for k in range(-12, 13)],
}
QUICK = SETTINGS | {"sizes": {"dim": 16, "heads": 2, "steps": 3, "feed_forward": 16}, "strings": 12}


def stored(tensors: dict[str, Tensor]) -> dict[str, dict[str, Any]]:
    """Tensors in half precision, as ``attnlib.course.data.networks.halves`` reads them."""
    return {
        name: {"shape": list(each.shape), "parts": base64.b64encode(each.half().contiguous().numpy().tobytes()).decode()}
        for name, each in tensors.items()
    }


def read(model: LanguageModel, asked: Asked, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is measured, and the curve of the mapper's head."""
    with torch.no_grad():
        loss = asked.loss(model(asked.tokens, asked.real))
    weights = weights_of(model, asked.tokens, asked.real)
    shares = mapped(weights, asked.keys, asked.rows)
    step, head = divmod(int(shares.argmax()), shares.shape[1])
    of_head = weights[:, :, head].double()
    own = thermometer(of_head[step], asked.right)
    mapper = {"head": head + 1, "step": step + 1, "right": shares[step, head].item()}
    mapper |= {"U": own.ratio.item(), "error": own.error.item()}
    told, keys = asked.right >= 0, asked.right.clamp(min=0)[..., None]
    logs = of_head.clamp(min=1e-300).log()  # scores but for a constant of each row
    curve: dict[str, Any] = {"rows": int(told.sum()), "U": [], "target": []}
    for of_step in logs:
        cooled = [(2**power * of_step).softmax(-1) for power in settings["log2_betas"]]
        curve["U"].append([thermometer(weights, asked.right).ratio.item() for weights in cooled])
        curve["target"].append([weights.gather(-1, keys)[..., 0][told].mean().item() for weights in cooled])
    return {"loss": loss, "mapper": mapper, "mapping": shares.tolist()}, curve


def made(settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The body of the record."""
    exact = specimen(settings["network"], **settings["sizes"]).eval()
    exact.load_state_dict(torch.load(folder / f"{settings['network']}-{settings['seed']}.pt", weights_only=True))
    body = {"network": settings["network"], "seed": settings["seed"], "sizes": settings["sizes"]}
    tensors = stored(exact.state_dict())
    asked = Asked(settings["network"], settings)
    body["exact"], _ = read(exact, asked, settings)
    body["measured"], body["curve"] = read(trained_specimen(body | {"tensors": tensors}), asked, settings)
    names = ("seed", "sizes", "head", "step")
    return records.rounded(body, names) | {"tensors": tensors}


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and write the record."""
    parser = records.command(__doc__.splitlines()[0], "a tiny network, few strings")
    parser.add_argument("--weights", type=Path, metavar="FOLDER", required=True, help="where specimens.py has put its networks")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS)
    head = records.head("specimen_weights", TITLE, arguments, options.quick, records.versions("attnlib", "torch"))
    body = made(settings, options.weights)
    print(body["measured"]["loss"], body["measured"]["mapper"], file=sys.stderr)
    records.write(head | {"settings": settings} | body, target)


if __name__ == "__main__":
    main()
