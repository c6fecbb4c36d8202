import sys, json
sys.path.insert(0,"tests")
from helpers import figures
for row in (figures.FLATLAND, figures.WALKER):
    z=max(len(json.dumps((lambda r:r[0]|r[1])(figures.made(row,**s)._repr_mimebundle_()))) for s in row.extremes)
    print(row.name,z,len(row.kind._esm))
