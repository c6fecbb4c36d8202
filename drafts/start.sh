cd /work/tmp
run() { OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 nohup nice -n 15 /work/main/.venv/bin/python "${@:2}" >> $1.log 2>&1 & echo $! > $1.pid; sleep 1; echo 8 > /proc/$(cat $1.pid)/autogroup; }
run s1 spec.py check,untied,0,5e-4 check,causal,0,2e-3 check,causal,0,5e-4
