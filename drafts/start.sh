cd /work/tmp
run() { OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 nohup nice -n 15 /work/main/.venv/bin/python "${@:2}" >> $1.log 2>&1 & echo $! > $1.pid; sleep 1; echo 8 > /proc/$(cat $1.pid)/autogroup; }
run s1 spec.py final,tied,5,2e-3 final,causal,4,2e-3 final,untied,5,2e-3 check,untied,0,5e-4
run s2 spec.py final,untied,3,2e-3 final,untied,4,2e-3 final,causal,5,2e-3 check,causal,0,2e-3 check,causal,0,5e-4
