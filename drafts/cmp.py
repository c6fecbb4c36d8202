import sys,time
sys.path.insert(0,'/work/main/tools'); sys.path.insert(0,'/tmp')
from pathlib import Path
import book_search as n
import shutil; shutil.copy('/work/main/tools/search_words.yml','/tmp/search_words.yml')
import old_search as o
site=Path('/work/tmp/bb/_build/html'); bad=0
c=time.process_time; tn=to=0
for p in sorted(site.rglob('*.html')):
    if '_static' in str(p.relative_to(site)): continue
    x=p.read_text(); t=c(); a=n.sections(x); tn+=c()-t; t=c(); b=o.sections(x); to+=c()-t
    if a!=b:
        bad+=1; print(p.name,len(a),len(b))
        for i,j in zip(a,b):
            if i!=j:
                k=next((q for q,(u,v) in enumerate(zip(i[2],j[2])) if u!=v),0)
                print('  ',i[:2],j[:2], repr(i[2][max(0,k-40):k+60]), repr(j[2][max(0,k-40):k+60])); break
print(bad,tn,to)
