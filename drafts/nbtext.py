"""dump NB TXT | load TXT NB: a notebook as text, cells as '#%%== KIND ID METADATA-JSON'."""
import json, sys
import nbformat
mode, a, b = sys.argv[1:4]
if mode == "dump":
    nb = nbformat.read(a, 4)
    out = []
    for c in nb.cells:
        out.append(f"#%%== {c.cell_type} {c.get('id','-')} {json.dumps(c.metadata, ensure_ascii=False, sort_keys=True)}")
        out.append(c.source)
    open(b, "w").write("\n".join(out) + "\n")
else:
    import re
    text = open(a).read()
    old = {}
    try:
        old_nb = nbformat.read(b, 4)
        old = {c.get("id"): c for c in old_nb.cells}
        meta = old_nb.metadata
    except FileNotFoundError:
        old_nb = nbformat.v4.new_notebook(); meta = None
    nb = nbformat.v4.new_notebook()
    if meta is not None: nb.metadata = meta
    parts = re.split(r"^#%%== ", text, flags=re.M)[1:]
    for i, p in enumerate(parts):
        head, _, body = p.partition("\n")
        kind, id_, m = head.split(" ", 2)
        body = body.rstrip("\n")
        cell = nbformat.v4.new_code_cell(body) if kind == "code" else nbformat.v4.new_markdown_cell(body)
        if id_ in old and old[id_].cell_type == kind:
            if kind == "code": cell.outputs = old[id_].outputs; cell.execution_count = old[id_].execution_count
        if id_ != "-": cell.id = id_
        cell.metadata = nbformat.from_dict(json.loads(m))
        nb.cells.append(cell)
    nb.nbformat_minor = 5
    nbformat.write(nb, b)
