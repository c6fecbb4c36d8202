import json,glob,re,base64,struct
for f in sorted(glob.glob("notebooks/*.ipynb")):
    nb=json.load(open(f))
    for i,c in enumerate(nb["cells"]):
        if c["cell_type"]!="code": continue
        for o in c.get("outputs",[]):
            if "image/png" in o.get("data",{}):
                w=o["metadata"].get("image/png",{}).get("width"); h=o["metadata"].get("image/png",{}).get("height")
                s="".join(c["source"]); m=re.findall(r"(?:subplots|plots\.panels|figure)\([^\n]*",s)
                fs=re.findall(r"(?:fontsize|labelsize|size)=[^,)]*",s)
                cap="";
                for d in nb["cells"][i+1:i+3]:
                    t="".join(d["source"]); mm=re.search(r"\*\*(Fig\. [\d.]+)\.\*\*",t)
                    if mm: cap=mm[1]; break
                print(f[10:13],i,cap,w,h,"em10 at350: %.1f"%(15.28*350/max(w,350)) if w else "",m,fs)
