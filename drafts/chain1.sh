while pgrep -f "onejob.py mean-field-onsager 1" >/dev/null; do sleep 3; done
OMP_NUM_THREADS=1 nice -n 5 /work/main/.venv/bin/python subset.py mean-field-neural mean-field-naive > subset.log 2>&1
