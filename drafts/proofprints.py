import json,glob,re
for f in sorted(glob.glob("notebooks/*.ipynb")):
    nb=json.load(open(f))
    for i,c in enumerate(nb["cells"]):
        if c["cell_type"]!="code" or "proof" not in c["metadata"].get("tags",[]): continue
        for o in c["outputs"]:
            if o["output_type"]=="stream": print(f[10:13],i,c["id"],repr("".join(o["text"]))[:300])
