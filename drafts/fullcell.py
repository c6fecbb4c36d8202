import json,glob,sys
p,*pats=sys.argv[1:]; nb=json.load(open(glob.glob(f"/work/main/notebooks/{p}*")[0]))
for i,c in enumerate(nb['cells']):
    s=''.join(c['source'])
    if any(q in s for q in pats):
        print(f"## {i} {c['cell_type']}\n{s}")
        for o in c.get('outputs',[]):
            t=o.get('text') or o.get('data',{}).get('text/plain','')
            print('>>>',''.join(t)[:1500])
