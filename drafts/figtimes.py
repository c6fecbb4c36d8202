import sys, json, time, os
os.environ["MPLBACKEND"]="module://matplotlib_inline.backend_inline"; os.environ["TQDM_DISABLE"]="1"
c=time.process_time
import attnlib, ipykernel.kernelapp, matplotlib.backends.backend_agg, matplotlib.figure, torch
import attnlib.course.live, networkx, sklearn.datasets, torch._dynamo
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
import matplotlib_inline.backend_inline as bi, IPython.core.pylabtools as pt
import matplotlib.figure as mf, PIL.Image as PI
acc={"fig":0,"n":0,"png":0,"draw":0,"nd":0}
def wrap(o,name,k,n=None):
    f=getattr(o,name)
    def g(*a,**kw):
        t=c()
        try: return f(*a,**kw)
        finally:
            acc[k]+=c()-t
            if n: acc[n]+=1
    setattr(o,name,g)
wrap(pt,"print_figure","fig","n"); wrap(PI.Image,"save","png"); wrap(mf.Figure,"draw","draw","nd")
f=sys.argv[1]; os.chdir(os.path.dirname(f))
sh=InteractiveShell.instance(); bi.configure_inline_support(sh,"inline"); bi._enable_matplotlib_integration()
code=[x for x in json.load(open(f))["cells"] if x["cell_type"]=="code"]
b=c()
for i,x in enumerate(code):
    with capture_output(): r=sh.run_cell("".join(x["source"]), store_history=False)
print(os.path.basename(f), round(c()-b,1), {k:round(v,2) for k,v in acc.items()})
