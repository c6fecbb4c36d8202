cd /work/tmp
export OMP_NUM_THREADS=1
/work/main/.venv/bin/python onejob.py mean-field-onsager 3 > two.log 2>&1
/work/main/.venv/bin/python onejob.py mean-field-onsager $(/work/main/.venv/bin/python -c "
import sys
sys.path.insert(0,'/work/tmp/cnew/experiments'); sys.path.insert(0,'/work/tmp/cnew')
from pathlib import Path
import collectives as c
j=c.wanted(c.known(Path('/tmp/collect_runs')),'spins',{},'spins','mean-field-onsager')
print([i for i,x in enumerate(j) if x['seed']==14][0])") >> two.log 2>&1
