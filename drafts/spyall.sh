export OMP_NUM_THREADS=1 PYTHONPATH=/work/main MALLOC_MMAP_THRESHOLD_=268435456 MALLOC_TRIM_THRESHOLD_=536870912
for f in /work/main/notebooks/*.ipynb; do p=$(basename $f | cut -c1-3); /work/tmp/pyspy/bin/py-spy record -r 50 -f raw -o /work/tmp/prof/$p.raw -- /work/main/.venv/bin/python /work/tmp/runpage.py $f > /dev/null 2>&1; echo $p; done
