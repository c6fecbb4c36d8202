import sys,json
sys.path.insert(0,'tests/helpers'); sys.path.insert(0,'.')
from tests.helpers import figures
from attnlib.course.live import _figure as f
rows=[]
for row in figures.TABLE:
    for i,st in enumerate((row.start,*row.extremes)):
        fig=figures.made(row,**st); d,m=fig._repr_mimebundle_()
        rows.append((row.size-len(json.dumps(d|m)),row.name,i,len(json.dumps(d|m))))
for r in sorted(rows)[:10]: print(r)
print(len(f._KIT))
row=[r for r in figures.TABLE if r.name=='Flatland'][0]; p=figures.made(row,**row.extremes[1]).page()
import html
print(len(p), len(json.dumps(p)))
open('/tmp/flat.html','w').write(p)
row=[r for r in figures.TABLE if r.name=='Walker'][0]; p=figures.made(row,**row.extremes[0]).page(); open('/tmp/walk.html','w').write(p); print(len(p), len(json.dumps(p)))
