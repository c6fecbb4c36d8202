"""Sentences that set a figure: each leads where it says, and what it says is what the figure shows there."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import traitlets
from helpers import sentences
from helpers.sentences import Sentence

Said = Callable[[Any], list[str]]
COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def given(true: bool, *words: str) -> list[str]:
    """What is said where something holds that has no number."""
    assert true
    return list(words)


def number(digits: int, *path: Any) -> Said:
    """A number of the readout, with so many digits."""

    def of(figure: Any) -> list[str]:
        found = figure.readout
        for name in path:
            found = found[name]
        return [f"{found:.{digits}f}"]

    return of


def spread_doubles(figure: Any) -> list[str]:
    """And no weight moves by a thousandth."""
    said, before = figure.readout, type(figure)([1.0, 0.8, 0.3, -0.2], 10).readout
    moved = max(abs(a - b) for a, b in zip(said["weights"], before["weights"], strict=True))
    return given(2 < said["sigma"] / before["sigma"] < 2.2 and moved < 1e-3, "the spread doubles, the weights do not move")


def rings(figure: Any) -> list[str]:
    said = figure.readout
    return [f"{COUNTS[said['right']]} of {COUNTS[len(said['links'])]}"]


def never_freezes(figure: Any) -> list[str]:
    run = figure.record["runs"][figure.run]
    return given(run["score"] == "scaled_dot" and max(run["spread"]) < 1, "never freezes")


def colour(figure: Any) -> list[str]:
    from attnlib.course.data.stories import VOCABULARY

    return [f"says {VOCABULARY[figure.readout['answer']]}"]


def told_the_facts(figure: Any) -> list[str]:
    """At each hop the network looks most at the fact that it should look at."""
    said = figure.readout
    best = [max(range(len(row)), key=row.__getitem__) for row in said["weights"]]
    return given(best == said["follows"][0][1:], "frames are filled")


def missed(figure: Any) -> list[str]:
    return [f"{100 * figure.readout['off'][-1]:.1f} %"]


def finds(right: int, words: str) -> Said:
    """How many of three hidden tokens the mapper finds, in words."""
    return lambda figure: given((figure.readout["right"], figure.readout["asked"]) == (right, 3), words)


def places(figure: Any) -> list[str]:
    ends = {tuple(round(z, 3) for z in rest) for rest in figure.readout["rest"]}
    return [f"in {COUNTS[len(ends)]}"]


def one_for_all(figure: Any) -> list[str]:
    return [*places(figure), f"all {COUNTS[min(figure.readout['sharing'])]} memories share"]


def one_valley(figure: Any) -> list[str]:
    return [f"all {COUNTS[min(figure.readout['sharing'])]} memories share"]


def together(figure: Any) -> list[str]:
    ends = [tuple(round(z, 3) for z in states[-1]) for states in figure.readout["states"]]
    return [f"{COUNTS[max(map(ends.count, ends))].capitalize()} of the {COUNTS[len(ends)]} walks end in one place"]


def off(*theories: int) -> Said:
    return lambda figure: [f"off by {figure.readout['errors'][theory]:.2f}" for theory in theories]


def everybody(figure: Any) -> list[str]:
    (error,) = {f"{error:.2f}" for error in figure.readout["errors"]}
    return [f"everybody is wrong by {error}"]


def answers(figure: Any) -> list[str]:
    """All three are longer than a spin, and no mean is."""
    said = figure.readout
    long = [sum((a + b) ** 2 for a, b in zip(*pair, strict=True)) ** 0.5 for pair in zip(said["m"], said["more"], strict=True)]
    assert max(sum(z * z for z in m) for m in said["m"]) < 2 < min(long) ** 2
    return ["all three answers", f"radius is {2**0.5:.2f}", f"the longest to {max(long):.2f}"]


def no_second_term(figure: Any) -> list[str]:
    return given(not any(map(any, figure.readout["more"])), "gone")


def most(figure: Any) -> list[str]:
    return [f"{max(figure.readout['weights']):.2f}"]


def takes_all(figure: Any) -> list[str]:
    return given(max(figure.readout["weights"]) > 0.999, "one arrow takes all")


def swings(figure: Any) -> list[str]:
    """What is believed after one more sweep is the opposite."""
    believed = figure.readout["believed"]
    figure.sweeps += 1
    turned = max(a * b for a, b in zip(believed, figure.readout["believed"], strict=True))
    return given(turned < -0.9, "the beliefs swing")


def out_of_sight(figure: Any) -> list[str]:
    """And whether the best of those that are blind is ahead of the best of those that read once."""
    said, kinds = figure.readout, [line["kind"] for line in figure.record["lines"]]
    best = {kind: min(e for e, own in zip(said["lines"], kinds, strict=True) if own == kind) for kind in ("blind", "reads")}
    share = 100 * said["floor"]
    words = f"misses {share:.1f} %" if share < 1 else f"misses {share:.0f} %"
    return [words, "the blind are ahead"] if best["blind"] < best["reads"] else [words]


def steps(figure: Any) -> list[str]:
    said = figure.readout
    return [f"{said['errors'][figure.steps]:.3f}"]


def all_right(*words: str) -> Said:
    return lambda figure: given(figure.readout["right"] == 8, *words)


def stays(figure: Any) -> list[str]:
    said = figure.readout
    return given(said["answers"] == list(range(8)))


def thawed(figure: Any) -> list[str]:
    """Frozen from the second step on with the heads as they were trained, and no longer."""
    frozen = [max(spread) > 1 for spread in type(figure)(steps=8).readout["spread"]]
    said = figure.readout
    thaw = frozen == [False] + [True] * 7 and max(map(max, said["spread"])) < 1
    return given(thaw, f"none is, and it loses {COUNTS[8 - said['right']]} of eight")


def film(figure: Any) -> list[str]:
    said = figure.readout
    return [f"{100 * said['mode']:.0f} %", f"{100 * said['right']:.0f} %"]


def lengths(figure: Any) -> list[str]:
    return ["{:.2f} and {:.2f}".format(*figure.readout["lengths"])]


def taken(figure: Any) -> list[str]:
    said = figure.readout
    steps = len(said["path"]) - 1
    return [f"takes {steps} steps" if said["left"][-1] < 1e-9 else f"is not there after {steps}"]


def meeting(figure: Any) -> list[str]:
    return given(figure.readout["met"] > 0, f"at step {figure.readout['met']}")


def still_apart(figure: Any) -> list[str]:
    return given(figure.readout["met"] < 0, "they are apart", f"{figure.readout['law'][-1]:.3f} from rest")


SAYS: dict[tuple[str, str], Said] = {
    ("01_softmax_limits", "Turn β to 1"): lambda f: [f"{f.readout['effective_keys']:.1f} keys share"],
    ("01_softmax_limits", "Turn β to 10"): lambda f: [f"{f.readout['effective_keys']:.1f} do"],
    ("01_softmax_limits", "drag the lowest score down"): spread_doubles,
    ("02a_scaled_dot_product", "Widen the vectors to 512"): number(3, "largest"),
    ("02a_scaled_dot_product", "Divide by √512"): number(3, "largest"),
    ("02a_scaled_dot_product", "let a marked key agree by 0.3"): number(3, "weights", 0),
    ("02b_translation", "at step 400"): rings,
    ("02b_translation", "With 2,000 steps"): lambda f: given(f.readout["right"] == len(f.readout["links"]), "find all eight"),
    ("02b_translation", "The scaled dot product"): never_freezes,
    ("02c_hops_and_heads", "hide the fact framed in hop 2"): colour,
    ("02c_hops_and_heads", "the network that was told the facts"): told_the_facts,
    ("02c_hops_and_heads", "without that fact"): colour,
    ("03a_associative_memory", "three pictures stored"): lambda f: given(f.readout["wrong"] == 0, "no pixel turns"),
    ("03a_associative_memory", "store a fourth"): lambda f: [f"{COUNTS[f.readout['wrong']]} of its pixels end wrong"],
    ("03b_attention_is_a_gradient_step", "let the ball take a step"): lambda f: [
        f"{f.readout['guaranteed'][0]:.3f}", f"{f.readout['real'][0]:.3f}",
    ],
    ("03b_attention_is_a_gradient_step", "make a step 2.5 long"): lambda f: [
        f"a climb of {-f.readout['guaranteed'][0]:.3f}", f"falls by {f.readout['real'][0]:.3f}",
    ],
    ("03c_flatland", "at β = 2"): places,
    ("03c_flatland", "at β = 1"): one_for_all,
    ("03d_energy_attention", "set the steps to ten"): together,
    ("04a_mean_field_tap", "push the strength to 2"): off(0),
    ("04a_mean_field_tap", "at strength 1.2"): off(0, 1),
    ("04a_mean_field_tap", "friends at strength 2"): everybody,
    ("04b_deep_implicit_attention", "Turn it to 1.02"): number(3, "measured"),
    ("04b_deep_implicit_attention", "lengthen the step to 1.5"): number(3, "rate"),
    ("04c_one_spin_reads_digits", "Back at step 20"): film,
    ("04c_one_spin_reads_digits", "At step 100"): film,
    ("05a_vector_spin_free_energy", "Put it back at the start"): lengths,
    ("05a_vector_spin_free_energy", "equal fields"): number(3, "z", 0),
    ("05a_vector_spin_free_energy", "Cold, without fields"): number(2, "z", 0),
    ("05a_vector_spin_free_energy", "the exact Hessian"): taken,
    ("05a_vector_spin_free_energy", "the printed one"): lambda f: [*taken(f), *lengths(f)],
    ("05b_where_z_sticks", "warm them to β = 1"): number(3, "z", 0),
    ("05b_where_z_sticks", "Give the second a field of 1"): lambda f: [f"{z:.3f}" for z in f.readout["z"]],
    ("05c_vector_spin_attention", "Turn the strength up to 2"): answers,
    ("05c_vector_spin_attention", "fixed numbers"): no_second_term,
    ("05c_vector_spin_attention", "a strength of −2, cold"): number(2, "series"),
    ("06a_attention_on_graphs", "Take the scores as they are"): takes_all,
    ("06a_attention_on_graphs", "Give them unit variance"): most,
    ("06a_attention_on_graphs", "Move β up to 0.1"): most,
    ("06b_beliefs_and_attention", "Five sweeps on the row"): lambda f: given(f.readout["error"] < 1e-9, "the exact marks"),
    ("06b_beliefs_and_attention", "Sixty on the triangle"): number(2, "error"),
    ("06b_beliefs_and_attention", "Couple everyone by −1.5"): swings,
    ("07a_one_block_many_mixers", "At λ = 0.01"): out_of_sight,
    ("07a_one_block_many_mixers", "at λ = 1"): out_of_sight,
    ("07b_one_step_or_many", "four steps go too far"): steps,
    ("07b_one_step_or_many", "four half steps lose less"): steps,
    ("07c_collectives_of_spins", "to three"): all_right(),
    ("07c_collectives_of_spins", "to eight"): all_right(),
    ("07c_collectives_of_spins", "heated to a quarter of its β"): thawed,
    ("07c_collectives_of_spins", "at three"): lambda f: [f"{COUNTS[f.readout['right']]} of eight is right"],
    ("07c_collectives_of_spins", "tie values to keys"): stays,
    ("07d_under_the_instruments", "to one"): finds(0, "none of three"),
    ("07d_under_the_instruments", "to eight"): finds(2, "finds two"),
    ("07d_under_the_instruments", "heat it"): number(2, "U"),
    ("07d_under_the_instruments", "cool it"): number(2, "U"),
    ("08a_arrow_of_time", "at β = 0.3"): number(2, "e_p"),
    ("08a_arrow_of_time", "make the couplings symmetric"): lambda f: [f"{abs(f.readout['e_p']):.2f}"],
    ("08a_arrow_of_time", "Equal weights behind a causal mask"): number(2, "e_p"),
    ("08b_what_is_forgotten", "At β = 0.3"): meeting,
    ("08b_what_is_forgotten", "softmax weights at β = 0.5"): meeting,
    ("08b_what_is_forgotten", "Colder, at 1.5"): still_apart,
    ("08b_what_is_forgotten", "behind a causal mask"): meeting,
    **{("08c_driven_attention", words): missed for words in ("hot spins", "sharper weights", "64 components", "One block")},
    ("hour", "at β = 10"): number(3, "weights", 0),
    ("hour", "at β = 0.4"): one_valley,
    ("hour", "fixed numbers"): no_second_term,
    ("hour", "Take four steps"): lambda f: [f"from {f.readout['errors'][1]:.3f} to {f.readout['errors'][4]:.3f}"],
    ("hour", "with twice as much"): number(2, "ratio"),
    ("hour", "to three"): all_right("eight of eight places right"),
    ("hour", "to eight"): all_right("eight of eight places right"),
    ("hour", "a second block"): lambda f: given(f.readout["profile"][1] == 8 and f.readout["right"] < 8),
    ("hour", "ties what is read"): stays,
    ("index", "Turn the inverse temperature to 0.4"): one_valley,
    ("index", "to three"): all_right(),
    ("index", "to eight"): all_right(),
    ("index", "a second one"): lambda f: given(f.readout["profile"][1] == 8 and f.readout["right"] < 8),
}  # fmt: skip
"""For each sentence, by its page and its words, what stands in its paragraph: numbers of the package, for the figure there."""

PAGES = [pytest.param(page, id=page.name) for page in sentences.pages()]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_with_a_live_figure_has_sentences_that_set_it(page):
    """One to three near each figure of a chapter page; more only where it is spoken of again. Words that fit a phone's line."""
    found = page.sentences
    marked = sum(text.count("data-sets") + text.count("data-to") for _, text in page.prose)
    assert marked == 2 * len(found), "a mark that is not written as the others"
    for name, (place, _) in page.figures.items():
        near = [one for one in found if one.figure == name and abs(one.place - place) <= 4]
        assert 1 <= len(near) <= 5, name
    for one in found:
        assert not re.search(r"[<>\n$`]", one.words)
        assert 5 <= len(one.words) <= 36
    assert len({(one.page, one.words) for one in found}) == len(found)


@pytest.mark.sweep(1 / 2)
@pytest.mark.parametrize("one", sentences.sentences())
def test_it_leads_where_it_says(one: Sentence):
    """The figure is on the page, has these traits, takes these values; and the paragraph says what is seen there."""
    figure = sentences.led_to(one)
    for words in SAYS[one.page.split("/")[1], one.words](figure):
        assert re.search(rf"(?<![\d.]){re.escape(words)}(?!\d)", one.said), (words, one.said)


def test_the_table_names_no_sentence_that_is_gone():
    assert set(SAYS) == {(page.name.split("/")[1], one.words) for page in sentences.pages() for one in page.sentences}


@pytest.mark.parametrize(
    ("figure", "to", "said"),
    [
        ("Walker", '{"steps": 3}', "no Walker on the page"),
        ("SoftmaxThermometer", '{"heat": 3}', "has no heat"),
        ("SoftmaxThermometer", '{"beta": -3}', "beta is -3"),
        ("SoftmaxThermometer", '{"beta": "hot"}', "beta"),
    ],
)
def test_a_sentence_that_leads_nowhere_is_found(figure, to, said):
    wrong = Sentence("notebooks/01_softmax_limits", figure, to, "Turn it", "", 0)
    with pytest.raises((AssertionError, traitlets.TraitError), match=said):
        sentences.led_to(wrong)


BEHIND = {
    "ScoreLab": {"count": ("count",), "correlation": ("correlation",)},
    "HopLab": {"keep": ("keep",), "beta": ("beta",)},
    "BallAndBound": {"beta": ("beta",), "memories": ("memories",)},
    "Flatland": {"steps": ("steps",), "step_size": ("step_size",), "memories": ("memories",)},
    "Iteration": {"step": ("step",), "again": ("seed",)},
    "CouplingsFilm": {"spin": ("spin",)},
    "SaddleExplorer": {"beta": ("beta",), "coupling": ("coupling",), "fields": ("fields",), "rule": ("rule",)},
    "TokensAsFields": {"beta": ("beta",)},
    "GraphLab": {"again": ("seed",)},
    "FactorLab": {"pull": ("fields",), "keep": ("damping",)},
    "TwoFilms": {"kind": ("kind",), "again": ("seed",), "mask": ("causal",)},
    "BlockStack": {"blocks": ("blocks",), "width": ("width",), "kind": ("couplings",), "another": ("seed",)},
    "ArrowFilm": {"sharp": ("sharpness",), "even": ("symmetric",), "mask": ("causal",)},
    "Denoiser": {"beta": ("beta",), "sigma": ("sigma",), "memories": ("memories",), "half": ("half",)},
}
"""Controls behind *More*, as the figure's script calls them, and what of its state they set."""


def test_controls_said_to_be_behind_more_are_there():
    from attnlib.course import live

    for name, controls in BEHIND.items():
        script = (Path(live.__file__).parent / f"{re.sub(r'(?<!^)(?=[A-Z])', '_', name).lower()}.js").read_text(
            encoding="utf-8"
        )
        folded = re.search(r'more = kit\.(?:more\(|html\("div", { class: "more").*?;\n', script, re.DOTALL)
        assert folded, name
        assert not [control for control in controls if not re.search(rf"\b{control}\b", folded[0])], name


@pytest.mark.parametrize("page", PAGES)
def test_a_sentence_that_sets_what_is_behind_more_says_so(page):
    """A reader who wants to do it by hand looks for the control in vain."""
    for one in page.sentences:
        behind = {state for states in BEHIND.get(one.figure, {}).values() for state in states}
        if behind & set(one.changes) and "more" not in one.changes:
            assert "*More*" in one.said, f"{one}: say that {sorted(behind & set(one.changes))} stand behind *More*"
