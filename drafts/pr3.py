import nbformat,sys
nb=nbformat.read(sys.argv[1],4)
a,b=int(sys.argv[2]),int(sys.argv[3])
for i,c in enumerate(nb.cells[a:b],a):
    print(f'--- {i} {c.cell_type} id={c.id} {",".join(c.metadata.get("tags",[]))}'); print(c.source)
