import json,glob,re,sys
tot=0
for f in sorted(glob.glob("notebooks/*.ipynb")):
    p=f[10:13].strip("_")
    if len(sys.argv)>1 and p not in sys.argv[1:]: continue
    nb=json.load(open(f))
    for i,c in enumerate(nb["cells"]):
        if c["cell_type"]!="code": continue
        for o in c.get("outputs",[]):
            t="".join(o.get("text",[])) if o["output_type"]=="stream" else "".join(o.get("data",{}).get("text/plain",[])) if "image/png" not in o.get("data",{}) and "text/html" not in o.get("data",{}) else ""
            L=[len(x) for x in t.splitlines()]
            if L and max(L)>44:
                tot+=1
                print(f"##### {p} [{i}] {c['id']} max {max(L)} tags {c['metadata'].get('tags')}"); print(t.rstrip()); print("--- src"); print("\n".join(x for x in "".join(c["source"]).splitlines() if True))
print(tot)
