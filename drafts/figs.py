import sys, base64, nbformat, os
from PIL import Image
nb=nbformat.read(sys.argv[1],4); pre=sys.argv[2]
for c in nb.cells:
    for o in c.get("outputs",[]):
        d=o.get("data",{})
        if "image/png" in d:
            p=f"/work/tmp/brief/h2fig/{pre}-{c.id}.png"; open(p,"wb").write(base64.b64decode(d["image/png"]))
            print(p, Image.open(p).size)
        elif "text/plain" in d or "text" in o:
            t=o.get("text") or d["text/plain"]; t="".join(t)
            print("--",c.id, t[:2500] if len(t)<20000 else len(t))
