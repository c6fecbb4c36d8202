"""Make the virtual environment that the Makefile works in, or say why it cannot be made.

    python tools/make_environment.py FOLDER

An environment that works is left as it is; a broken or half-made one is made again. Written so that any Python, even one that
is far too old, can read this file and complain.
"""

import os
import re
import shutil
import subprocess
import sys

PROBE = "import pip, sys; sys.exit(sys.version_info[:2] < {} or sys.prefix == sys.base_prefix)"
TOO_OLD = """{} is Python {}.{}; the course needs Python {}.{} or newer. Name such a one:
    make PYTHON=python{}.{} book"""
BROKEN = "{} is broken or half-made: it is made again."
BEGIN = "A virtual environment in {}, with torch and the tools of the book: several minutes, up to 6 GB."
NO_VENV = """{} cannot make virtual environments; its own message is above. Debian and Ubuntu keep what is missing apart:
    sudo apt install python3-venv"""


def oldest():
    """The oldest Python that is supported, as pyproject.toml has it."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pyproject.toml"), "rb") as stated:
        found = re.search(r'requires-python = ">=(\d+)\.(\d+)"', stated.read().decode("utf-8"))
    return int(found.group(1)), int(found.group(2))


def works(folder):
    """Whether there is an environment with a Python that is new enough and a pip that can be imported."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        return False
    asked = subprocess.Popen([python, "-c", PROBE.format(oldest())], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    asked.communicate()
    return asked.returncode == 0


def main(folder):
    """Make the environment if there is none that works. Returns what is wrong, or nothing."""
    if works(folder):
        return None
    if sys.version_info[:2] < oldest():
        return TOO_OLD.format(sys.executable, sys.version_info[0], sys.version_info[1], *(oldest() * 2))
    if os.path.isdir(folder):
        print(BROKEN.format(folder))
        shutil.rmtree(folder)
    print(BEGIN.format(folder))
    sys.stdout.flush()
    if subprocess.call([sys.executable, "-m", "venv", folder]):
        shutil.rmtree(folder, ignore_errors=True)
        return NO_VENV.format(sys.executable)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
