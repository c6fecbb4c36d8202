"""Run a page's cells up to an id, then a file: runto.py PAGE CELLID FILE"""
import sys,json,glob,os
os.environ["MPLBACKEND"]="Agg"
page,cell,f=sys.argv[1:4]
os.chdir('/work/main/notebooks')
nb=json.load(open(glob.glob(f'/work/main/notebooks/{page}*.ipynb')[0]))
g={"__name__":"__main__"}; exec("from attnlib.course import plots\nplots.use_style()",g)
for c in nb['cells']:
    if c['cell_type']=='code' and 'find_spec' not in ''.join(c['source']):
        exec(''.join(c['source']),g)
    if c['id']==cell: break
exec(open(f).read(),g)
