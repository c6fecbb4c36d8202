import sys, json, os, glob, warnings
os.environ["MPLBACKEND"]="agg"; os.environ["TQDM_DISABLE"]="1"
import attnlib, torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
f='/work/main/notebooks/07a_one_block_many_mixers.ipynb'; os.chdir('/work/main/notebooks')
sh=InteractiveShell.instance()
code=["".join(x["source"]) for x in json.load(open(f))["cells"] if x["cell_type"]=="code"]
k=[i for i,s in enumerate(code) if 'def at_rest' in s][0]
with capture_output():
    for s in code[:k+1]: sh.run_cell(s, store_history=False)
ns=sh.user_ns
th=ns['theory'][2,True].mean
for seed in range(8):
    ns['rng'].manual_seed(100+seed)
    some=ns['spin_systems'](600,context=1.0,generator=ns['rng'])
    with warnings.catch_warnings(action='ignore'): rest=ns['tap'](some.J,some.h,max_steps=100,on_failure='warn')
    missed,size=(rest.m-some.m).square().mean(-1), some.m.square().mean(-1); st=rest.converged
    h=ns['share'](missed,size); s=ns['share'](missed[st],size[st])
    print(seed, int(st.sum()), round(float(h.mean/th),3), round(float(s.mean/th),3), round(float(s.error/th),3), flush=True)
