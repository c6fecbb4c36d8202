"""Processor time of each cell of a page."""
import json, os, sys, time, io, contextlib
os.chdir("notebooks")
t0=time.process_time()
from IPython.core.interactiveshell import InteractiveShell
import torch
try:
    import torch._dynamo, sklearn, networkx
except Exception as e: print(e)
shell=InteractiveShell.instance()
nb=json.load(open(sys.argv[1]))
rows=[]
tot=0
for c in nb["cells"]:
    if c["cell_type"]!="code": continue
    src="".join(c["source"])
    a=time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        r=shell.run_cell(src)
    d=time.process_time()-a; tot+=d
    if not r.success: print("FAILED", src[:80], r.error_in_exec)
    rows.append((d,c["id"],src.replace("\n"," | ")[:150]))
print(sys.argv[1],"total",round(tot,1),"imports",0)
for d,i,s in sorted(rows,reverse=True)[:14]: print(f"{d:6.2f} {i} {s}")
