import torch
from collections import Counter, defaultdict
from attnlib.course.data.joining import *
from attnlib.course.models.specimens import rows_of
L=Language(); s=L.draw(6000,generator=torch.Generator().manual_seed(0))
_,hid=hide(s.tokens,.2,generator=torch.Generator().manual_seed(1))
arrow=(s.tokens==ARROW).int().argmax(-1); n=s.real.sum(-1)
k=rows_of(s,hid)
for name in('hidden','shown'):
    keys,rows=k[name]
    for what in ('own','own+arrow','own+arrow+length'):
        t=defaultdict(Counter);tot=0
        for b,i in rows.nonzero().tolist():
            key=(i,) if what=='own' else (i,arrow[b].item()) if what=='own+arrow' else (i,arrow[b].item(),n[b].item())
            tot+=1
            for j in keys[b,i].nonzero()[:,0].tolist(): t[key][j]+=1
        print(name,what, sum(max(c.values()) for c in t.values())/tot, tot)
