"""Time statements of a page's cell: lines.py PAGE INDEX(code)"""
import sys, json, time, os, ast, glob
os.environ["MPLBACKEND"]="module://matplotlib_inline.backend_inline"; os.environ["TQDM_DISABLE"]="1"
import torch, attnlib, ipykernel.kernelapp, matplotlib.backends.backend_agg, attnlib.course.live, torch._dynamo
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
f=glob.glob(f"/work/main/notebooks/{sys.argv[1]}*")[0]; want=[int(i) for i in sys.argv[2:]]
os.chdir(os.path.dirname(f))
sh=InteractiveShell.instance()
code=[x for x in json.load(open(f))["cells"] if x["cell_type"]=="code"]
for i,x in enumerate(code[:max(want)+1]):
    s="".join(x["source"])
    if i in want:
        for node in ast.parse(s).body:
            t=time.process_time()
            with capture_output(): sh.run_cell(ast.unparse(node), store_history=False)
            print(i, round(time.process_time()-t,2), ast.unparse(node)[:90].replace("\n"," | "), flush=True)
    else:
        with capture_output(): sh.run_cell(s, store_history=False)
