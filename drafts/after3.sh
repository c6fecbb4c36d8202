while pgrep -f sub3.py > /dev/null; do sleep 3; done
cd /work/tmp; OMP_NUM_THREADS=1 /work/main/.venv/bin/python two.py all > two.log 2>&1
