import json,glob,sys,re
p,pat=sys.argv[1:3]; f=glob.glob(f"/work/main/notebooks/{p}*")[0]
c=[x for x in json.load(open(f))["cells"] if x["cell_type"]=="code"]
for i,x in enumerate(c):
    s="".join(x["source"])
    if pat in s: print(f"## {i}\n{s}\n")
