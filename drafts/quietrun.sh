pkill -STOP -f subset.py; pkill -STOP -f more_hops.py
cd /work/fresh; unset PYTHONPATH OMP_NUM_THREADS MALLOC_MMAP_THRESHOLD_ MALLOC_TRIM_THRESHOLD_ PYTHONDONTWRITEBYTECODE
rm -f /work/tmp/cpu3.jsonl*; git pull -q
export PYTEST_ADDOPTS="-p cpuplug"
(time make test) > /work/tmp/fresh_test3.log 2>&1
pkill -CONT -f subset.py; pkill -CONT -f more_hops.py
