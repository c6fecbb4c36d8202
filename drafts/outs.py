"""outs.py NB FOLDER: write the pictures of a notebook."""
import base64, sys, nbformat, pathlib
nb = nbformat.read(sys.argv[1], 4); out = pathlib.Path(sys.argv[2]); out.mkdir(exist_ok=True)
for i, c in enumerate(nb.cells):
    for o in c.get("outputs", []):
        d = o.get("data", {}).get("image/png")
        if d: (out / f"{i}-{c.metadata.get('mystnb',{}).get('figure',{}).get('name','x')}.png").write_bytes(base64.b64decode(d))
