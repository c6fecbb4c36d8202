"""The rules of the house for attnlib: who may import whom, what an import loads, what a docstring says."""

import ast
import dataclasses
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import attnlib

ROOT = Path(attnlib.__file__).parent
FLOOR = ["_checks", "_extras", "claims"]
CHAPTERS = [
    "softmax",
    "attention",
    "seq2seq",
    "memory",
    "associative",
    "storage",
    "hopfield",
    "fixed_point",
    "ising",
    "mean_field",
    "free_energy",
    "message_passing",
    "transformer",
]
ORDER = [*FLOOR, *CHAPTERS]
ROOF = ["plots", "live", "data", "exercises"]
"""Rooms that may import chapter modules and are imported by none of them."""


def room(path):
    """The module of attnlib, or the package directly under it, that a file belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported(path):
    """The rooms of attnlib that a file imports, anywhere in it."""
    package = ("attnlib", *path.relative_to(ROOT).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "attnlib" else [module]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "attnlib":
                found.add(parts[1] if len(parts) > 1 and is_room(parts[1]) else "__init__")
    return found


def is_room(name):
    return (ROOT / f"{name}.py").exists() or (ROOT / name).is_dir()


FILES = sorted(ROOT.rglob("*.py"))


def test_every_room_has_a_place():
    assert {room(path) for path in FILES} <= {"__init__", *ORDER, *ROOF}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_what_is_above_it(path):
    name, wanted = room(path), imported(path)
    if name == "__init__":
        allowed = {*ORDER}
    elif name in FLOOR:
        allowed = set()
    elif name in CHAPTERS:
        allowed = {*ORDER[: ORDER.index(name)]}
    else:
        allowed = {*ORDER, "data", name}
    assert wanted <= allowed, f"{path.name} imports {sorted(wanted - allowed)}"


def test_the_reader_of_imports_reads_every_kind(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    for name in ("softmax", "plots", "claims", "hopfield", "ising"):
        (tmp_path / f"{name}.py").touch()
    lines = [
        "import attnlib.softmax, torch",
        "from attnlib import plots, softmax as s",
        "from .claims import claim",
        "def f():",
        "    from attnlib.hopfield import descend",
        "    from . import ising",
    ]
    (tmp_path / "room.py").write_text("\n".join(lines))
    assert imported(tmp_path / "room.py") == {"softmax", "plots", "claims", "hopfield", "ising"}
    (tmp_path / "room.py").write_text("from attnlib import attend")
    assert imported(tmp_path / "room.py") == {"__init__"}
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "room.py").write_text("from ..softmax import softmax\nfrom .figure import draw")
    assert imported(tmp_path / "live" / "room.py") == {"softmax", "live"}


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


def test_each_room_can_be_imported_first():
    """No circle of imports: each room loads in an interpreter that has none of the others, nor the package's own list."""
    rooms = sorted({room(path) for path in FILES} & {*ORDER})
    script = f"""
import importlib, sys, types
for name in {rooms!r}:
    for old in [key for key in sys.modules if key.split(".")[0] == "attnlib"]:
        del sys.modules[old]
    package = sys.modules["attnlib"] = types.ModuleType("attnlib")
    package.__path__ = [{str(ROOT)!r}]
    importlib.import_module("attnlib." + name)
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


def test_every_public_name_exists():
    assert sorted(attnlib.__all__) == list(attnlib.__all__)
    assert len(set(attnlib.__all__)) == len(attnlib.__all__)
    missing = [name for name in attnlib.__all__ if not hasattr(attnlib, name)]
    assert not missing


MODULES = ["attnlib.seq2seq", "attnlib.memory", "attnlib.data.translation", "attnlib.data.stories"]
"""Modules whose public names are imported from them, not from attnlib itself."""


def defined_in(module, thing):
    return (inspect.isfunction(thing) or inspect.isclass(thing)) and thing.__module__ == module.__name__


def public():
    """Public functions and classes of attnlib, and the public methods defined in it, by name."""
    things = {name: getattr(attnlib, name) for name in attnlib.__all__}
    for name in MODULES:
        module = importlib.import_module(name)
        things |= {key: thing for key, thing in vars(module).items() if key[0] != "_" and defined_in(module, thing)}
    bases = {base for thing in things.values() if inspect.isclass(thing) for base in thing.__mro__}
    for base in bases:
        if base.__module__.startswith("attnlib."):
            methods = {name: value for name, value in vars(base).items() if inspect.isfunction(value) and name[0] != "_"}
            things |= {f"{base.__name__}.{name}": method for name, method in methods.items()}
    return things


SHAPE = re.compile(r"``[^`]*\[[^`]*\]``|[Ss]hapes")
ERROR = re.compile(r"ValueError|ConvergenceError|[Ee]rrors? (are those|as)|for shapes and errors")


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
