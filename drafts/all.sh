cd /work/fresh; unset PYTHONPATH MALLOC_MMAP_THRESHOLD_ MALLOC_TRIM_THRESHOLD_ PYTHONDONTWRITEBYTECODE PYTEST_ADDOPTS
export OMP_NUM_THREADS=1
(time .venv/bin/python -m pytest --tier all -v -n 2 --dist loadscope --no-loadscope-reorder -p no:cacheprovider) > /work/tmp/all.log 2>&1
