import sys,json
for f in sys.argv[1:]:
    nb=json.load(open(f))
    for i,c in enumerate(nb["cells"]):
        if c["cell_type"]!="code": continue
        s="".join(c["source"])
        print(f"== {f} [{i}] {c['metadata'].get('tags')}"); 
        if any("image/png" in o.get("data",{}) for o in c.get("outputs",[])): print("PNG")
        if "subplots" in s or "figure(" in s: print(s[:3000])
