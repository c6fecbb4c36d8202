import json,glob,sys
p,*ids=sys.argv[1:]
nb=json.load(open(glob.glob(f"notebooks/{p}*")[0])); C=nb["cells"]
for k in ids:
    i=next(i for i,c in enumerate(C) if c["id"]==k or str(i)==k)
    for j in (i-1,i+1,i+2):
        if 0<=j<len(C) and C[j]["cell_type"]=="markdown": print(f"[{p} {k} {j-i:+d}]","".join(C[j]["source"])[:1500])
