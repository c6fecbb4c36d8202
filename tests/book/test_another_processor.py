"""Pages whose outputs another processor has made: last digits of what was measured and pictures differ, and nothing fails.

It is imitated in a copy of the repository: of each measured value the last digit changes, of each picture some points.
"""

import base64
import io
import os
import re
import shutil
import subprocess
import sys

import course
import pytest
from execute_notebooks import tidy
from PIL import Image

MEASURED = re.compile(r"(measured )([^|<]*)")
NUMBER = re.compile(r"\d[\d.,]*")
PAGES = ("03b", "04a")
"""Pages that are executed in the copy, beside what is read of all."""


def another(text):
    """A claim's line, or its card, with another last digit."""

    def next_digit(number):
        digits = number[0].rstrip(".,")
        return digits[:-1] + str((int(digits[-1]) + 1) % 10) + number[0][len(digits) :]

    return MEASURED.sub(lambda found: found[1] + NUMBER.sub(next_digit, found[2], count=1), text)


def repainted(data):
    """A picture with some points a shade darker, as another version of a processor's arithmetic draws an edge."""
    drawn = Image.open(io.BytesIO(base64.b64decode(data)))
    picture = drawn.convert("RGB")
    for place in range(0, 60, 3):
        colour = picture.getpixel((place, place))
        picture.putpixel((place, place), tuple(max(0, part - 1) for part in colour))
    file = io.BytesIO()
    picture.save(file, "PNG", dpi=drawn.info.get("dpi"))
    return base64.b64encode(file.getvalue()).decode()


def changed(path):
    """Write a page as another processor might have; how many values and pictures that changed."""
    nb, values, pictures = course.read(path), 0, 0
    for output in (output for cell in course.code_cells(nb) for output in cell.outputs):
        data = output.get("data", {})
        if "image/png" in data:
            data["image/png"], pictures = repainted(data["image/png"]), pictures + 1
        if course.CLAIM_LINE.search(data.get("text/plain", "")):
            was = data["text/plain"]
            data["text/plain"], data["text/html"] = another(was), another(data["text/html"])
            values += data["text/plain"] != was
    path.write_text(course.text(tidy(nb)), encoding="utf-8")
    return values, pictures


def test_a_digit_is_another_one():
    line = "claim 4.2 | It is. | measured Δ 3.3\xa0×\xa010⁻¹⁶ | bound Δ ≤ 10⁻¹² | ✓"
    assert another(line) == line.replace("3.3", "3.4")
    assert another("claim 4.1 | It is. | measured −1.09 | bound −1.09 ± 10⁻¹² | ✓").split(" | ")[2] == "measured −1.00"


@pytest.mark.whole
def test_nothing_fails_where_another_processor_made_the_outputs(tmp_path):
    copy = tmp_path / "house"
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=course.ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().splitlines():
        if (course.ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(course.ROOT / name, copy / name)
    counts = [changed(path) for path in course.notebooks(copy)]
    assert all(values > 20 for values, _ in counts)
    assert all(pictures for _, pictures in counts)
    before = {path: path.read_bytes() for path in course.notebooks(copy)}
    env = os.environ | {"PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}

    def ran(*arguments):
        done = subprocess.run([sys.executable, *arguments], cwd=copy, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]

    subprocess.run(["git", "init", "-q"], cwd=copy, check=True)
    ran("tools/make_claims.py")  # as who makes pages does
    pages = [str(path.relative_to(copy)) for path in course.notebooks(copy) if path.name.startswith(PAGES)]
    ran("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/book/test_notebooks.py", *pages)
    assert {path: path.read_bytes() for path in course.notebooks(copy)} == before
