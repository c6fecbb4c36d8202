"""Execute notebooks from top to bottom, twice, and write them back where the second run gives the same bytes as the first.

    python tools/execute_notebooks.py [--check] [--patient] [PAGE ...]

A page is a file, or the beginning of its name in ``notebooks/``, such as ``02b``; without arguments all are executed. Prints
seconds of processor time per notebook, its kernel's in the dearer of the two runs, and fails when they are more than 25. A page
that fails, or whose two runs differ in a byte, is not written. With --check nothing is written: it fails when a file would
change on this machine. With --patient no budget counts, for a processor that is slower than most.
"""

import argparse
import base64
import copy
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import course
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

BUDGET = 25
"""Seconds of processor time that a page may cost."""
_MODEL_ID = re.compile(r"\b[0-9a-f]{32}\b")
_KEPT = ("tags", "mystnb")


def settle() -> None:
    """Make this process's environment, and so the kernel's, the same for everyone who runs it."""
    os.environ.update(OMP_NUM_THREADS="1", PYTHONHASHSEED="0", TQDM_DISABLE="1", JUPYTER_PREFER_ENV_PATH="1")
    os.environ["IPYTHONDIR"] = tempfile.mkdtemp()  # nobody's start-up files
    os.environ.pop("MPLBACKEND", None)


def packed(png: str) -> str:
    """A picture in 256 colours, enough for a figure's inks and the shades at their edges, in a third of the bytes."""
    with Image.open(io.BytesIO(base64.b64decode(png))) as picture:
        if picture.mode == "P":
            return png
        data = io.BytesIO()
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(data, "PNG", optimize=True, dpi=picture.info.get("dpi"))
    return base64.b64encode(data.getvalue()).decode() + "\n"


def tidy(nb: Any) -> Any:
    """Keep of the metadata what the book uses, number the widgets' random ids in order of appearance, pack the pictures."""
    nb.metadata = {**course.KERNEL}
    order: dict[str, str] = {}
    for cell in nb.cells:
        cell.metadata = {key: cell.metadata[key] for key in _KEPT if key in cell.metadata}
        for output in cell.get("outputs", []):
            widget = output.get("data", {}).get("application/vnd.jupyter.widget-view+json")
            if widget is not None:
                order.setdefault(widget["model_id"], f"{len(order) + 1:032x}")
    for output in (output for cell in nb.cells for output in cell.get("outputs", [])):
        for kind, value in output.get("data", {}).items():
            if kind.endswith("widget-view+json"):
                value["model_id"] = order[value["model_id"]]
            elif kind == "image/png":
                output.data[kind] = packed(value)
            elif kind.startswith("text/"):
                output.data[kind] = _MODEL_ID.sub(lambda found: order.get(found[0], found[0]), value)
    return nb


def written(path: Path, outputs: list[list[Any]]) -> str:
    """The text of a notebook whose code cells have had these outputs in another run."""
    nb = course.read(path)
    for cell, had in zip(course.code_cells(nb), outputs, strict=True):
        cell.outputs = copy.deepcopy(had)
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = cell.execution_count
    return course.text(tidy(nb))


def execute(path: Path, folder: Path | None = None) -> str:
    """Run a notebook in a fresh kernel, in its own folder unless told otherwise, and return the text to write."""
    nb = course.read(path)
    nb.metadata = {**course.KERNEL}
    client = NotebookClient(
        nb,
        kernel_name="python3",
        timeout=7200,  # what only a hang meets, however busy the machine is
        startup_timeout=1800,
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder or path.parent)}},
    )
    client.execute()
    return course.text(tidy(nb))


def spent() -> float:
    """Processor time of all kernels that have ended, in seconds."""
    times = os.times()
    return times.children_user + times.children_system


def twice(path: Path) -> tuple[str, str, float]:
    """The texts of two runs, and the processor time of the dearer one."""
    begin, first = spent(), execute(path)
    middle, second = spent(), execute(path)
    return first, second, max(middle - begin, spent() - middle)


def pages(names: list[str]) -> list[Path]:
    """The files that are asked for; a ValueError for a name that is no file and begins no page's name."""
    found = []
    for name in names:
        here = [Path(name)] if Path(name).is_file() else [path for path in course.notebooks() if path.name.startswith(name)]
        if not here:
            raise ValueError(f"there is no page {name}")
        found += here
    return found or course.notebooks()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file would change")
    parser.add_argument("--patient", action="store_true", help="let a notebook take as long as it takes")
    parser.add_argument("page", nargs="*", help="a file, or the beginning of its name; default: all")
    options = parser.parse_args(arguments)
    try:
        chosen = pages(options.page)
    except ValueError as error:
        parser.error(str(error))
    settle()
    wrong = []
    for path in chosen:
        try:
            new, again, seconds = twice(path)
        except CellExecutionError as error:
            wrong.append(f"{path.name} fails\n{error}")
            continue
        print(f"{seconds:6.1f} s of {BUDGET}  {path.name}", flush=True)
        if seconds > BUDGET and not options.patient:
            wrong.append(f"{path.name} took {seconds:.0f} s of processor time; a page may take {BUDGET} s")
        if new != again:
            wrong.append(f"{path.name} is not written: a second run gives other bytes, from {differ(new, again)}")
        elif not options.check:
            path.write_text(new, encoding="utf-8")
        elif new != path.read_text(encoding="utf-8"):
            wrong.append(f"{path.name} would change; run: make notebooks")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return bool(wrong)


def differ(one: str, other: str) -> str:
    """The first line in which two texts differ, as the first has it."""
    lines = zip(one.splitlines(), other.splitlines(), strict=False)
    return next((f"line {place}: {a.strip():.80}" for place, (a, b) in enumerate(lines, 1) if a != b), "the end on")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
