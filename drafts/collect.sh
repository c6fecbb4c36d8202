export OMP_NUM_THREADS=1
cd /work/tmp
exec /work/main/.venv/bin/python /work/tmp/subset.py "$@"
