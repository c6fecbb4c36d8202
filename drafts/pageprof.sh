for f in /work/main/notebooks/*.ipynb; do /work/main/.venv/bin/python pageprof.py $f 2>/dev/null | tail -1; done
