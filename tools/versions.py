"""Run the tests at the ends of what is supported: the oldest, Colab's and the newest Python and packages, each on its own.

    python tools/versions.py [oldest] [colab] [newest] [-- ARGUMENTS OF PYTEST]
    python tools/versions.py --constraints oldest

An end whose Python is not on this machine is skipped. Environments are kept in ``.venvs``, a few gigabytes each, and made
again when what they must hold has changed. With --constraints nothing is run: it prints what pip is to be held to. Nothing
is stated here that stands elsewhere: the floors are those of pyproject.toml and requirements.txt, the range of Pythons that
of the classifiers. Needs only Python itself.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLAB_PYTHON, COLAB_TORCH = "3.13", "2.11"
ENDS = ("oldest", "colab", "newest")
PYTEST = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadscope")
PROBE = "import ensurepip, sys, venv; print(*sys.version_info[:2], sys.version_info.releaselevel, sep='.')"
_FLOOR = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)")


@dataclass(frozen=True)
class End:
    """A Python, as ``3.11``, and the lines of a constraint file for pip."""

    python: str
    constraints: tuple[str, ...]


def project(root: Path = ROOT) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def asked_of_a_reader(root: Path = ROOT) -> list[str]:
    """What the package needs to run a page: ``attnlib[book]``."""
    stated = project(root)
    return stated["dependencies"] + stated["optional-dependencies"]["book"]


def requirements(root: Path = ROOT) -> list[str]:
    """Every direct requirement: of the package, of its extras, of the book."""
    lines = (root / "requirements.txt").read_text(encoding="utf-8").splitlines()
    book = [line.split("#")[0].strip() for line in lines]
    return [*asked_of_a_reader(root), *project(root)["optional-dependencies"].get("dev", []), *filter(None, book)]


def floors(root: Path = ROOT) -> dict[str, str]:
    """The lowest version of each requirement that is supported, by name."""
    found: dict[str, str] = {}
    for requirement in requirements(root):
        stated = _FLOOR.match(requirement)
        if stated is None:
            raise ValueError(f"{requirement} states no lowest version; expected NAME>=VERSION")
        name, floor = stated.groups()
        found[name] = max(found.get(name, floor), floor, key=lambda version: [int(n) for n in re.findall(r"\d+", version)])
    return dict(sorted(found.items()))


def pythons(root: Path = ROOT) -> list[str]:
    """The Pythons that the classifiers name, oldest first."""
    return re.findall(r"Python :: (3\.\d+)", "\n".join(project(root)["classifiers"]))


def end(name: str, root: Path = ROOT) -> End:
    if name == "oldest":
        return End(pythons(root)[0], tuple(f"{package}=={floor}" for package, floor in floors(root).items()))
    if name == "colab":
        return End(COLAB_PYTHON, (f"torch=={COLAB_TORCH}.*",))
    return End(pythons(root)[-1], ())


def find(version: str) -> Path | None:
    """A Python of that version which can make environments: this one, one on the path, one of pyenv's."""
    named = shutil.which(f"python{version}")
    candidates = [Path(sys.executable), *([Path(named)] if named else [])]
    if shutil.which("pyenv"):
        told = subprocess.run(["pyenv", "root"], capture_output=True, text=True).stdout.strip()
        candidates += sorted(Path(told, "versions").glob(f"{version}.*/bin/python"), reverse=True)
    for candidate in candidates:
        told = subprocess.run([candidate, "-c", PROBE], capture_output=True, text=True)
        if told.stdout.strip() == f"{version}.final":
            return candidate
    return None


def environment(name: str, version: str, python: Path, at: Path) -> Path:
    """The Python of the environment for an end, made if it is not there or no longer what it should be."""
    folder, held, stamp = at / name, at / f"{name}.txt", at / name / "installed"
    wanted = "\n".join([f"# {version}", *(f"# {line}" for line in requirements()), *end(name).constraints, ""])
    here = folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        at.mkdir(parents=True, exist_ok=True)
        held.write_text(wanted, encoding="utf-8")
        subprocess.run([python, "-m", "venv", folder], check=True)
        install = [here, "-m", "pip", "install", "--constraint", held, "-r", "requirements.txt", "-e", ".[book,dev]"]
        subprocess.run(install, check=True, cwd=ROOT)
        stamp.write_text(wanted, encoding="utf-8")
    return here


def run(name: str, at: Path, arguments: list[str]) -> tuple[bool, str]:
    """Whether an end is in order, or could not be tried, and a line about it."""
    wanted = end(name).python
    allowed = [wanted] if name != "newest" else pythons()[::-1]
    version, python = next(((v, p) for v in allowed if (p := find(v))), (wanted, None))
    if python is None:
        return True, f"{name}: skipped, there is no Python {wanted} here (asked: this one, the path, pyenv)"
    try:
        here = environment(name, version, python, at)
    except subprocess.CalledProcessError as error:
        return False, f"{name}: no environment on Python {version}: {error}"
    torch = subprocess.run([here, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True).stdout
    left = ["-m", "not browser"]
    if name == "oldest":
        left.append("--ignore=tests/house/test_types.py")  # a checker reads the types of other packages; old ones lack some
    command = [here, "-m", "pytest", *left, *(arguments or PYTEST)]
    last = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
        for line in tests.stdout:
            print(line, end="", flush=True)
            last = line.strip(" =\n") or last
    short = f" (there is no {wanted} here)" if version != wanted else ""
    return tests.returncode == 0, f"{name}: Python {version}{short}, torch {torch.strip()}: {last}"


def main(arguments: list[str]) -> int:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ends", nargs="*", metavar="END", help=f"of {', '.join(ENDS)}; all unless told")
    parser.add_argument("--constraints", choices=ENDS, metavar="END", help="print what pip is held to, run nothing")
    parser.add_argument("--at", type=Path, default=ROOT / ".venvs", help="folder of the environments")
    told = parser.parse_args(arguments[:cut])
    if told.constraints:
        print("\n".join(end(told.constraints).constraints))
        return 0
    if unknown := set(told.ends) - set(ENDS):
        parser.error(f"{', '.join(sorted(unknown))}: expected some of {', '.join(ENDS)}")
    results = [run(name, told.at.resolve(), arguments[cut + 1 :]) for name in told.ends or ENDS]
    print("\n" + "\n".join(line for _, line in results))
    return not all(good for good, _ in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
