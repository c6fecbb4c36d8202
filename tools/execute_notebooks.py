"""Execute notebooks from top to bottom and write them back so that a second run changes no byte.

    python tools/execute_notebooks.py [--check] [--patient] [NOTEBOOK ...]

Without arguments all of ``notebooks/``. Prints seconds per notebook; fails when one is over its budget, 60 seconds or what its
metadata say (``attnlib: {budget: 120}``). With --check nothing is written: it fails when a file would change on this machine.
With --patient no budget counts, for a machine that is busy with other things.
"""

import argparse
import base64
import copy
import io
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import course
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

BUDGET = 60
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
    nb.metadata = {**course.KERNEL, **{k: v for k, v in nb.metadata.items() if k == "attnlib"}}
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
    nb.metadata = {**course.KERNEL, **{k: v for k, v in nb.metadata.items() if k == "attnlib"}}
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


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file would change")
    parser.add_argument("--patient", action="store_true", help="let a notebook take as long as it takes")
    parser.add_argument("notebook", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    settle()
    wrong = []
    for path in options.notebook or course.notebooks():
        begin = time.monotonic()
        try:
            new = execute(path)
        except CellExecutionError as error:
            wrong.append(f"{path.name} fails\n{error}")
            continue
        seconds = time.monotonic() - begin
        budget = course.read(path).metadata.get("attnlib", {}).get("budget", BUDGET)
        print(f"{seconds:6.1f} s of {budget}  {path.name}", flush=True)
        if seconds > budget and not options.patient:
            wrong.append(f"{path.name} took {seconds:.0f} s; its budget is {budget} s")
        if options.check and new != path.read_text(encoding="utf-8"):
            wrong.append(f"{path.name} would change; run: make notebooks")
        elif not options.check:
            path.write_text(new, encoding="utf-8")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
