"""Rebuild the live figures' outputs of all notebooks from the states they hold: as executing would."""
import sys, glob, json, html, re
sys.path.insert(0,"tests")
import nbformat
from helpers import figures
rows={r.kind.__name__:r for r in figures.TABLE}
changed=[]
for f in sorted(glob.glob("notebooks/*.ipynb")):
    raw=open(f,encoding="utf-8").read(); nb=json.loads(raw); hit=False
    for c in nb["cells"]:
        for o in c.get("outputs",[]):
            d=o.get("data",{})
            h="".join(d.get("text/html",""))
            m=re.search(r'data-live="(\w+)" data-state="([^"]*)"',h)
            if not m: continue
            row=rows[m[1]]; state=json.loads(html.unescape(m[2]))
            rest={k:v for k,v in state.items() if k not in("record","film","compact")}
            try: fig=figures.made(row,**rest)
            except TypeError as e: print(f,m[1],e); continue
            if fig.state()!=state: print("STATE differs",f,m[1],[k for k in state if fig.state().get(k)!=state[k]]); continue
            new=fig._repr_mimebundle_()[0]
            for k in ("text/html","text/plain"):
                lines=new[k].splitlines(keepends=True)
                if isinstance(d[k],str): val=new[k]
                else: val=lines
                if d[k]!=val: d[k]=val; hit=True
            print(f,m[1],len(new["text/html"]),"changed" if hit else "same")
    if hit:
        out=json.dumps(nb,indent=1,ensure_ascii=False)+"\n"
        open(f,"w",encoding="utf-8").write(out)
