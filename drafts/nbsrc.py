import json,sys
nb=json.load(open(sys.argv[1]))
outs='-o' in sys.argv
n=int(sys.argv[2]) if len(sys.argv)>2 and sys.argv[2].isdigit() else 0
for i,c in enumerate(nb['cells']):
    tags=c['metadata'].get('tags',[])
    print(f"\n### [{i}] {c['cell_type']} id={c.get('id')} {tags}")
    if c['metadata'].get('mystnb'): print('  META',json.dumps(c['metadata']['mystnb'],ensure_ascii=False)[:900])
    print(''.join(c['source']))
    if outs and c['cell_type']=='code':
        for o in c['outputs']:
            t=o.get('text') or o.get('data',{}).get('text/plain')
            if t: print('  >>',(''.join(t))[:1200])
