"""Classify handwritten digits by the response of one extra spin, and by a softmax block of as many parameters.

    python experiments/digits.py [--jobs N] [--only NAME ...] [--quick] [--output FILE]

Every picture of 8 x 8 pixels is cut into 8 patches. Each is a field on a vector spin of 10 components; a ninth spin has a
learned field only, and its magnetisation is read out linearly (``attnlib.course.models.PatchClassifier``). What differs is the
mixer. After every step of training the couplings are scaled so that the largest eigenvalue stays below 0.95.

- ``search``: 300 steps at rates that are three times apart, from 0.01 on and as far as the best is at the edge, on two folds of
  the pictures that fold 0 learns from. The rate with the most right answers is kept, the lower of two that are equally good.
  Where runs of 3,000 steps are made there is a search of that length too, from the rates around the best of the short one.
- ``runs``: with that rate, each of five folds, so that every one of the 1,797 pictures is tested once; 300 steps, 1,000 where
  the reaction is not the exact one, and 3,000 for one mixer of each kind. The pictures that are misread are listed, so that two
  mixers can be compared picture by picture. Only fold 0 is tested on pictures that no search has seen.
- ``film``: one run with 16 patches, and how strongly each pair of spins is coupled as it learns.
- ``bounds``: the beginning of that run, on each fold, with the bound on the largest eigenvalue kept in three ways: by scaling
  all couplings, by taking the excess off the one mode that has it, or not at all.

Every run is written to attnlib/course/data/results/digits.json as soon as it is done; a second call makes only what is missing.
"""

import contextlib
import math
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import joblib
import records
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib import ConvergenceWarning
from attnlib.attention import SoftmaxAttention
from attnlib.course.data import Images, digits
from attnlib.course.models import PatchClassifier, teach_labels
from attnlib.mean_field import Binary, Gaussian, MeanFieldAttention, Spherical, flat_couplings, symmetric_couplings

TITLE = "Handwritten digits by mean-field attention and by a softmax block"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results" / "digits.json"
SETTINGS = {"patch": [2, 4], "d": 10, "batch": 32, "most": 0.95, "tolerance": 1e-4, "max_steps": 60, "folds": 5}
PRIORS = {"gaussian": lambda d: Gaussian(1.0, d), "spherical": Spherical, "binary": lambda d: Binary()}
SEARCH, RATES = 300, (0.01, 0.03, 0.1)
STEPS = (300, 1000, 3000)
LONG_SEARCH = 3000

MEAN_FIELD = {
    "gaussian": {"prior": "gaussian", "onsager": "exact"},
    "gaussian, asymmetric": {"prior": "gaussian", "onsager": "exact", "symmetric": False},
    "gaussian, neural": {"prior": "gaussian", "onsager": "neural"},
    "binary, none": {"prior": "binary", "onsager": "none"},
    "binary, neural": {"prior": "binary", "onsager": "neural"},
    "binary, none, asymmetric": {"prior": "binary", "onsager": "none", "symmetric": False},
    "binary, none, symmetric inside": {"prior": "binary", "onsager": "none", "symmetric_inside": True},
    "binary, none, self-coupled": {"prior": "binary", "onsager": "none", "self_coupling": True},
    "binary, none, couplings as drawn": {"prior": "binary", "onsager": "none", "frozen": True},
    "spherical, none": {"prior": "spherical", "onsager": "none"},
    "spherical, neural": {"prior": "spherical", "onsager": "neural"},
    "binary, exact": {"prior": "binary", "onsager": "exact"},
    "spherical, exact": {"prior": "spherical", "onsager": "exact"},
}
OTHERS = {"softmax block, 10 wide": {"width": 10}, "softmax block, 16 wide": {"width": 16}, "no mixer: 64 pixels": {}}
NAMES = (*OTHERS, *MEAN_FIELD)
LONGEST = {name: 1000 for name in MEAN_FIELD if name not in ("gaussian", "binary, none")}
LONGEST |= {"binary, exact": 300, "spherical, exact": 300}
"""The longest runs are for one mixer of each kind; the exact reaction costs a hundred times as much as none."""


class SoftmaxBlock(nn.Module):
    """One block of a transformer, normalised before attention and network and at the end, with a number of parameters given."""

    def __init__(self, dim: int, parameters: int) -> None:
        super().__init__()
        self.dim = dim
        self.attention, self.norms = SoftmaxAttention(dim, heads=2), nn.ModuleList(nn.LayerNorm(dim) for _ in range(3))
        left = parameters - sum(p.numel() for p in self.parameters()) - dim
        hidden = round(left / (2 * dim + 1))
        self.network = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Tokens ``[batch, n, dim]`` in and out."""
        x = x + self.attention(self.norms[0](x))
        x = x + self.network(self.norms[1](x))
        return self.norms[2](x)


class Pixels(nn.Module):
    """A linear map from pixels to logits: what any classifier can do that is linear in the picture."""

    def __init__(self, pixels: int) -> None:
        super().__init__()
        self.map = nn.Linear(pixels, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Pictures ``[batch, height, width]``, logits ``[batch, 10]``."""
        return self.map(images.flatten(-2))


def mean_field(name: str, settings: dict) -> MeanFieldAttention:
    """The mixer of a name, with nothing between the tokens and the spins."""
    given = dict(MEAN_FIELD[name])
    prior, frozen, (height, width), d = PRIORS[given.pop("prior")], given.pop("frozen", False), settings["patch"], settings["d"]
    mixer = MeanFieldAttention(
        d,
        sites=1 + 64 // (height * width),
        bare=True,
        beta=1.0,
        prior=prior(d),
        tolerance=settings["tolerance"],
        max_steps=settings["max_steps"],
        on_failure="warn",
        bound=None,
        **given,
    )
    mixer.couplings.requires_grad_(not frozen)
    return mixer


def free_couplings(mixer: MeanFieldAttention) -> int:
    """How many numbers the couplings are, those that a symmetry makes equal counted once."""
    n, d, s = mixer.sites, mixer.head_dim, mixer.symmetries
    between = n * (n - 1) // 2 * (d * (d + 1) // 2 if s["inside"] else d * d) * (1 if s["across"] else 2)
    own = n * (d * (d + 1) // 2 if s["across"] or s["inside"] else d * d) if s["self_coupling"] else 0
    return between + own


def free_parameters(model: nn.Module) -> int:
    """All numbers that a model learns."""
    total = sum(p.numel() for p in model.parameters() if p.requires_grad)
    mixer = getattr(model, "mixer", None)
    if not isinstance(mixer, MeanFieldAttention) or not mixer.couplings.requires_grad:
        return total
    return total - mixer.couplings.numel() + free_couplings(mixer)


def classifier(name: str, settings: dict) -> nn.Module:
    """The classifier of a name, drawn from torch's generator."""
    patch, image = tuple(settings["patch"]), (8, 8)
    if name in MEAN_FIELD:
        return PatchClassifier(mean_field(name, settings), image=image, patch=patch)
    if "width" not in OTHERS[name]:
        return Pixels(64)
    dim, pixels, sites = OTHERS[name]["width"], patch[0] * patch[1], 1 + 64 // (patch[0] * patch[1])
    around = dim * (pixels + sites + 10) + 10
    with torch.random.fork_rng():
        budget = free_parameters(classifier("binary, none", settings))
    return PatchClassifier(SoftmaxBlock(dim, budget - around), image=image, patch=patch)


def split(fold: int, settings: dict, searching: bool) -> tuple[Images, Images]:
    """What a run learns from and what it is tested on; a search sees nothing of the pictures that fold 0 is tested on."""
    folds = settings["folds"]
    return digits().fold(0, folds)[0].fold(fold, folds) if searching else digits().fold(fold, folds)


def clip(mixer: MeanFieldAttention, most: float) -> None:
    """Take what passes the bound off the modes that have it, in place, and nothing off the others.

    What is taken off has entries that couple a spin to itself, which are dropped; so it is done again, until the bound is kept
    to a thousandth.
    """
    n, d = mixer.sites, mixer.head_dim
    with torch.no_grad():
        J = symmetric_couplings(mixer.couplings, **mixer.symmetries)
        for _ in range(50):
            values, modes = torch.linalg.eigh(flat_couplings(J))
            if values.amax() <= 1.001 * most:
                break
            excess = (modes * (values - most).clamp(min=0).unsqueeze(-2)) @ modes.mT
            blocks = excess.unflatten(-1, (n, d)).unflatten(-3, (n, d)).transpose(-3, -2)
            J = J - symmetric_couplings(blocks, **mixer.symmetries)
        mixer.couplings.copy_(J)


BOUNDS = {
    "all modes scaled": lambda mixer, most: mixer.stabilise(most),
    "only the top mode clipped": clip,
    "no bound": lambda mixer, most: None,
}


def trained(
    name: str,
    rate: float,
    steps: int,
    fold: int,
    settings: dict,
    *,
    searching: bool = False,
    watch=None,
    until=None,
    bound: str = "all modes scaled",
):
    """A classifier after ``steps`` steps (or ``until``, on the same schedule), the losses, and what it is tested on."""
    torch.set_num_threads(1)
    torch.manual_seed(fold)
    model = classifier(name, settings)
    train, test = split(fold, settings, searching)

    def after(step: int) -> None:
        if name in MEAN_FIELD:
            BOUNDS[bound](model.mixer, settings["most"])
        if watch:
            watch(step, model)
        if step == until:
            raise StopIteration

    losses = []
    with warnings.catch_warnings(), contextlib.suppress(StopIteration):
        warnings.simplefilter("ignore", ConvergenceWarning)
        losses = teach_labels(
            model, train.pictures, train.labels, steps, batch=settings["batch"], learning_rate=rate, watch=after
        )
    return model, losses, test


def judged(model: nn.Module, test: Images) -> dict:
    """Mistakes and loss on unseen pictures, and how the iteration went."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        logits = model(test.pictures)
        found = {
            "tested": len(test),
            "wrong": torch.nonzero(logits.argmax(-1) != test.labels)[:, 0].tolist(),
            "loss": rounded(F.cross_entropy(logits, test.labels).item()),
        }
        mixer = getattr(model, "mixer", None)
        if isinstance(mixer, MeanFieldAttention):
            record = mixer.explain(model.tokens(test.pictures))
            found |= {
                "iterations": rounded(record.iterations.double().mean().item()),
                "converged": rounded(record.converged.double().mean().item()),
                "largest_eigenvalue": rounded(mixer.largest_eigenvalue().item()),
            }
    return found


def rounded(number: float) -> float:
    """Four digits, for a file that can be read."""
    return float(f"{number:.4g}")


def run(key: dict, settings: dict) -> dict:
    """Train and judge one classifier; a rate at which training breaks down has no right answers."""
    begin = time.process_time()
    searching = key["stage"] == "search"
    try:
        arguments = (key["name"], key["rate"], key["steps"], key["fold"], settings)
        model, losses, test = trained(*arguments, searching=searching)
    except ValueError as error:
        _, test = split(key["fold"], settings, searching)
        return key | {"tested": len(test), "wrong": list(range(len(test))), "failed": str(error)[:80]}
    seconds = time.process_time() - begin
    found = judged(model, test)
    begin = time.process_time()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model(test.pictures)
    answer = (time.process_time() - begin) / len(test)
    return key | {
        "train_loss": rounded(sum(losses[-50:]) / len(losses[-50:])),
        **found,
        "ms_per_step": rounded(1000 * seconds / key["steps"]),
        "ms_per_answer": rounded(1000 * answer),
    }


def right(runs: list[dict]) -> float:
    """The share of right answers over all pictures tested."""
    return 1 - sum(len(r["wrong"]) for r in runs) / sum(r["tested"] for r in runs)


def searched(name: str, runs: list[dict], length: int = SEARCH, highest: float = 3) -> tuple[float | None, list[float]]:
    """The best rate so far at a length, and the rates still to be tried: the grid, then on where the best is at its edge.

    It goes on below ``highest``. The grid of a longer search is the best rate of the short one and its neighbours.
    """
    grid = RATES
    if length > SEARCH:
        short, missing = searched(name, runs, highest=highest)
        if short is None:
            return None, []
        grid = tuple(float(f"{short * factor:.0e}") for factor in (1 / 3, 1, 3))
    mine = [r for r in runs if (r["stage"], r["name"], r["steps"]) == ("search", name, length)]
    tried = {rate: [r for r in mine if r["rate"] == rate] for rate in {*grid, *(r["rate"] for r in mine)}}
    missing = sorted(rate for rate, found in tried.items() if len(found) < 2)
    if missing:
        return None, missing
    best = max(sorted(tried), key=lambda rate: right(tried[rate]))
    for edge, factor in ((max(tried), 3), (min(tried), 1 / 3)):
        if best == edge and 1e-4 < best * factor < highest:
            beyond = best * factor
            return None, [float(f"{beyond:.0e}")]
    return best, []


def due(
    names: list[str], runs: list[dict], settings: dict, search: int, steps: tuple[int, ...], own: tuple[str, ...] = ()
) -> list[dict]:
    """The runs to make next. Some names may have a search of their own at every length."""
    have = {(r["stage"], r["name"], r["rate"], r["steps"], r["fold"]) for r in runs}
    found = []
    for length in steps:
        for name in (name for name in names if length <= LONGEST.get(name, math.inf)):
            trial = length if length >= LONG_SEARCH or (length > search and name in own) else search
            best, rates = searched(name, runs, trial)
            searches = [("search", name, rate, trial, fold) for rate in rates for fold in range(2)]
            finals = [] if best is None else [("final", name, best, length, fold) for fold in range(settings["folds"])]
            for key in searches + finals:
                if key not in have:
                    have.add(key)
                    found.append(dict(zip(("stage", "name", "rate", "steps", "fold"), key)))
        if found:
            return found  # all at one length, before the next
    return found


FRAMES = (*range(0, 20, 2), *range(20, 60, 5), *range(60, 120, 10), *range(120, 300, 20), *range(300, 1001, 50))
FILM = {"name": "binary, none", "rate": 0.03, "steps": 1000, "fold": 0}


def film(settings: dict, steps: int, frames: tuple[int, ...], until: int | None = None) -> dict:
    """How strongly each pair of spins is coupled as one classifier with 16 patches learns, and how well it does.

    ``top_share`` is the largest eigenvalue's part in the sum of the squares of all, which is that of the squared norms.
    """
    settings = settings | {"patch": [2, 2]}
    _, test = split(FILM["fold"], settings, False)
    found = FILM | {"steps": steps, "patch": [2, 2], "at": [], "norms": [], "right": [], "loss": [], "top_share": []}

    def watch(step: int, model: PatchClassifier) -> None:
        if step not in frames and step != until:
            return
        mixer, seen = model.mixer, judged(model, test)
        with torch.no_grad():
            record = mixer.explain(model.tokens(test.pictures[:1]))
        upper = record.norms[0][tuple(torch.triu_indices(mixer.sites, mixer.sites, 1))]
        squares = torch.linalg.eigvalsh(flat_couplings(record.J[0])).square()
        found["at"].append(step)
        found["norms"].append([round(norm, 4) for norm in upper.tolist()])
        found["right"].append(round(right([seen]), 4))
        found["loss"].append(seen["loss"])
        found["top_share"].append(round((squares[-1] / squares.sum()).item(), 4))

    trained(FILM["name"], FILM["rate"], steps, FILM["fold"], settings, watch=watch, until=until)
    return found


EARLY = tuple(range(0, 121, 10))


def early(key: dict, settings: dict, steps: int, frames: tuple[int, ...]) -> dict:
    """The beginning of the film's run on a fold, with the bound kept in one of the ways of ``BOUNDS``.

    At the steps ``at``: the share of right answers, the loss, the largest eigenvalue of the couplings, its part in the sum of
    the squares of all, and the root of the sum of the others' squares.
    """
    settings = settings | {"patch": [2, 2]}
    _, test = split(key["fold"], settings, False)
    found = key | {"at": [], "right": [], "loss": [], "largest": [], "top_share": [], "rest": []}

    def watch(step: int, model: PatchClassifier) -> None:
        if step in frames:
            seen, mixer = judged(model, test), model.mixer
            with torch.no_grad():
                values = torch.linalg.eigvalsh(flat_couplings(symmetric_couplings(mixer.couplings, **mixer.symmetries))[0])
            squares = values.square()
            numbers = right([seen]), seen["loss"], values[-1], squares[-1] / squares.sum(), squares[:-1].sum().sqrt()
            for name, number in zip(("right", "loss", "largest", "top_share", "rest"), numbers, strict=True):
                found[name].append(rounded(float(number)))
            found["at"].append(step)

    trained(FILM["name"], FILM["rate"], steps, key["fold"], settings, watch=watch, until=frames[-1], bound=key["bound"])
    return found


def bounds_due(made: list[dict], settings: dict) -> list[dict]:
    """The runs with one bound or another that are to be made."""
    have = {(found["bound"], found["fold"]) for found in made}
    wanted = [(bound, fold) for fold in range(settings["folds"]) for bound in BOUNDS]
    return [{"bound": bound, "fold": fold} for bound, fold in wanted if (bound, fold) not in have]


def measure(result: dict, names: list[str], quick: bool, jobs: int) -> Iterator[dict]:
    """Make what is missing, and hand over the result after every run."""
    search, steps = (4, (6,)) if quick else (SEARCH, STEPS)
    settings = result["settings"]
    while keys := due(names, result["runs"], settings, search, steps):
        keys.sort(key=lambda key: names.index(key["name"]))
        for found in joblib.Parallel(jobs, return_as="generator_unordered")(joblib.delayed(run)(key, settings) for key in keys):
            result["runs"].append(found)
            print({key: value for key, value in found.items() if key != "wrong"}, len(found["wrong"]), flush=True)
            yield result
        if steps == (6,) and all(r["stage"] == "final" for r in result["runs"][-len(keys) :]):
            break
    if not result.get("film"):
        result["film"] = film(settings, 4, (0, 2, 4)) if quick else film(settings, FILM["steps"], FRAMES)
        yield result
    length, frames = (4, (0, 2, 4)) if quick else (FILM["steps"], EARLY)
    asked = [joblib.delayed(early)(key, settings, length, frames) for key in bounds_due(result["bounds"], settings)]
    for found in joblib.Parallel(jobs, return_as="generator_unordered")(asked):
        result["bounds"].append(found)
        yield result


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure what is missing, write JSON after every run."""
    parser = records.command(__doc__.split("\n")[0], "a few steps")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, default one")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), help="some mixers, not all")
    options = parser.parse_args(arguments)
    settings = SETTINGS | ({"folds": 3} if options.quick else {})
    target = options.output or (None if options.quick else RESULTS)
    earlier = records.earlier(target, settings)
    result = {
        **records.head("digits", TITLE, arguments, options.quick, records.versions("torch", "scikit-learn", "attnlib")),
        "seeds": "the run of fold f draws its parameters and its batches from seed f; the folds are those of Images.fold",
        "settings": settings,
        "parameters": {name: free_parameters(classifier(name, settings)) for name in NAMES},
        "runs": earlier.get("runs", []),
        "film": earlier.get("film"),
        "bounds": earlier.get("bounds", []),
    }
    for now in measure(result, options.only, options.quick, options.jobs):
        records.write(now, target)


if __name__ == "__main__":
    main()
