import sys,time,re,collections
sys.path.insert(0,'/work/main/tools')
from pathlib import Path
import book_search as b
from bs4 import BeautifulSoup
c=time.process_time
site=Path('/work/tmp/bb/_build/html'); pages=[p for p in site.rglob('*.html') if '_static' not in str(p.relative_to(site))]
t=c(); tx=[p.read_text() for p in pages]
arts=[m[0] for m in map(b._ARTICLE.search,tx) if m]; print(len(arts), sum(map(len,arts)), c()-t)
t=c(); un=[b.uncoloured(a) for a in arts]; print('uncol',c()-t, sum(map(len,un)))
t=c(); so=[BeautifulSoup(a,'html.parser') for a in un]; print('parse',c()-t)
n=collections.Counter(tag.name for s in so for tag in s.find_all(True)); print(n.most_common(20))
t=c(); f=[s.find_all(b._silent) for s in so]; print('silent',c()-t, sum(map(len,f)))
k=collections.Counter(x.name for y in f for x in y); print(k.most_common(12))
inside=sum(len(x.find_all(True)) for y in f for x in y); print('inside silent',inside)
t=c()
for y in f:
    for x in y: x.decompose()
print('decompose',c()-t)
t=c(); r=[b.sections(x) for x in tx]; print('all',c()-t)
t=c(); so=[BeautifulSoup(a,'lxml') for a in un]; print('lxml parse',c()-t)
import lxml.html
t=c(); so=[lxml.html.fromstring(a) for a in un]; print('pure lxml parse',c()-t)
