import json,glob,re,sys
for f in sorted(glob.glob("notebooks/*.ipynb")):
    nb=json.load(open(f))
    for i,c in enumerate(nb["cells"]):
        if c["cell_type"]!="code": continue
        for o in c.get("outputs",[]):
            if "image/png" in o.get("data",{}):
                w=o["metadata"].get("image/png",{}).get("width")
                if w<=683: continue
                s="".join(c["source"])
                if not re.search(r"subplots\(\d|panels\(|figsize=\((7|6\.8|8|9)",s): continue
                print(f"##### {f[10:13]} [{i}] {w} {c['id']}"); print(s)
                my=c["metadata"].get("mystnb",{})
                print("CAP:",my.get("figure",{}).get("caption")); print("ALT:",my.get("image",{}).get("alt"))
