"""The couplings film and the digits behind it: the record against its script and a rerun, what the film shows and refuses."""

import html
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import digits
import numpy as np
import pytest
import torch
import traitlets
from helpers.figures import COUPLINGS_FILM
from helpers.figures import NETS as START
from helpers.live import CALM

from attnlib.course import recorded
from attnlib.course.data import digits as all_digits
from attnlib.course.live import CouplingsFilm, FigureError
from attnlib.course.live.couplings_film import BEND, CURVES, KINDS, LEAST, kinds
from attnlib.course.models import PatchClassifier
from attnlib.mean_field import flat_couplings

RECORD = recorded("digits")
FILM = RECORD["film"]
PAGE, CODE = 60_000, 40_000


# The record


def final(name, steps):
    return [run for run in RECORD["runs"] if (run["stage"], run["name"], run["steps"]) == ("final", name, steps)]


def test_the_record_is_complete_and_what_the_script_asks_for():
    assert RECORD["name"] == "digits"
    assert RECORD["command"].startswith("python experiments/digits.py")
    assert not RECORD["quick"]
    assert RECORD["settings"] == digits.SETTINGS
    assert digits.due(list(digits.NAMES), RECORD["runs"], digits.SETTINGS, digits.SEARCH, digits.STEPS) == []


def test_every_run_is_one_that_the_script_makes_and_none_is_there_twice():
    keys = [(run["stage"], run["name"], run["rate"], run["steps"], run["fold"]) for run in RECORD["runs"]]
    assert len(set(keys)) == len(keys)
    for stage, name, rate, steps, fold in keys:
        assert name in digits.NAMES
        if stage == "search":
            assert steps in (digits.SEARCH, digits.LONG_SEARCH)
            assert fold in (0, 1)
        else:
            assert steps in digits.STEPS
            assert rate == digits.searched(name, RECORD["runs"], max(digits.SEARCH, steps // 3000 * digits.LONG_SEARCH))[0]


@pytest.mark.slow
def test_the_folds_of_a_row_test_every_digit_once():
    count = len(all_digits())
    for name in digits.NAMES:
        for steps in digits.STEPS:
            runs = final(name, steps)
            if len(runs) == digits.SETTINGS["folds"]:
                assert sorted(run["fold"] for run in runs) == list(range(5))
                assert sum(run["tested"] for run in runs) == count
            for run in runs:
                assert all(0 <= place < run["tested"] for place in run["wrong"])
                assert run["wrong"] == sorted(set(run["wrong"]))


@pytest.mark.whole
@pytest.mark.parametrize(("name", "within"), [("no mixer: 64 pixels", 0.01), ("binary, none", 0.1)])
def test_a_cheap_run_can_be_repeated(name, within):
    """300 steps, three seconds, on each of five folds. Training amplifies rounding, so means over the folds are compared.

    For binary spins a rate changed by a part in a million moves the loss of a fold by 5 %, without a mixer by less than 0.1 %;
    for Gaussian spins a part in ten million moves it by 5 %, so they are not here.
    """
    runs = final(name, 300)
    asked = [{key: run[key] for key in ("stage", "name", "rate", "steps", "fold")} for run in runs]
    repeated = [digits.run(one, RECORD["settings"]) for one in asked]
    assert [again["tested"] for again in repeated] == [run["tested"] for run in runs]
    loss, recorded_loss = (sum(run["train_loss"] for run in some) for some in (repeated, runs))
    assert loss == pytest.approx(recorded_loss, rel=within)
    others = [len(set(again["wrong"]) ^ set(run["wrong"])) for again, run in zip(repeated, runs, strict=True)]
    assert sum(others) <= 0.02 * sum(run["tested"] for run in runs)
    assert max(again.get("largest_eigenvalue", 0) for again in repeated) <= digits.SETTINGS["most"] + 1e-3


def test_parameters_are_counted_as_the_page_says():
    """Free numbers: by the rank of what makes couplings symmetric, for a small system; the block has as many as the spins."""
    counted = RECORD["parameters"]
    around = 8 * 10 + 9 * 10 + 10 * 10 + 10
    assert counted["binary, none"] - around == 36 * 100
    assert counted["binary, none, asymmetric"] - around == 72 * 100
    assert counted["binary, none, symmetric inside"] - around == 36 * 55
    assert counted["binary, none, self-coupled"] - around == 36 * 100 + 9 * 55
    for width in (10, 16):
        assert abs(counted[f"softmax block, {width} wide"] - counted["binary, none"]) < 2 * width + 1
    assert counted == {name: digits.free_parameters(digits.classifier(name, digits.SETTINGS)) for name in digits.NAMES}


@pytest.mark.parametrize("name", digits.MEAN_FIELD)
def test_free_couplings_are_the_rank_of_the_symmetries(name):
    mixer = digits.mean_field(name, digits.SETTINGS | {"d": 3, "patch": [4, 8]})
    from attnlib.mean_field import symmetric_couplings

    unit = torch.eye(mixer.couplings.numel()).reshape(-1, *mixer.couplings.shape[1:])
    rank = torch.linalg.matrix_rank(symmetric_couplings(unit, **mixer.symmetries).flatten(1))
    assert digits.free_couplings(mixer) == rank


@pytest.mark.slow
def test_a_search_sees_nothing_of_what_fold_0_is_tested_on():
    tested = digits.split(0, digits.SETTINGS, False)[1]
    seen = [part for fold in range(2) for part in digits.split(fold, digits.SETTINGS, True)]
    pictures = {picture.numpy().tobytes() for picture in tested.pictures}
    assert not pictures & {picture.numpy().tobytes() for part in seen for picture in part.pictures}


def test_the_search_goes_on_where_the_best_is_at_its_edge_and_stops_there():
    def runs(shares, steps=300):
        key = {"stage": "search", "name": "gaussian", "steps": steps, "tested": 100}
        return [
            key | {"rate": rate, "wrong": list(range(wrong)), "fold": fold}
            for rate, wrong in shares.items()
            for fold in range(2)
        ]

    grid = {0.01: 9, 0.03: 5, 0.1: 7}
    assert digits.searched("gaussian", []) == (None, [0.01, 0.03, 0.1])
    assert digits.searched("gaussian", runs(grid)) == (0.03, [])
    assert digits.searched("gaussian", runs(grid | {0.1: 2})) == (None, [0.3])
    assert digits.searched("gaussian", runs(grid | {0.1: 2, 0.3: 3})) == (0.1, [])
    assert digits.searched("gaussian", runs(grid | {0.01: 2})) == (None, [0.003])
    assert digits.searched("gaussian", runs(grid | {0.01: 5})) == (None, [0.003])  # of two that are equal, the lower
    long = digits.LONG_SEARCH
    assert digits.searched("gaussian", runs({0.01: 9}), long) == (None, [])  # the short search comes first
    assert digits.searched("gaussian", runs(grid), long) == (None, [0.01, 0.03, 0.09])
    assert digits.searched("gaussian", runs(grid) + runs({0.01: 3, 0.03: 4, 0.09: 5}, long), long) == (None, [0.003])
    assert digits.searched("gaussian", runs(grid) + runs({0.01: 5, 0.03: 4, 0.09: 5}, long), long) == (0.03, [])


@pytest.mark.slow
def test_a_quick_run_is_written_and_resumed(tmp_path, monkeypatch, capsys):
    target = tmp_path / "new" / "digits.json"
    few = ["--quick", "--output", str(target), "--only", "gaussian", "no mixer: 64 pixels"]
    digits.main(few)
    first = json.loads(target.read_text(encoding="utf-8"))
    assert first["quick"]
    assert {run["name"] for run in first["runs"]} == {"gaussian", "no mixer: 64 pixels"}
    assert len([run for run in first["runs"] if run["stage"] == "final"]) == 6
    assert first["film"]["at"] == [0, 2, 4]
    assert {(made["bound"], made["fold"]) for made in first["bounds"]} == {(b, f) for b in digits.BOUNDS for f in range(3)}
    kept = [run for run in first["runs"] if (run["stage"], run["fold"]) != ("final", 2)]
    target.write_text(json.dumps(first | {"runs": kept}), encoding="utf-8")
    made, run = [], digits.run
    monkeypatch.setattr(digits, "run", lambda key, settings: made.append(key["fold"]) or run(key, settings))
    monkeypatch.setattr(digits, "film", lambda *arguments: pytest.fail("the film is there"))
    digits.main(few)
    assert made == [2, 2]
    capsys.readouterr()


# The bound, kept in three ways


def test_clipping_takes_from_the_modes_above_the_bound_only():
    """Without self-couplings to drop, it is the nearest matrix with that largest eigenvalue: by its eigenvalues."""
    torch.manual_seed(3)
    mixer = digits.mean_field("binary, none, self-coupled", digits.SETTINGS | {"d": 3})
    mixer.couplings.data *= 4
    before = torch.linalg.eigvalsh(flat_couplings(mixer.explain(torch.zeros(1, 9, 3)).J[0]).double())
    assert before[-1] > 1
    digits.clip(mixer, 0.95)
    after = torch.linalg.eigvalsh(flat_couplings(mixer.explain(torch.zeros(1, 9, 3)).J[0]).double())
    assert after.tolist() == pytest.approx(before.clamp(max=0.95).tolist(), abs=1e-5)


def test_clipping_keeps_symmetries_and_the_bound():
    torch.manual_seed(3)
    mixer = digits.mean_field("binary, none", digits.SETTINGS | {"d": 3})
    mixer.couplings.data *= 4
    drawn = mixer.explain(torch.zeros(1, 9, 3)).J[0]
    digits.clip(mixer, 0.95)
    J = mixer.couplings.detach()[0]
    assert mixer.largest_eigenvalue().item() == pytest.approx(0.95, abs=1e-3)
    assert torch.equal(J.diagonal().abs().max(), torch.tensor(0.0))
    assert torch.allclose(J, J.permute(1, 0, 3, 2), atol=1e-7)
    digits.clip(mixer, 5.0)
    assert torch.allclose(J, mixer.couplings[0], atol=1e-7)  # where nothing passes nothing is done
    scaled = drawn * 0.95 / torch.linalg.eigvalsh(flat_couplings(drawn))[-1]
    assert (J - drawn).norm() < (scaled - drawn).norm()  # it takes off less than scaling does


def test_the_record_has_every_bound_on_every_fold():
    assert digits.bounds_due(RECORD["bounds"], RECORD["settings"]) == []
    assert len(RECORD["bounds"]) == len(digits.BOUNDS) * RECORD["settings"]["folds"]
    for made in RECORD["bounds"]:
        assert made["at"] == list(digits.EARLY)
        assert {len(made[key]) for key in ("right", "loss", "largest", "top_share", "rest")} == {len(digits.EARLY)}


@pytest.mark.slow
@pytest.mark.parametrize("bound", digits.BOUNDS)
def test_the_beginning_with_each_bound_can_be_repeated(bound):
    """Ten steps on one fold."""
    (made,) = (made for made in RECORD["bounds"] if (made["bound"], made["fold"]) == (bound, 1))
    again = digits.early({"bound": bound, "fold": 1}, RECORD["settings"], digits.FILM["steps"], (0, 10))
    for key in ("largest", "top_share", "rest", "loss"):
        assert again[key] == pytest.approx(made[key][:2], rel=0.02)


def test_the_film_is_the_first_of_these_runs():
    (made,) = (made for made in RECORD["bounds"] if (made["bound"], made["fold"]) == ("all modes scaled", 0))
    both = sorted({*made["at"]} & {*FILM["at"]} & {*range(11)})
    for at in both:
        assert made["top_share"][made["at"].index(at)] == pytest.approx(FILM["top_share"][FILM["at"].index(at)], abs=5e-3)


# The film


def test_the_film_is_what_the_script_asks_for():
    assert {key: FILM[key] for key in digits.FILM} == digits.FILM
    assert FILM["at"] == list(digits.FRAMES)
    assert {len(FILM[key]) for key in ("norms", "right", "loss", "top_share")} == {len(FILM["at"])}
    assert {len(row) for row in FILM["norms"]} == {17 * 16 // 2}


@pytest.mark.slow
def test_the_beginning_of_the_film_can_be_repeated():
    """Ten steps: later the last digit of another processor would have grown too much."""
    again = digits.film(RECORD["settings"], FILM["steps"], digits.FRAMES, until=10)
    count = len(again["at"])
    assert again["at"] == FILM["at"][:count] == [0, 2, 4, 6, 8, 10]
    assert np.array(again["norms"]) == pytest.approx(np.array(FILM["norms"][:count]), abs=2e-3)
    assert again["top_share"] == pytest.approx(FILM["top_share"][:count], abs=5e-3)
    assert again["loss"] == pytest.approx(FILM["loss"][:count], rel=5e-3)


def test_strengths_are_frobenius_norms_and_the_share_is_of_their_squares():
    """At the first picture, against the couplings of the classifier itself."""
    torch.manual_seed(FILM["fold"])
    model = digits.classifier(FILM["name"], RECORD["settings"] | {"patch": FILM["patch"]})
    assert isinstance(model, PatchClassifier)
    model.mixer.stabilise(RECORD["settings"]["most"])
    J = model.mixer.couplings.detach()[0].double()
    J = (J + J.permute(1, 0, 3, 2)) / 2 * (1 - torch.eye(17))[:, :, None, None]
    norms = J.flatten(2).norm(dim=-1)[tuple(torch.triu_indices(17, 17, 1))]
    assert FILM["norms"][0] == pytest.approx(norms.tolist(), abs=2e-4)
    values = torch.linalg.eigvalsh(J.permute(0, 2, 1, 3).reshape(170, 170))
    assert FILM["top_share"][0] == pytest.approx((values[-1] ** 2 / J.square().sum()).item(), abs=2e-4)


def test_refuses_another_record():
    with pytest.raises(FigureError, match="record is"):
        CouplingsFilm(recorded("associative_capacity"))
    with pytest.raises(traitlets.TraitError, match="step"):
        CouplingsFilm(RECORD).step = "late"


@pytest.mark.parametrize(("spin", "step"), [(0, 0), (6, 7), (16, 40), (0, 1000), (9, 999)])
def test_readout_against_definitions(spin, step):
    said, frame = CouplingsFilm(RECORD, spin, step).readout, max(i for i, at in enumerate(FILM["at"]) if at <= step)
    table = np.zeros((17, 17))
    table[np.triu_indices(17, 1)] = FILM["norms"][frame]
    table += table.T
    close = max(map(max, FILM["norms"])) / 255 / 2 + 1e-9  # what 8 bits may cost
    assert said["step"] == FILM["at"][frame]
    assert said["norms"] == pytest.approx(table[spin].tolist(), abs=close)
    i, j = said["strongest"]
    assert i < j
    assert table[i, j] >= table.max() - 2 * close
    assert (said["right"], said["mode"]) == (FILM["right"][frame], FILM["top_share"][frame])
    pairs = {"class": [], "near": [], "far": []}
    for a in range(17):
        for b in range(a + 1, 17):
            (r, c), (s, d) = divmod(a - 1, 4), divmod(b - 1, 4)
            kind = "class" if a == 0 else "near" if math.dist((r, c), (s, d)) == 1 else "far"
            pairs[kind].append(table[a, b])
    assert [len(found) for found in pairs.values()] == [16, 24, 96]
    assert {name: said[name] for name in pairs} == pytest.approx({k: np.mean(v) for k, v in pairs.items()}, abs=close)


def test_kinds_of_pairs_share_out_all_of_them():
    found = kinds(3, 2)
    assert sum(mask.int() for mask in found.values()).tolist() == (1 - torch.eye(7, dtype=torch.int)).tolist()


def darkness(norm, figure):
    return LEAST + (1 - LEAST) * (norm / figure.film["largest"]) ** BEND


def test_the_still_picture_is_drawn_from_the_same_numbers():
    figure = CouplingsFilm(RECORD, 0, 100)
    said, name = figure.readout, "{http://www.w3.org/2000/svg}"
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', figure.page())[1]))
    words = " ".join(text.text for text in drawn.iter(f"{name}text"))
    assert f"After 100 steps: {100 * said['right']:.1f} % of unseen digits right." in words
    shares = [float(tile.get("fill-opacity")) for tile in drawn.iter(f"{name}rect") if tile.get("fill-opacity")]
    assert shares == pytest.approx([darkness(norm, figure) for norm in said["norms"][1:]], abs=5e-4)
    for key, called in CURVES.items():
        assert f"{called}: {100 * said[key]:.0f} %" in words
    assert f"neighbouring patches {said['near']:.2f}" in figure.alt()
    assert html.escape(figure.alt()) in figure.page()


# In a browser


def test_a_spin_is_chosen_by_a_press_on_it(desk):
    film = desk.show(COUPLINGS_FILM, START)
    film.picture.locator("g.site").nth(16).click()
    assert film.is_right() == START | {"spin": 16}


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_what_is_drawn_is_what_is_told(desk):
    film = desk.show(COUPLINGS_FILM, START)
    for state in (START, {"spin": 6, "step": 0}, {"spin": 16, "step": 1000}):
        film.put(**state)
        film.is_right()
        figure = CouplingsFilm(RECORD, **state)
        numbers = figure.readout
        inks = film.column("g.site .ink", "fill-opacity")
        wanted = [darkness(norm, figure) for norm in numbers["norms"]]
        wanted[state["spin"]] = 1.0
        assert inks == pytest.approx(wanted, abs=1e-3)
        own = film.picture.locator("g.site").evaluate_all("sites => sites.map(site => site.classList.contains('own'))")
        assert own == [spin == state["spin"] for spin in range(17)]
        assert film.box.get_by_text(f"{100 * numbers['right']:.1f} % right").is_visible()
        names = ["class" if spin == 0 else f"patch {spin}" for spin in numbers["strongest"]]
        assert film.box.get_by_text(f"strongest pair: {names[0]} and {names[1]}", exact=True).count() == 1
        curves = film.box.get_by_role("img").nth(1)
        told = dict(text.split(": ") for text in curves.locator("text.word").all_text_contents())
        assert told == {name: f"{100 * numbers[key]:.0f} %" for key, name in CURVES.items()}
        bars = film.box.locator("dl > div").evaluate_all(
            "rows => rows.map(row => [row.children[0].textContent, row.children[1].textContent])"
        )
        assert bars == [[words, f"{numbers[key]:.2f}"] for key, words in KINDS.items()]


@pytest.mark.parametrize("desk", [{"own": True}], indirect=True)
def test_on_arrival_it_plays_once_up_to_its_step_and_the_traits_stay(desk):
    film = desk.stopped(COUPLINGS_FILM, **START)
    seen = []
    for _ in range(10):
        seen += film.column("line.now", "x1")
        desk.page.clock.run_for(400)
    assert seen == sorted(seen)
    assert seen[1] < seen[-1] == seen[-2]
    assert film.ask("model.get('step')") == START["step"]


def test_each_task_can_be_done(desk):
    film = desk.show(COUPLINGS_FILM, START)
    assert film.ask("solved()") == []
    most = FILM["at"][max(range(len(FILM["at"])), key=FILM["top_share"].__getitem__)]
    for place, state in enumerate(({"step": most}, {"step": 100, "spin": 7})):
        film.put(**state)
        assert place in film.ask("solved()")
