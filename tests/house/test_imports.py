"""The rules of the house for attnlib: who may import whom, what an import loads, how files and docstrings are written."""

import ast
import dataclasses
import importlib
import inspect
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import course
import jaxtyping
import pytest
import torch
from beartype.roar import BeartypeCallHintViolation

import attnlib

ROOT = Path(attnlib.__file__).parent
ORDER = course.ROOMS
"""A room imports only those before it, and ``_core`` nothing."""
LONGEST = 250

FILES = sorted(ROOT.rglob("*.py"))
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


@cache
def parsed(text):
    return ast.parse(text)


def tree(path):
    """The syntax of a file, read once as long as the file stays as it is."""
    return parsed(path.read_text())


def room(path):
    """The package directly under attnlib that a file belongs to, or ``__init__``."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def is_room(name):
    return (ROOT / name).is_dir()


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def imported(path):
    """What a file imports from attnlib, anywhere in it: dotted names below attnlib, and the names they get in the file."""
    package = ("attnlib", *path.relative_to(ROOT).parts[:-1])
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, alias.asname or alias.name.split(".")[0]) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            found += [(f"{module}.{alias.name}", alias.asname or alias.name) for alias in node.names]
    return [(name.split(".")[1:], local) for name, local in found if name.split(".")[0] == "attnlib"]


def rooms(path):
    """The rooms that a file imports; ``__init__`` stands for attnlib's own list."""
    return {parts[0] if parts and is_room(parts[0]) else "__init__" for parts, _ in imported(path)}


# Rules: each gives the sentences that a file breaks it with


def wrong_rooms(path):
    name = room(path)
    allowed = {*ORDER[:-1]} if name == "__init__" else {*ORDER[: ORDER.index(name) + 1]}
    return [f"imports {other}" for other in sorted(rooms(path) - allowed)]


def listed(package):
    """The names in ``__all__`` of a package's ``__init__``."""
    path = ROOT.joinpath(*package, "__init__.py")
    for node in tree(path).body if path.is_file() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def names_not_exported(path):
    """Names from another room that its package does not export. The floor's files are everybody's, and a star is its list."""
    found, front = [], room(path) == "__init__"
    for parts, _ in imported(path):
        if not parts or parts[0] in (room(path), "_core") or not is_room(parts[0]) or (front and len(parts) == 1):
            continue
        if len(parts) != 2 or parts[1] not in {"*", *listed(parts[:1])}:
            found.append(f"imports {'.'.join(parts)}, which {parts[0]} does not export")
    return found


def private_names(path):
    """Names with a leading underscore that come from another room; the floor, ``_core``, is everybody's."""
    foreign = [(parts, local) for parts, local in imported(path) if parts[:1] != [room(path)]]
    found = [f"imports {'.'.join(parts)}" for parts, _ in foreign if any(map(is_private, parts[1:]))]
    found += [f"imports {parts[0]}" for parts, _ in foreign if parts and is_private(parts[0]) and parts[0] not in ORDER]
    names = {local for _, local in foreign}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if isinstance(owner, ast.Name) and owner.id in names:
                found.append(f"uses {ast.unparse(node)}")
    return found


def borrowed_names(path):
    """Names imported from a file that has itself imported them: a re-export."""
    found = []
    for parts, _ in imported(path):
        home = ROOT.joinpath(*parts[:-1]).with_suffix(".py") if len(parts) > 1 else None
        if home is not None and home.is_file() and parts[-1] in names_imported(home.read_text()):
            found.append(f"imports {parts[-1]} from {'.'.join(parts[:-1])}, which imports it too")
    return found


@cache
def names_imported(text):
    """The names that imports bind in a file with this text: many ask the same files."""
    imports = [node for node in ast.walk(parsed(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name.split(".")[0] for node in imports for alias in node.names}


def silenced_imports(path):
    text = path.read_text()
    nodes = [node for node in ast.walk(parsed(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = {number for node in nodes for number in range(node.lineno, node.end_lineno + 1)}
    return [f"line {n} silences ruff: {line}" for n, line in enumerate(text.splitlines(), 1) if n in lines and "noqa" in line]


def hidden_arguments(path):
    """Constructors of public classes that swallow arguments by name."""
    nodes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]
    methods = [(node.name, method) for node in nodes for method in node.body if isinstance(method, ast.FunctionDef)]
    methods = [(name, method) for name, method in methods if method.name in ("__init__", "__new__") and name[0] != "_"]
    return [f"{name} takes **{method.args.kwarg.arg}" for name, method in methods if method.args.kwarg]


def too_many_lines(path):
    text = path.read_text()
    if len(text.splitlines()) <= LONGEST or f"onger than {LONGEST} lines" in (ast.get_docstring(parsed(text)) or ""):
        return []
    return [f'has {len(text.splitlines())} lines, and its docstring does not say why it is "longer than {LONGEST} lines"']


RULES = [wrong_rooms, names_not_exported, private_names, borrowed_names, silenced_imports, hidden_arguments, too_many_lines]


def test_every_room_has_a_place():
    assert {room(path) for path in FILES} == {"__init__", *ORDER}
    assert not [name for name in ORDER if not (ROOT / name / "__init__.py").is_file()]


@every_file
def test_a_file_keeps_the_rules(path):
    assert not [sentence for rule in RULES for sentence in rule(path)]


def classes():
    """The classes of all files, by name: their room, the names of their bases, the private names they use and define."""
    found = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).split(".")[-1] for base in node.bases]
                mine = [a for a in ast.walk(node) if isinstance(a, ast.Attribute) and ast.unparse(a.value) in ("self", "cls")]
                used, stored = ({a.attr for a in mine if isinstance(a.ctx, kind)} for kind in (ast.Load, ast.Store))
                lines = [line for line in node.body if isinstance(line, ast.Assign | ast.AnnAssign)]
                body = {ast.unparse(name) for line in lines for name in getattr(line, "targets", None) or [line.target]}
                defined = stored | body | {line.name for line in node.body if isinstance(line, ast.FunctionDef)}
                found[node.name] = (room(path), bases, set(filter(is_private, used)), set(filter(is_private, defined)))
    return found


def private_names_of_foreign_bases():
    """Private names that a class takes through ``self`` from a base that another room defines, by class."""
    known, found = classes(), {}
    for name, (home, bases, used, _) in known.items():
        own, foreign, left = set(), set(), [name, *bases]
        while left:
            place, further, _, defined = known.get(left.pop(), (home, [], set(), set()))
            (own if place == home else foreign).update(defined)
            left += further
        if used & foreign - own:
            found[name] = used & foreign - own
    return found


def test_no_class_takes_private_names_from_a_base_in_another_room():
    assert {"Mixer", "EnergyAttention", "LiveFigure"} <= set(classes())
    assert not private_names_of_foreign_bases()


# The rules see what they are for


@pytest.fixture
def house(tmp_path, monkeypatch):
    """An empty house: writes a file and returns its path."""
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)

    def write(name, *lines):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("\n".join(lines))
        return path

    for name in (
        "_core/checks.py",
        "_core/numerics.py",
        "softmax/weights.py",
        "hopfield/energy.py",
        "course/live/kit.py",
        "solve/a.py",
    ):
        write(name)
    write("attention/__init__.py", "from attnlib.attention.attend import attend", '__all__ = ["attend", "Mixer"]')
    write("hopfield/__init__.py", '__all__ = ["descend"]')
    write("attention/attend.py", "from attnlib._core.numerics import widened", "def attend(): ...")
    return write


def test_the_reader_of_imports_reads_every_kind(house):
    path = house(
        "attention/room.py",
        "import attnlib.softmax, torch",
        "from attnlib import course, softmax as s",
        "from .._core.checks import check",
        "from .attend import attend",
        "def f():",
        "    from attnlib.hopfield import descend",
        "    from .. import hopfield",
    )
    assert rooms(path) == {"softmax", "course", "_core", "attention", "hopfield"}
    assert (["hopfield", "descend"], "descend") in imported(path)
    assert (["attention", "attend", "attend"], "attend") in imported(path)
    assert (["softmax"], "s") in imported(path)
    assert rooms(house("attention/room.py", "from attnlib import attend")) == {"__init__"}
    assert rooms(house("attention/room.py", "import attnlib")) == {"__init__"}


@pytest.mark.parametrize(
    ("name", "lines", "rule", "complaint"),
    [
        ("softmax/a.py", ["from attnlib.attention import attend"], wrong_rooms, "imports attention"),
        ("attention/a.py", ["import attnlib.hopfield.energy"], wrong_rooms, "imports hopfield"),
        ("attention/a.py", ["from attnlib import attend"], wrong_rooms, "imports __init__"),
        ("attention/a.py", ["from .. import course"], wrong_rooms, "imports course"),
        ("course/a.py", ["from attnlib import attend"], wrong_rooms, "imports __init__"),
        ("_core/a.py", ["from attnlib.solve import fixed_point"], wrong_rooms, "imports solve"),
        ("solve/a.py", ["from attnlib.softmax import entropy"], wrong_rooms, "imports softmax"),
        ("course/a.py", ["from attnlib.hopfield.energy import f"], names_not_exported, "imports hopfield.energy.f"),
        ("hopfield/a.py", ["from attnlib.attention.attend import attend"], names_not_exported, "imports attention.attend"),
        ("hopfield/a.py", ["from attnlib.attention import Heads"], names_not_exported, "which attention does not export"),
        ("hopfield/a.py", ["from attnlib.softmax.weights import _check"], private_names, "imports softmax.weights._check"),
        ("hopfield/a.py", ["from attnlib.softmax._weights import x"], private_names, "imports softmax._weights.x"),
        ("hopfield/a.py", ["from attnlib._core.checks import _kind"], private_names, "imports _core.checks._kind"),
        ("course/a.py", ["from attnlib._figure import x"], private_names, "imports _figure"),
        ("hopfield/a.py", ["import attnlib.softmax.weights as w", "w._check()"], private_names, "uses w._check"),
        ("hopfield/a.py", ["from attnlib.attention import Mixer", "Mixer._mix(1)"], private_names, "uses Mixer._mix"),
        ("hopfield/a.py", ["import attnlib", "attnlib.softmax._x"], private_names, "uses attnlib.softmax._x"),
        (
            "hopfield/a.py",
            ["from attnlib.attention.attend import widened"],
            borrowed_names,
            "imports widened from attention.attend",
        ),
        (
            "softmax/a.py",
            ["from attnlib._core.checks import (", "    x,  # noqa: F401", ")"],
            silenced_imports,
            "line 2 silences",
        ),
        ("softmax/a.py", ["class A:", "    def __init__(self, **settings): ..."], hidden_arguments, r"A takes \*\*settings"),
        ("softmax/a.py", ["x = 1"] * 251, too_many_lines, "has 251 lines"),
    ],
)
def test_a_rule_is_broken_by(house, name, lines, rule, complaint):
    assert re.search(complaint, " ".join(rule(house(name, *lines))))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("hopfield/a.py", ["from attnlib.attention import attend", "from attnlib.hopfield.energy import relaxed"]),
        ("hopfield/a.py", ["from attnlib._core.numerics import widened", "from attnlib.hopfield.energy import _check"]),
        ("hopfield/a.py", ["import torch._dynamo as d", "d._x", "self._y"]),
        ("softmax/a.py", ["class _A:", "    def __init__(self, **settings): ...", "class B:", "    def f(self, **s): ..."]),
        ("softmax/a.py", ["x = 1  # noqa: E501"]),
        ("softmax/a.py", ["x = 1"] * 250),
        ("softmax/a.py", ['"""A table.', "", "Longer than 250 lines: it is one table.", '"""', *["x = 1"] * 300]),
        ("course/live/a.py", ["from attnlib.course.data import x", "from attnlib.course.live.kit import _y"]),
        ("course/a.py", ["from attnlib.hopfield import descend", "from attnlib._core.checks import check"]),
    ],
)
def test_the_rules_let_pass(house, name, lines):
    path = house(name, *lines)
    assert not [sentence for rule in RULES for sentence in rule(path)]


def test_the_look_at_bases_sees_what_another_room_hides(house):
    lines = ["class Base:", "    def __init__(self):", "        self._size = 1", "    def _split(self): ..."]
    house("attention/mixer.py", *lines)
    lines = ["class Child(Base):", "    def mix(self):", "        self._split()", "        return self._size + self._own()"]
    house("hopfield/mixer.py", *lines, "    def _own(self): ...")
    house("attention/other.py", *[line.replace("Child", "Neighbour") for line in lines])
    house("hopfield/further.py", "class Grandchild(Child):", "    def mix(self):", "        return self._own(), self._split()")
    assert private_names_of_foreign_bases() == {"Child": {"_split", "_size"}, "Grandchild": {"_split"}}


# What an import loads


HEAVY = [
    "matplotlib",
    "networkx",
    "sklearn",
    "scipy",
    "pandas",
    "ipywidgets",
    "anywidget",
    "IPython",
    "tqdm",
    "beartype",
    "joblib",
    "dask",
]


@pytest.mark.slow
def test_importing_attnlib_loads_torch_and_numpy_and_nothing_heavier():
    """What torch itself brings along is not attnlib's doing."""
    script = "import sys, json, torch, numpy; before = set(sys.modules); import attnlib; "
    script += "print(json.dumps([sorted(before), sorted(set(sys.modules) - before)]))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    before, after = json.loads(answer.stdout)
    new = {name.split(".")[0] for name in after} - {name.split(".")[0] for name in before}
    assert {"torch", "numpy"} <= set(before)
    assert not new & set(HEAVY)
    for name in ("matplotlib", "networkx", "sklearn", "ipywidgets", "IPython"):
        assert name not in before, f"torch loads {name} by itself: this test no longer says anything about it"


@pytest.mark.slow
def test_each_file_can_be_imported_first():
    """No circle of imports: each file loads in an interpreter that has none of the others, nor the package's own list."""
    files = [path.relative_to(ROOT).with_suffix("").parts for path in FILES if room(path) in ORDER[:-1]]
    names = sorted({".".join(part for part in parts if part != "__init__") for parts in files})
    assert {"_core.checks", "hopfield", "hopfield.energy"} <= set(names)
    script = f"""
import importlib, sys, types
for name in {names!r}:
    for old in [key for key in sys.modules if key.split(".")[0] == "attnlib"]:
        del sys.modules[old]
    package = sys.modules["attnlib"] = types.ModuleType("attnlib")
    package.__path__ = [{str(ROOT)!r}]
    importlib.import_module("attnlib." + name)
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


# Public names


PACKAGES = [*course.LIBRARY, "course", *(f"course.{name}" for name in ("models", "oracles", "data", "exercises", "live"))]
"""The packages that list their public names."""


@pytest.mark.parametrize("name", ["attnlib", *(f"attnlib.{name}" for name in PACKAGES)])
def test_a_package_lists_what_it_imports_and_nothing_else(name):
    package = importlib.import_module(name)
    names = list(package.__all__)
    assert len(names) == len(set(names))
    assert not [one for one in names if not hasattr(package, one)]
    if name != "attnlib":  # which takes all that the packages list, as the next test says
        assert names == sorted(names)
        assert set(names) == {local for parts, local in imported(Path(package.__file__)) if not is_private(local)}


def test_attnlib_offers_what_the_chapters_make_public():
    public = {name for package in course.LIBRARY for name in importlib.import_module(f"attnlib.{package}").__all__}
    assert set(attnlib.__all__) == public | {"ConvergenceError", "ConvergenceWarning", "no_value_checks"}


# Docstrings


@cache
def public():
    """Public functions and classes of attnlib's packages, and the public methods defined in it, by name."""
    things = {name: getattr(attnlib, name) for name in attnlib.__all__}
    for name in (*course.LIBRARY, "course.models", "course.oracles", "course.data"):
        package = importlib.import_module(f"attnlib.{name}")
        things |= {key: getattr(package, key) for key in package.__all__}
    for name in ("attnlib.course.data.stories", "attnlib.course.data.recorded", "attnlib.course.data.seeds"):
        module = importlib.import_module(name)
        things |= {key: thing for key, thing in vars(module).items() if key[0] != "_" and defined_in(module, thing)}
    things = {name: thing for name, thing in things.items() if inspect.isfunction(thing) or inspect.isclass(thing)}
    bases = {base for thing in things.values() if inspect.isclass(thing) for base in thing.__mro__}
    for base in bases:
        if base.__module__.startswith("attnlib."):
            methods = {name: value for name, value in vars(base).items() if inspect.isfunction(value) and name[0] != "_"}
            things |= {f"{base.__name__}.{name}": method for name, method in methods.items()}
    return things


def defined_in(module, thing):
    return (inspect.isfunction(thing) or inspect.isclass(thing)) and thing.__module__ == module.__name__


SHAPE = re.compile(r"``[^`]*\[[^`]*\]``|[Ss]hapes")
ERROR = re.compile(r"ValueError|ConvergenceError|NotImplementedError|[Ee]rrors? (are those|as)|for shapes and errors")


@pytest.mark.parametrize("name", sorted(public()))
def test_a_docstring_says_shapes_and_errors(name):
    thing = public()[name]
    text = thing.__doc__  # its own: an inherited one is about another thing
    assert text
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    signature = inspect.signature(thing)
    annotations = [str(p.annotation) for p in signature.parameters.values()] + [str(signature.return_annotation)]
    if "Tensor" in " ".join(annotations):
        assert SHAPE.search(text), f"{name} says nothing about shapes"
    if not dataclasses.is_dataclass(thing) and [p for p in signature.parameters if p != "self"]:
        assert ERROR.search(text), f"{name} says nothing about errors"


def test_stated_shapes_are_checked_while_tests_run():
    """By jaxtyping, where a function of the package says what shape it takes."""
    from attnlib.hopfield import hopfield_energy

    with pytest.raises(jaxtyping.TypeCheckError):
        hopfield_energy(torch.zeros(3), torch.zeros(2, 3, dtype=torch.int64))


def test_plain_types_are_checked_too_and_nothing_where_a_test_asks_for_the_package_as_it_is(request):
    """By beartype, where no shape is stated."""
    from attnlib._core.checks import check_count

    with pytest.raises(BeartypeCallHintViolation):
        check_count(3, 5)
    request.getfixturevalue("unchecked")
    assert check_count(3, 5) == 5
