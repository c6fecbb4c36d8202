"""What all live figures share: one ES module that is a widget with a kernel and draws itself on a page without one."""

import html
import inspect
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from attnlib._core.extras import extra

with extra("attnlib.course.live"):
    import anywidget
    import traitlets

_WIDTH = 720
_ASIDE = re.compile(r"^\s*//.*\n|^\s*/\*(?s:.*?)\*/\n|^\s+", re.MULTILINE)
_OPEN = re.compile(r"^((?:(?!//).)*[{(\[,])\n", re.MULTILINE)
_TAIL = re.compile(r"(?<=[;,{(\[)\]}\w]) // [^\n\"`]*$", re.MULTILINE)
_AROUND = re.compile(r";?\s*([{};,]|(?<=[\w-]):(?= ))\s*")
_PLAIN = re.compile(r"^[^'/\n]+$", re.MULTILINE)
_TEXT = re.compile(r'("(?:[^"\\]|\\.)*"|`[^`]*`)')
_BETWEEN = re.compile(r" ?(=>|&&|\|\||[=!<>]==?|[-+*]=|[=<>?:,;*{}()\[\]]) ?")


def _script(path: Path) -> str:
    """A script as a page carries it: no indentation, no comments; what is begun or ended goes on in its line.

    Spaces around signs go, but for those in texts, and in lines that hold a pattern or a template within a template.
    """
    text = _OPEN.sub(r"\1", _TAIL.sub("", _ASIDE.sub("", path.read_text(encoding="utf-8"))))
    code, *rest = re.split(r"(?<= = `\n)([^`]*)(?=`;\n)", text)
    dense = [_PLAIN.sub(lambda line: _tight(line[0]), part) for part in (code, *rest[1::2])]
    styles = [_AROUND.sub(r"\1", style) for style in rest[::2]]
    dense = [part.replace(";\n}", "}").replace(";\n", ";") for part in dense]
    return dense[0] + "".join(style + part for style, part in zip(styles, dense[1:], strict=True))


def _tight(line: str) -> str:
    parts = _TEXT.split(line)  # texts at odd places; a template that is cut within its braces holds another one
    if "`" in "".join(parts[::2]) or any(part.count("{") != part.count("}") for part in parts[1::2] if part.startswith("`")):
        return line
    return "".join(part if place % 2 else _BETWEEN.sub(r"\1", part) for place, part in enumerate(parts))


_HERE = Path(__file__).parent
_KIT, _STARTER = (_script(_HERE / name) for name in ("kit.js", "starter.js"))


class FigureError(traitlets.TraitError, ValueError):
    """A trait of a figure got a value that it cannot take. The trait keeps its old value.

    >>> from attnlib.course.live import SoftmaxThermometer
    >>> try:
    ...     SoftmaxThermometer(beta=-1.0)
    ... except FigureError as error:
    ...     print(str(error).split(";")[0])
    beta is -1.0
    """


class Number(traitlets.Float):  # type: ignore[type-arg]  # old versions take none
    """A trait that is a number in a range, both ends included; another is refused with a :class:`FigureError`."""

    def __init__(self, default: float | int, *, least: float | int, most: float | int) -> None:
        super().__init__(default)
        self.least, self.most = least, most

    def validate(self, obj: Any, value: Any) -> Any:
        """The number, if it is in the range: a NaN is not."""
        return _within(self, super().validate(obj, value))


class Whole(traitlets.Int):  # type: ignore[type-arg]
    """A trait that is a whole number in a range, both ends included; another is refused with a :class:`FigureError`."""

    def __init__(self, default: int, *, least: int, most: int) -> None:
        super().__init__(default)
        self.least, self.most = least, most

    def validate(self, obj: Any, value: Any) -> Any:
        """The number, if it is in the range."""
        return _within(self, super().validate(obj, value))


class Choice(traitlets.Unicode):  # type: ignore[type-arg]
    """A trait that is one of some names; another is refused with a :class:`FigureError`."""

    def __init__(self, default: str, among: Iterable[str]) -> None:
        super().__init__(default)
        self.among = tuple(among)

    def validate(self, obj: Any, value: Any) -> Any:
        """The name, if it is one of them."""
        if super().validate(obj, value) not in self.among:
            raise FigureError(f"{self.name} is {value!r}; expected one of {', '.join(map(repr, self.among))}")
        return value


class Seed(traitlets.Int):  # type: ignore[type-arg]
    """A trait that seeds random numbers: from 0 to 2**31 - 1; another is refused with a :class:`FigureError`."""

    def validate(self, obj: Any, value: Any) -> Any:
        """The number, if a generator takes it."""
        if not 0 <= super().validate(obj, value) < 2**31:
            raise FigureError(f"{self.name} is {value}; expected an integer from 0 to 2**31 - 1")
        return value


def _within(trait: Number | Whole, value: float | int) -> float | int:
    if not trait.least <= value <= trait.most:
        raise FigureError(f"{trait.name} is {value}; expected {trait.least:g} <= {trait.name} <= {trait.most:g}")
    return value


class LiveFigure(anywidget.AnyWidget):
    """A figure that the reader can move, in Jupyter, in Colab and on a static page.

    In Jupyter and Colab it is a widget: its traits can be set, observed and linked from Python. In the book there is no
    kernel. There the same module runs from the page itself, which holds it, the values of the traits and a stand-in for the
    widget's model. Nothing is fetched from elsewhere. Without JavaScript the page shows a still picture.

    To write one, put two files beside each other, ``name.py`` and ``name.js``.

    In Python, derive a class from this one:

    - Its public traits, tagged ``sync=True``, are the state of the figure, plain numbers and lists. Put them into
      ``__init__`` by name and refuse what the module cannot draw with a :class:`FigureError`.
    - ``constants`` holds by name what the module and Python must agree on: limits, tables, settings to choose from. They are
      written in Python only; the module reads ``kit.constants``.
    - ``shared`` names scripts of this folder that the module needs beside the kit, ``("driven_spins",)`` say; their text stands
      in front of it.
    - ``still()`` returns an SVG of the state as a string, drawn from numbers that ``attnlib`` computes. Two decimals are
      enough: the notebooks are compared character by character.
    - ``alt()`` says in a sentence what the still picture shows.

    In JavaScript, define ``function render({ model, el })`` at the top level and end with ``export default { render };``. On a
    page without a kernel it is also given ``page: true``.

    - ``kit.js`` stands in front of every module. ``kit.card`` makes the ground of the figure, which follows the theme of the
      page; ``kit.layout`` puts the picture, its controls and its readings where a phone and a desk need them; ``kit.slider``,
      ``kit.toggle``, ``kit.choice`` and ``kit.button`` are controls, ``kit.reading`` a line of numbers, ``kit.html`` and
      ``kit.svg`` elements. ``kit.plot`` draws axes, lines and dots, ``kit.canvas`` is as sharp as the screen, ``kit.drag``
      moves things by mouse, finger and keys, ``kit.loop`` runs over frames; ask ``kit.reducedMotion`` before you start one.
      ``kit.generator`` draws numbers from a seed, ``kit.numeral`` writes them.
    - What the reader does goes to the model, ``kit.store(model, { beta: 2 })``, and only there. Draw when the model changes:
      then Python, a second view and the reader see the same state. ``kit.run`` does it, for the theme and the size too, and
      returns ``close``, which ``render`` returns in turn.
    - Compute everything in pure functions, export them, and give ``kit.run`` a ``readout``, a function that returns the numbers
      shown, for a test that compares them with ``attnlib``. It stands in ``el.figure``, with ``model``, ``draw`` and
      ``constants``.

    >>> from attnlib.course.live import SoftmaxThermometer
    >>> figure = SoftmaxThermometer()
    >>> isinstance(figure, LiveFigure), sorted(figure.state())
    (True, ['beta', 'logits', 'seed'])
    """

    constants: ClassVar[dict[str, Any]] = {}
    shared: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "_esm" not in cls.__dict__:
            constants = json.dumps(cls.constants, separators=(",", ":"), allow_nan=False)
            own = Path(inspect.getfile(cls)).with_suffix(".js")
            texts = [_script(path) for path in (*(_HERE / f"{name}.js" for name in cls.shared), own)]
            cls._esm = f"{_KIT}kit.constants = {constants};\n{''.join(texts)}"
        super().__init_subclass__(**kwargs)

    def still(self) -> str:
        """The state of the figure as an SVG, ``<svg ...>...</svg>``, for readers without JavaScript."""
        raise NotImplementedError

    def alt(self) -> str:
        """What the still picture shows, in a sentence."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """The values of the figure's own synchronised traits, by name."""
        common = anywidget.AnyWidget.class_traits(sync=True)
        names = sorted(name for name in self.traits(sync=True) if name not in common and not name.startswith("_"))
        return {name: getattr(self, name) for name in names}

    def page(self) -> str:
        """HTML that shows the figure without a kernel: the still picture, and the script that replaces it.

        It is the same for the same state, and holds no identifiers: the script looks for figures that nobody has started.
        """
        name, state = type(self).__name__, html.escape(json.dumps(self.state(), sort_keys=True, separators=(",", ":")))
        picture = f"data:image/svg+xml,{quote(self.still(), safe=' =:/;,()')}"
        script = f"{self._esm}{_STARTER}kit.start({json.dumps(name)}, render);\n"
        if "</script" in script or "<!--" in script:
            raise ValueError(f"the module of {name} holds </script or <!--; expected neither: they end a script in HTML")
        return (
            f'<div data-live="{name}" data-state="{state}">'
            f'<img alt="{html.escape(self.alt())}" width="{_WIDTH}" style="max-width:100%;height:auto" src="{picture}"></div>\n'
            f'<script type="module">\n{script}</script>'
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={_short(value)}' for name, value in self.state().items())})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget's view and, for pages without a kernel, HTML. Colab gets the view alone, so that it shows that one."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0]["text/plain"] = repr(self)  # whole: older widgets cut it off
            if "google.colab" not in sys.modules:
                bundle[0]["text/html"] = self.page()
        return bundle


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return f"<{', '.join(sorted(value))}>"
    return f"<{len(value)} numbers>" if isinstance(value, list) and len(value) > 8 else repr(value)
