import json,sys
nb=json.load(open(sys.argv[1]))
for c in nb['cells']:
    if c['cell_type']=='code':
        for o in c.get('outputs',[]):
            t=''.join(o.get('text',[])) or ''.join(o.get('data',{}).get('text/plain',[]))
            if t.strip(): print('---',c['id']); print(t[:3000])
