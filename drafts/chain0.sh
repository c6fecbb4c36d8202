while pgrep -f "onejob.py mean-field-onsager" >/dev/null; do sleep 3; done
OMP_NUM_THREADS=1 /work/main/.venv/bin/python subset.py mean-field-onsager > subset_ons.log 2>&1
