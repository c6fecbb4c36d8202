import nbformat,glob,re
for f in sorted(glob.glob("notebooks/*.ipynb")):
    nb=nbformat.read(f,4)
    words=0; tot=sum(len(c.source.split()) for c in nb.cells)
    for i,c in enumerate(nb.cells):
        if c.cell_type=="code":
            for o in c.get("outputs",[]):
                h="".join(o.get("data",{}).get("text/html",""))
                if "data-live" in h:
                    print("=====",f,i,len(nb.cells),f"{words}/{tot} words",re.search('data-live="(\w+)"',h)[1],len(h)); print(c.source); print(c.metadata.get("mystnb")); 
                    print("PREV:",nb.cells[i-1].source[:900]); 
                    for j in (1,2): print("NEXT:",nb.cells[i+j].cell_type,nb.cells[i+j].source[:900])
        words+=len(c.source.split())
