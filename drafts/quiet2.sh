pkill -STOP -f subset.py; pkill -STOP -f more_hops.py
cd /work/fresh; unset PYTHONPATH OMP_NUM_THREADS MALLOC_MMAP_THRESHOLD_ MALLOC_TRIM_THRESHOLD_ PYTHONDONTWRITEBYTECODE PYTEST_ADDOPTS
git pull -q
/work/main/.venv/bin/python /tmp/bench.py before > /work/tmp/bench2.log
PYTHON=python3.11 make .venv/installed > /work/tmp/fresh_install.log 2>&1
(time make test) > /work/tmp/fresh_test4.log 2>&1
/work/main/.venv/bin/python /tmp/bench.py after >> /work/tmp/bench2.log
(time make book) > /work/tmp/fresh_book4.log 2>&1
