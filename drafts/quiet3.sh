cd /work/fresh; unset PYTHONPATH OMP_NUM_THREADS MALLOC_MMAP_THRESHOLD_ MALLOC_TRIM_THRESHOLD_ PYTHONDONTWRITEBYTECODE PYTEST_ADDOPTS
git pull -q
/work/main/.venv/bin/python /tmp/bench.py before > /work/tmp/bench3.log
(time make test) > /work/tmp/fresh_test5.log 2>&1
/work/main/.venv/bin/python /tmp/bench.py after >> /work/tmp/bench3.log
