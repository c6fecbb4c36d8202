#!/bin/bash
# page.sh NN [lines]: in a checkout, sync, execute, claims, tests of a page
export PYTHONPATH=$PWD OMP_NUM_THREADS=1
PY=/work/main/.venv/bin/python
$PY tools/sync_pages.py && $PY tools/execute_notebooks.py notebooks/$1*.ipynb 2>&1 | tail -${2:-20} && $PY tools/sync_pages.py && $PY tools/make_claims.py && $PY -m pytest -q tests/book/test_notebooks.py -k "$1" 2>&1 | tail -${2:-20}
