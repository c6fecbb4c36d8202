"""The tool that runs a page with other random numbers: what it says of luck, of mistakes in a cell and of what holds."""

import subprocess
import sys

import course
import nbformat
import pytest
import reseed_pages
import torch

TOOL = course.ROOT / "tools" / "reseed_pages.py"
DRAWS = """\
import torch
from attnlib.course import claim
rng = torch.Generator().manual_seed(3)
torch.manual_seed(4)
x, y = torch.randn(1000, generator=rng), torch.rand(())"""
HOLDS = 'claim("1.1", "The mean is zero within five errors.", x.mean() * 1000**0.5, expected=0.0, atol=5)'


def run(tmp_path, *cells):
    """What the tool says of a page with these cells, and how it ends."""
    setup = nbformat.v4.new_code_cell("%pip install nothing", metadata={"tags": ["setup"]})
    path = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[setup, *map(nbformat.v4.new_code_cell, cells)]), path)
    done = subprocess.run([sys.executable, str(TOOL), str(path)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_luck_is_named_with_what_was_measured_for_each_shift(tmp_path):
    first = torch.randn(1000, generator=torch.Generator().manual_seed(3))[0].item()
    torch.manual_seed(4)
    second = torch.rand(()).item()
    lucky = f'claim("1.2", "The first is that.", x[0], expected={first!r}, atol=1e-6)'
    global_too = f'claim("1.3", "And so is another.", y, expected={second!r}, atol=1e-6)'
    ended, said, _ = run(tmp_path, DRAWS, lucky, global_too, HOLDS)
    assert ended == 1
    assert "page.ipynb, shift 1: 2 failed" in said
    assert "page.ipynb, shift 2: 2 failed" in said
    assert "claim 1.2: The first is that." in said
    assert "claim 1.3: And so is another." in said
    assert "claim 1.1" not in said


@pytest.mark.slow
def test_a_page_goes_on_after_an_error_and_one_that_holds_is_in_order(tmp_path):
    ended, said, _ = run(tmp_path, DRAWS, "1 / 0", HOLDS)
    assert ended == 1
    assert "cell 2 raises ZeroDivisionError" in said
    ended, said, complaints = run(tmp_path, DRAWS, HOLDS)
    assert (ended, complaints) == (0, "")
    assert said.count("nothing failed") == 2


def test_seeds_that_are_counted_do_not_become_each_other():
    seen = {reseed_pages.other(seed, shift) for seed in range(50) for shift in range(1, 50)}
    assert len(seen) == 50 * 49
    assert not seen & set(range(50, 7919))
