"""CPU seconds of each code cell of a page, in an IPython shell: celltimes.py PAGE"""
import sys, json, time, os, io, contextlib
os.environ["MPLBACKEND"]="module://matplotlib_inline.backend_inline"; os.environ["TQDM_DISABLE"]="1"
c=time.process_time
import attnlib, ipykernel.kernelapp, matplotlib.backends.backend_agg, matplotlib.figure, torch
import attnlib.course.live, networkx, sklearn.datasets, torch._dynamo
base=c()
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
f=sys.argv[1]
os.chdir(os.path.dirname(f))
sh=InteractiveShell.instance()
code=[x for x in json.load(open(f))["cells"] if x["cell_type"]=="code"]
out=[]
for i,x in enumerate(code):
    t=c()
    with capture_output():
        r=sh.run_cell("".join(x["source"]), store_history=False)
    out.append((round(c()-t,2), i, "".join(x["source"])[:70].replace("\n"," | "), bool(r.error_in_exec)))
print(os.path.basename(f), "base", round(base,1), "cells", round(sum(o[0] for o in out),1), "errors", sum(o[3] for o in out))
for o in sorted(out, reverse=True)[:14]: print("   ",o[:3])
