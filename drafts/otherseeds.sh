export OMP_NUM_THREADS=1 PYTHONPATH=/work/main
for o in 1 2 3; do for f in /work/main/notebooks/*.ipynb; do timeout 600 /work/main/.venv/bin/python /work/tmp/otherseed.py $o $f 2>/dev/null | grep -E "^##|^  " ; done; done
