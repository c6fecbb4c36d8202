"""Live figures from Python: what traits refuse, what a notebook is given, that it is small and the same every time."""

import html
import importlib.util
import json
import math
import re
import subprocess
import sys
import types
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch

pytest.importorskip("anywidget", reason="anywidget is not installed: pip install -e .[book]")

import traitlets

from attnlib.course.live import FigureError, LiveFigure, SoftmaxThermometer

SIXTY_KB = 60_000
VIEW = "application/vnd.jupyter.widget-view+json"
MANY = torch.randn(128, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def bundle(figure):
    data, metadata = figure._repr_mimebundle_()
    return data | metadata


def test_its_text_is_whole_whichever_widgets_are_installed():
    figure = SoftmaxThermometer(beta=2.125, logits=[-12.345, 11.678, 10.123, -9.456, 8.789, -7.321, 6.543, 5.987], seed=12345)
    assert len(repr(figure)) > 110
    assert bundle(figure)["text/plain"] == repr(figure)


BAD = [
    ({"beta": 0}, "beta is 0"),
    ({"beta": -1.5}, "beta is -1.5"),
    ({"beta": math.nan}, "beta is nan"),
    ({"beta": math.inf}, "beta is inf"),
    ({"beta": 1001}, "beta is 1001"),
    ({"logits": []}, "logits has 0 entries"),
    ({"logits": [0.0] * 129}, "logits has 129 entries"),
    ({"logits": [1.0, math.nan]}, "logits has the entry nan"),
    ({"logits": [-math.inf, 0.0]}, "logits has the entry -inf"),
    ({"logits": [100.5]}, "logits has the entry 100.5"),
    ({"seed": -1}, "seed is -1"),
]


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_refuses(settings, complaint):
    with pytest.raises(FigureError, match=re.escape(complaint)) as refused:
        SoftmaxThermometer(**settings)
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, traitlets.TraitError)


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_keeps_the_old_value_when_it_refuses(settings, complaint):
    figure = SoftmaxThermometer(logits=[1.0, 2.0], beta=3.0, seed=4)
    (name, value), *_ = settings.items()
    with pytest.raises(FigureError, match=re.escape(complaint)):
        setattr(figure, name, value)
    assert figure.state() == {"beta": 3.0, "logits": [1.0, 2.0], "seed": 4}


def test_a_word_is_not_a_temperature():
    with pytest.raises(traitlets.TraitError):
        SoftmaxThermometer().beta = "hot"


def test_takes_integers_tensors_and_tuples():
    assert SoftmaxThermometer(logits=(1, 2), beta=3).state() == {"beta": 3.0, "logits": [1.0, 2.0], "seed": 0}
    assert SoftmaxThermometer(logits=MANY).logits == MANY.tolist()


def test_is_observed_and_linked_as_any_widget():
    figure, other, seen = SoftmaxThermometer(), SoftmaxThermometer(), []
    figure.observe(lambda change: seen.append(change["new"]), names="beta")
    traitlets.link((figure, "beta"), (other, "beta"))
    figure.beta = 3
    assert seen == [3.0]
    assert other.beta == 3.0
    assert {"beta", "logits", "seed"} <= set(figure.keys)


def test_what_comes_back_from_the_browser_is_checked_too():
    figure = SoftmaxThermometer()
    figure.set_state({"logits": [0, 1.5], "beta": 2})
    assert figure.logits == [0.0, 1.5]
    with pytest.raises(FigureError):
        figure.set_state({"beta": -2})
    assert figure.beta == 2.0


@pytest.mark.parametrize(
    ("logits", "beta"),
    [([1.0, 0.8, 0.3, -0.2], 1.0), ([1.0, 0.8, 0.3, -0.2], 50.0), ([2.0], 1.0), ([0.0] * 5, 7.0), (MANY.tolist(), 2.5)],
)
def test_readout_against_definitions(logits, beta):
    said = SoftmaxThermometer(logits=logits, beta=beta).readout
    scores = beta * torch.tensor(logits, dtype=torch.float64)
    law = torch.distributions.Categorical(logits=scores)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    close = {"rel": 1e-9, "abs": 1e-12}
    assert said["weights"] == pytest.approx(law.probs.tolist(), **close)
    assert said["entropy"] == pytest.approx(law.entropy().item(), abs=1e-7)  # torch's own is rounded where a weight underflows
    assert said["entropy_ratio"] * math.log(len(logits)) == pytest.approx(said["entropy"], **close)
    assert 1 / said["effective_keys"] == pytest.approx((law.probs @ law.probs).item(), **close)
    assert said["participation"] * said["effective_keys"] == pytest.approx(1, **close)
    assert len(logits) ** said["liquid"] == pytest.approx(said["effective_keys"], **close)
    assert said["norm"] == pytest.approx(torch.linalg.matrix_norm(jacobian, 2).item(), **close)
    assert said["norm_low"] - 1e-12 <= said["norm"] <= said["norm_high"] + 1e-12
    assert said["sigma"] == pytest.approx(scores.var(correction=0).sqrt().item(), **close)
    assert math.exp(said["sigma_c"] ** 2 / 2) == pytest.approx(len(logits), **close)


def test_what_is_frozen_follows_from_the_weights():
    """A score that nobody looks at changes the spread, and two crowds have a large one: neither freezes anything."""
    near, far = (SoftmaxThermometer(logits=[1.0, 0.8, 0.3, low], beta=10).readout for low in (-0.2, -3.0))
    assert far["sigma"] > 3 * near["sigma"]
    assert far["liquid"] == pytest.approx(near["liquid"], abs=1e-4)
    crowds = SoftmaxThermometer(logits=[3.0] * 64 + [-3.0] * 64, beta=2).readout
    assert crowds["sigma"] > crowds["sigma_c"]
    assert crowds["effective_keys"] == pytest.approx(64, abs=0.01)
    assert crowds["liquid"] == pytest.approx(6 / 7, abs=1e-4)
    equal, single = (SoftmaxThermometer(logits=logits, beta=100).readout["liquid"] for logits in ([0.5] * 9, [1.0, 0.0]))
    assert (equal, single) == (pytest.approx(1), pytest.approx(0, abs=1e-9))


# What a notebook is given


@pytest.mark.parametrize("logits", [[1.0, 0.8, 0.3, -0.2], MANY.tolist()], ids=["4 keys", "128 keys"])
def test_a_notebook_gets_a_view_a_page_and_a_short_text(logits):
    data = bundle(SoftmaxThermometer(logits=logits))
    assert set(data) == {VIEW, "text/html", "text/plain"}
    assert len(data["text/plain"]) < 100
    assert data["text/plain"].startswith("SoftmaxThermometer(beta=1.0, logits=")
    assert len(json.dumps(data)) < SIXTY_KB


def test_is_the_same_every_time():
    """Two figures of one process have different model ids; nothing else may show it. Nor may another process."""
    one, two = bundle(SoftmaxThermometer()), bundle(SoftmaxThermometer())
    assert one.pop(VIEW) != two.pop(VIEW)
    assert one == two
    script = "from attnlib.course.live import SoftmaxThermometer as S; print(S().page(), end='')"
    other = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "1"}
    )
    assert other.stdout == one["text/html"]
    assert not re.search(r"0x[0-9a-f]{6}|\b[0-9a-f]{32}\b", one["text/plain"] + one["text/html"])


def test_the_page_holds_the_state_and_no_address():
    figure = SoftmaxThermometer(logits=[0.1, -1 / 3, 2], beta=1 / 7, seed=5)
    page = figure.page()
    state = json.loads(html.unescape(re.search(r'data-state="([^"]*)"', page)[1]))
    assert state == figure.state()
    assert set(re.findall(r"https?://[^\"'%\s]+", page)) == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert page.count("<script") == page.count("</script") == 1


def test_the_page_and_the_widget_run_the_same_module():
    figure = SoftmaxThermometer()
    assert figure._esm in figure.page()
    assert re.search(r"export default ?\{ ?render ?\};$", figure.get_state("_esm")["_esm"].rstrip())


@pytest.mark.parametrize("logits", [[1.0, 0.8, 0.3, -0.2], [0.0], MANY.tolist()], ids=["4 keys", "1 key", "128 keys"])
def test_the_still_picture_is_drawn_from_the_same_numbers(logits):
    figure = SoftmaxThermometer(logits=logits, beta=2)
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', figure.page())[1]))
    words = " ".join(text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text"))
    assert f"entropy {figure.readout['entropy']:.2f} nats" in words
    bars = [path.get("d") for path in drawn.iter("{http://www.w3.org/2000/svg}path") if path.get("fill") == "#d55e00"]
    heights = [-float(height) / 144 for height in re.findall(r"v(-?[\d.]+)h", bars[0])]
    assert heights == pytest.approx(figure.readout["weights"], abs=0.001)
    assert f"{max(figure.readout['weights']):.2f}" in figure.alt()
    assert html.escape(figure.alt()) in figure.page()


def test_colab_gets_the_widget_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    assert set(bundle(SoftmaxThermometer())) == {VIEW, "text/plain"}


# A new figure


def write_figure(folder, module="function render() {}\nexport default { render };\n"):
    """A figure of one's own: two files beside each other."""
    (folder / "dial.js").write_text(module, encoding="utf-8")
    (folder / "dial.py").write_text(
        "import traitlets\nfrom attnlib.course.live import LiveFigure\n\n\n"
        "class Dial(LiveFigure):\n    turn = traitlets.Float(0.5).tag(sync=True)\n    hidden = traitlets.Float(1.0)\n\n"
        "    def still(self):\n        return '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\n\n"
        "    def alt(self):\n        return 'A dial <at> \"a half\".'\n",
        encoding="utf-8",
    )
    spec = importlib.util.spec_from_file_location("dial", folder / "dial.py")
    sys.modules["dial"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["dial"])
    return sys.modules["dial"].Dial


def test_two_files_make_a_figure(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dial", None)
    dial = write_figure(tmp_path)(turn=0.25)
    assert dial.state() == {"turn": 0.25}
    assert repr(dial) == "Dial(turn=0.25)"
    assert "A dial &lt;at&gt; &quot;a half&quot;." in dial.page()
    assert 'kit.start("Dial", render)' in dial.page()


@pytest.mark.parametrize("text", ["</script>", "<!-- so -->"])
def test_a_module_cannot_end_its_script(tmp_path, monkeypatch, text):
    monkeypatch.setitem(sys.modules, "dial", None)
    dial = write_figure(tmp_path, f"function render() {{ return '{text}'; }}\nexport default {{ render }};\n")
    with pytest.raises(ValueError, match="module of Dial holds"):
        dial().page()


def test_a_figure_without_a_picture_says_so():
    class Bare(LiveFigure):
        _esm = "export default {};\n"

    with pytest.raises(NotImplementedError):
        Bare().page()
