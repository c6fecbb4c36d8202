"""otherseed.py OFFSET PAGE: run a page with every seed shifted; say which claims fail."""
import sys, json, os
os.environ["MPLBACKEND"]="agg"; os.environ["TQDM_DISABLE"]="1"
import torch
off=int(sys.argv[1])
import attnlib, attnlib.course
G=torch._C.Generator
orig=torch.Generator.manual_seed
class Gen(torch.Generator):
    def manual_seed(self,s): super().manual_seed((int(s)*7919+off) % 2**62); return self
torch.Generator=Gen
om=torch.manual_seed
torch.manual_seed=lambda s: om((int(s)*7919+off)%2**62)
import attnlib.course.claims as C
fails=[]
oc=C.claim
n=0
def claim(*a,**k):
    global n; n+=1
    try: return oc(*a,**k)
    except C.ClaimError as e: fails.append(str(e)[:300])
C.claim=claim; attnlib.course.claim=claim
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
f=sys.argv[2]; os.chdir(os.path.dirname(f))
sh=InteractiveShell.instance()
code=[x for x in json.load(open(f))["cells"] if x["cell_type"]=="code"]
err=[]
for i,x in enumerate(code):
    with capture_output() as o:
        r=sh.run_cell("".join(x["source"]), store_history=False)
    e=r.error_in_exec or r.error_before_exec
    if e: err.append((i,type(e).__name__,str(e)[:200]))
print("##",os.path.basename(f)[:3],"offset",off,"claims",n,"failed",len(fails),"errors",len(err))
for x in fails: print("  FAIL",x)
for x in err: print("  ERR",x)
sys.stdout.flush()
