"""Run benchmarks and write their results: ``python -m benchmarks [NAME ...] [--quick] [--output FILE]``."""

import argparse
import importlib
import json
from pathlib import Path

from benchmarks.harness import Entry, run, table

HERE = Path(__file__).parent
IN_THE_PACKAGE = HERE.parent / "attnlib" / "course" / "data" / "results"
NOT_ENTRIES = {"__init__", "__main__", "harness", "memory"}


def entries() -> dict[str, Entry]:
    """Every file in this folder that is not part of the harness is an entry of its own name."""
    names = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_ENTRIES)
    return {name: importlib.import_module(f"benchmarks.{name}").ENTRY for name in names}


def place(name: str, entry: Entry) -> Path:
    """Where the committed result of an entry lies."""
    return (IN_THE_PACKAGE if entry.on_a_page else HERE / "results") / f"{name}.json"


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run the entries, print tables, write JSON."""
    known = entries()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Side-by-side timings, interleaved, one thread.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run, default all: {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds; writes no file unless --output names one")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write the JSON, for one NAME")
    options = parser.parse_args(arguments)
    names = options.names or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(known)}")
    if options.output and len(names) != 1:
        parser.error(f"--output takes the result of one benchmark, and {len(names)} are asked for")
    for name in names:
        result = run(name, known[name], quick=options.quick)
        print(table(result), end="\n\n")
        target = options.output or (None if options.quick else place(name, known[name]))
        if target:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(result, indent=1) + "\n")
            print(f"written to {target}")


if __name__ == "__main__":
    main()
