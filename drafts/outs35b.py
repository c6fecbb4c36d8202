import json,glob,re,sys
for f in sorted(glob.glob("notebooks/*.ipynb")):
    p=f[10:13].strip("_")
    nb=json.load(open(f))
    for i,c in enumerate(nb["cells"]):
        if c["cell_type"]!="code": continue
        for o in c.get("outputs",[]):
            t="".join(o.get("text",[])) if o["output_type"]=="stream" else "".join(o.get("data",{}).get("text/plain",[])) if "image/png" not in o.get("data",{}) and "text/html" not in o.get("data",{}) else ""
            L=[len(x) for x in t.splitlines()]
            if L and max(L)>44 and "not yet. It returns" not in t:
                prose=not re.search(r"\S  ",t) and not re.search(r"^ ",t,re.M)
                print(f"##### {p} [{i}] {c['id']} max {max(L)} {'PROSE' if prose else 'TABLE'}"); print(t.rstrip())
