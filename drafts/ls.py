import json,sys,glob
nb=json.load(open(glob.glob(f'/work/main/notebooks/{sys.argv[1]}*.ipynb')[0]))
for i,c in enumerate(nb['cells']):
    s=''.join(c['source']); print(i,c['id'],c['cell_type'][0],','.join(c['metadata'].get('tags',[])),len(s),s[:60].replace('\n',' '))
