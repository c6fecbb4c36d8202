"""The tool that breaks what a page imports: what a page notices, what it does not, and what is left alone."""

import subprocess
import sys

import course
import nbformat
import pytest

TOOL = course.ROOT / "tools" / "break_pages.py"
SETUP = nbformat.v4.new_code_cell("%pip install nothing", metadata={"tags": ["setup"]})
IMPORTS = """\
import torch
from attnlib import attend, causal_mask, participation_ratio
from attnlib.course import claim
from attnlib.hopfield import find_fixed_points
from attnlib.message_passing import find_beliefs, ising_graph
from attnlib.course.exercises import check
torch.manual_seed(0)
q, k = torch.randn(2, 4, 3).double()"""
NOTICES = """\
weights = (2 * q @ k.T).softmax(-1)
claim("1.1", "Attention is an average.", attend(q, k, k, beta=2.0), expected=weights @ k, atol=1e-9)
claim("1.1a", "Nobody sees what comes later.", causal_mask(4).double().triu(1).sum(), expected=0.0, atol=0.1)"""
COARSE = """\
found = find_fixed_points(torch.eye(2), torch.eye(2), beta=9.0)
claim("1.2", "They are near one.", found.points.max(), between=(0.9, 1.5))"""
NESTED = """\
points = find_beliefs(ising_graph(torch.zeros(2, 2)), generator=torch.Generator()).points
claim("1.2a", "Who is not coupled is up in one of two.", points.beliefs, expected=torch.full((1, 2, 2), 0.5), atol=1e-3)"""
BLIND = 'print(participation_ratio(weights))\nclaim("1.3", "One is one.", 1, expected=1.0, atol=0.1)'
LIVE = "from attnlib.course.live import SpinLab\nraise AssertionError('a figure is drawn')"
READS = "print(SpinLab().fields)"
EXERCISE = 'check("1.1", print)'


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What the tool says of a page, and how it ends: with its blind cell, and without."""
    found = {}
    for name, last in (("blind", BLIND), ("sharp", "print(1)")):
        cells = map(nbformat.v4.new_code_cell, (IMPORTS, LIVE, NOTICES, COARSE, NESTED, READS, last, EXERCISE))
        path = tmp_path_factory.mktemp(name) / "page.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[SETUP, *cells]), path)
        command = [sys.executable, str(TOOL), "--verbose", "--jobs", "2", str(path)]
        found[name] = subprocess.run(command, capture_output=True, text=True)
    return found


@pytest.mark.whole
@pytest.mark.slow
def test_a_break_that_a_claim_notices_is_named_with_it(said):
    assert "attend is changed: claim 1.1\n" in said["blind"].stdout
    assert "attend ignores beta: claim 1.1\n" in said["blind"].stdout
    assert "causal_mask is changed: claim 1.1a\n" in said["blind"].stdout  # a truth is reversed, once


@pytest.mark.slow
def test_one_per_cent_that_nobody_notices_is_doubled(said):
    assert "find_fixed_points.points is changed: only when doubled: claim 1.2\n" in said["blind"].stdout
    assert "residual" not in said["blind"].stdout  # the page does not read it


@pytest.mark.slow
def test_of_a_record_in_a_record_what_the_page_reads_is_broken(said):
    assert "find_beliefs.points.beliefs is changed: claim 1.2a\n" in said["blind"].stdout
    assert "factor_beliefs" not in said["blind"].stdout


@pytest.mark.slow
def test_what_nobody_notices_fails(said):
    assert "participation_ratio is changed: NOT NOTICED\n" in said["blind"].stdout
    assert said["blind"].returncode == 1, said["blind"].stderr
    assert said["sharp"].returncode == 0, said["sharp"].stdout + said["sharp"].stderr
    assert "check" not in said["blind"].stdout
