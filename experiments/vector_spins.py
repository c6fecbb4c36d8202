"""Classify handwritten digits by the response of vector spins, beside the mean-field mixers of ``digits.py``.

    python experiments/vector_spins.py [--only NAME ...] [--quick] [--output FILE]

Folds, patches, search and classifier are those of ``experiments/digits.py``: nine tokens, eight of them patches, and a ninth
that is read out. What differs is the mixer: one free energy with 10 components, whose couplings are learned numbers or
functions of the tokens; or six heads with as many parameters as the models of that experiment, with a z for each spin or one
for all; and softmax attention, six heads too, alone as the others are, without residual and network, or iterated to its fixed
point (``equilibrium.py``). No couplings are scaled back: z follows them.

- ``runs``: the search and the folds, as there; 300 and 1,000 steps, 3,000 for one mixer of each kind. With one head there is a
  search of 1,000 steps, too: a rate that is best at 300 can be far too large then. Couplings that stay as they are drawn are
  drawn so that their largest eigenvalue is near a half, as those that learn, or near 2, 5 or 15.
- ``film``: one run of the mixer with learned couplings, and how its spins answer as it learns.

Every run is written to its file in attnlib/course/data/results as soon as it is done; a second call makes only what is missing.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import digits
import records
import torch
import torch.nn.functional as F
from equilibrium import Equilibrium

from attnlib import ConvergenceWarning
from attnlib.attention import Mixer, SoftmaxAttention
from attnlib.course.data import Images
from attnlib.course.models import PatchClassifier, teach_labels
from attnlib.free_energy import VectorSpinAttention

TITLE = "Handwritten digits by vector spins, with couplings learned or made from the tokens"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "vector_spins.json"
SETTINGS = {"patch": [2, 4], "d": 10, "batch": 32, "max_steps": 100, "folds": 5}

MIXERS = {
    "free": {"couplings": "free"},
    "free, as drawn": {"couplings": "free", "frozen": True},
    "free, drawn at 2": {"couplings": "free", "frozen": True, "largest": 2.0},
    "free, drawn at 5": {"couplings": "free", "frozen": True, "largest": 5.0},
    "free, drawn at 15": {"couplings": "free", "frozen": True, "largest": 15.0},
    "tanh": {"couplings": "tanh"},
    "tanh, mean only": {"couplings": "tanh", "response": "mean"},
    "softmax": {"couplings": "softmax"},
    "softmax, mean only": {"couplings": "softmax", "response": "mean"},
    "free, six heads": {"couplings": "free", "heads": 6, "head_dim": 28},
    "tanh, six heads": {"couplings": "tanh", "heads": 6, "head_dim": 20},
    "softmax attention, six heads": {"heads": 6, "head_dim": 15},
    "free, six heads, one z": {"couplings": "free", "heads": 6, "head_dim": 28, "lengths": "total"},
    "softmax attention, six heads, to its fixed point": {"heads": 6, "head_dim": 15, "iterated": True},
}
CONTROLS = {
    "equilibrium block, one step": {"heads": 6, "head_dim": 15, "iterated": True, "steps": 1},
    "equilibrium block, eight steps": {"heads": 6, "head_dim": 15, "iterated": True, "steps": 8},
    "equilibrium block, held": {"heads": 6, "head_dim": 15, "iterated": True, "held": True},
}
"""The block of the deep equilibrium model without its fixed point, and with one that is kept: see ``digit_verdicts.py``."""
NAMES = tuple(MIXERS)
LONGEST = {name: 1000 for name in NAMES if name not in ("free", "tanh") and not name.endswith("six heads")}


ONE_HEAD = tuple(name for name in NAMES if "six heads" not in name)


def mixer(name: str, settings: dict[str, object]) -> Mixer | Equilibrium:
    """The mixer of a name. With one head nothing is between the tokens and the spins."""
    given = dict((MIXERS | CONTROLS)[name])
    frozen, iterated, steps = given.pop("frozen", False), given.pop("iterated", False), given.pop("steps", None)
    given.pop("held", None)
    d, (height, width) = settings["d"], settings["patch"]
    if "couplings" not in given:
        attention = SoftmaxAttention(d, **given)
        return Equilibrium(attention, steps) if iterated else attention
    made = VectorSpinAttention(
        d,
        sites=1 + 64 // (height * width),
        bare="heads" not in given,
        beta=1.0,
        max_steps=settings["max_steps"],
        on_failure="warn",
        **given,
    )
    if frozen:
        made.couplings.requires_grad_(False)
    return made


def classifier(name: str, settings: dict[str, object]) -> PatchClassifier:
    """The classifier of a name, drawn from torch's generator."""
    return PatchClassifier(mixer(name, settings), image=(8, 8), patch=tuple(settings["patch"]))


def free_parameters(model: PatchClassifier) -> int:
    """All numbers that a model learns, those that a symmetry makes equal counted once."""
    learned = {name: p for name, p in model.named_parameters() if p.requires_grad}
    total = sum(p.numel() for p in learned.values())
    for name, across in (("mixer.couplings", -1), ("mixer.kernel", 1)):
        if name in learned:
            heads, n, _ = learned[name].shape
            total += heads * (n * (n + across) // 2 - n * n)
    return total


def trained(
    name: str,
    rate: float,
    steps: int,
    fold: int,
    settings: dict[str, object],
    *,
    searching: bool = False,
    watch: Callable[[int, PatchClassifier], None] | None = None,
) -> tuple[PatchClassifier, list[float], Images]:
    """A classifier after ``steps`` steps, the losses, and what it is tested on."""
    torch.set_num_threads(1)
    torch.manual_seed(fold)
    model = classifier(name, settings)
    train, test = digits.split(fold, settings, searching)

    def after(step: int) -> None:
        if watch:
            watch(step, model)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        batch = settings["batch"]
        losses = teach_labels(model, train.pictures, train.labels, steps, batch=batch, learning_rate=rate, watch=after)
    return model, losses, test


def judged(model: PatchClassifier, test: Images) -> dict[str, object]:
    """Mistakes and loss on unseen pictures, and how the spins are: those of the token that is read out come first."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        logits = model(test.pictures)
        found = {
            "tested": len(test),
            "wrong": torch.nonzero(logits.argmax(-1) != test.labels)[:, 0].tolist(),
            "loss": digits.rounded(F.cross_entropy(logits, test.labels).item()),
        }
        if isinstance(model.mixer, VectorSpinAttention):
            record = model.mixer.explain(model.tokens(test.pictures))
            m, more = record.m[..., 0, :], record.feedback[..., 0, :]
            found |= {
                "iterations": digits.rounded(record.iterations.double().mean().item()),
                "converged": digits.rounded(record.converged.double().mean().item()),
                "largest_eigenvalue": digits.rounded(torch.linalg.eigvalsh(record.J.double())[..., -1].mean().item()),
                "length": digits.rounded(m.square().mean().item()),
                "feedback": digits.rounded((more.square().sum() / m.square().sum()).sqrt().item()),
            }
        if isinstance(model.mixer, Equilibrium) and not model.mixer.steps:
            found["converged"] = digits.rounded(model.mixer.last.double().mean().item())
    return found


def run(key: dict[str, object], settings: dict[str, object]) -> dict[str, object]:
    """Train and judge one classifier; a rate at which training breaks down has no right answers."""
    begin, searching = time.process_time(), key["stage"] == "search"
    try:
        arguments = (key["name"], key["rate"], key["steps"], key["fold"], settings)
        model, losses, test = trained(*arguments, searching=searching)
        seconds = time.process_time() - begin
        found = judged(model, test)
    except ValueError as error:
        _, test = digits.split(key["fold"], settings, searching)
        return key | {"tested": len(test), "wrong": list(range(len(test))), "failed": str(error)[:80]}
    train_loss, per_step = sum(losses[-50:]) / len(losses[-50:]), 1000 * seconds / key["steps"]
    return key | {"train_loss": digits.rounded(train_loss), **found, "ms_per_step": digits.rounded(per_step)}


FRAMES = (0, 10, 20, 40, 70, 100, 150, 200, 300, 500, 700, 1000)
FILM = {"name": "free", "fold": 0}


def film(rate: float, settings: dict[str, object], steps: int, frames: tuple[int, ...]) -> dict[str, object]:
    """How the spins answer as one classifier learns, at the steps ``at``: means over the pictures that it is tested on.

    ``J`` are the couplings, ``chi`` the answers across the fields, ``lengths`` the part of each spin's length that is its mean;
    ``own`` is the part of the square of the spin that is read out which differs from picture to picture.
    """
    series = {name: [] for name in ("at", "right", "loss", "J", "chi", "lengths", "own")}
    found = FILM | {"rate": rate, "steps": steps} | series
    _, test = digits.split(FILM["fold"], settings, False)

    def watch(step: int, model: PatchClassifier) -> None:
        if step not in frames:
            return
        seen = judged(model, test)
        with torch.no_grad():
            record = model.mixer.explain(model.tokens(test.pictures))
        J, m, z = (t[:, 0].double() for t in (record.J, record.m, record.z))
        chi = torch.linalg.inv(torch.diag_embed(z) - J).mean(0)
        first = m[:, 0]
        found["at"].append(step)
        found["right"].append(round(digits.right([seen]), 4))
        found["loss"].append(seen["loss"])
        found["J"].append([[round(x, 4) for x in row] for row in J[0].tolist()])
        found["chi"].append([[round(x, 4) for x in row] for row in chi.tolist()])
        found["lengths"].append([round(x, 4) for x in m.square().mean((0, 2)).tolist()])
        found["own"].append(digits.rounded((first.var(0).sum() / first.square().mean(0).sum()).item()))

    trained(FILM["name"], rate, steps, FILM["fold"], settings, watch=watch)
    return found


def due(names: list[str], runs: list[dict], settings: dict[str, object], search: int, steps: tuple[int, ...]) -> list[dict]:
    """The runs to make next, as ``digits.due`` has them, for the longest runs of these mixers."""
    for length in steps:
        long_enough = [name for name in names if length <= LONGEST.get(name, length)]
        if found := digits.due(long_enough, runs, settings, search, (length,), ONE_HEAD):
            return found
    return []


def measure(result: dict, names: list[str], quick: bool) -> Iterator[dict]:
    """Make what is missing, and hand over the result after every run."""
    search, steps = (4, (6,)) if quick else (digits.SEARCH, digits.STEPS)
    settings = result["settings"]
    while keys := due(names, result["runs"], settings, search, steps):
        keys.sort(key=lambda key: names.index(key["name"]))
        for key in keys:
            found = run(key, settings)
            result["runs"].append(found)
            print({key: value for key, value in found.items() if key != "wrong"}, len(found["wrong"]), flush=True)
            yield result
        if quick and all(key["stage"] == "final" for key in keys):
            break
    rate, _ = digits.searched(FILM["name"], result["runs"], search)
    if rate is not None and not result.get("film"):
        result["film"] = film(rate, settings, 4, (0, 2, 4)) if quick else film(rate, settings, FRAMES[-1], FRAMES)
        yield result


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure what is missing, write JSON after every run."""
    parser = records.command(__doc__.split("\n")[0], "a few steps")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), help="some mixers, not all")
    options = parser.parse_args(arguments)
    settings = SETTINGS | ({"folds": 3} if options.quick else {})
    target = options.output or (None if options.quick else RESULTS)
    earlier = records.earlier(target, settings)
    result = {
        **records.head("vector_spins", TITLE, arguments, options.quick, records.versions("torch", "scikit-learn", "attnlib")),
        "seeds": "the run of fold f draws its parameters and its batches from seed f; the folds are those of Images.fold",
        "settings": settings,
        "parameters": {name: free_parameters(classifier(name, settings)) for name in NAMES},
        "runs": earlier.get("runs", []),
        "film": earlier.get("film"),
    }
    for now in measure(result, options.only, options.quick):
        records.write(now, target)


if __name__ == "__main__":
    main()
