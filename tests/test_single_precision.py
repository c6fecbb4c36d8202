"""Every numeric test again in single precision, which is what users have in their hands.

The test files are copied with float32 in place of float64. Tests marked ``double`` stay behind: derivatives by finite
differences, bounds of double precision, and what is said about dtypes themselves.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NUMERIC = [
    *("test_softmax", "test_online_softmax", "test_random_energy", "test_scores", "test_attention", "test_memory"),
    *("test_hopfield", "test_associative"),
    *("test_ising", "test_priors", "test_free_energy"),
    *("test_graphs", "test_beliefs", "test_amp"),
]
SUPPORT = ["draw.py", "conftest.py"]


def test_the_numeric_tests_in_single_precision(tmp_path):
    for name in [*(f"{name}.py" for name in NUMERIC), *SUPPORT]:
        text = (HERE / name).read_text(encoding="utf-8")
        text = text.replace("torch.float64", "torch.float32").replace(".double()", ".float()")
        (tmp_path / name).write_text(text.replace("SINGLE = False", "SINGLE = True"))
    options = ["-q", "-m", "not double", "-p", "no:cacheprovider", "-o", "addopts=", "-c", HERE.parent / "pyproject.toml"]
    command = [sys.executable, "-m", "pytest", *map(str, options), "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 300, done.stdout
