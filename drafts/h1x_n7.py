import torch
from collections import Counter, defaultdict
from attnlib.course.data.joining import *
L=Language()
# exact: all forms equally likely
def best(feat):
    t=defaultdict(lambda:defaultdict(float));tot=0.
    for f,form in enumerate(L.forms):
        row=L.layout(*form); keys=L._keys[f]; a=row.index(ARROW)
        for i in range(a+1,len(row)-1):
            js=keys[i].nonzero()[:,0].tolist()
            if not js: continue
            tot+=1
            for j in js: t[feat(row,i,a,form)][j]+=1
    return sum(max(c.values()) for c in t.values())/tot
print('own',best(lambda r,i,a,f:i))
print('own,arrow',best(lambda r,i,a,f:(i,a)))
print('own-arrow offset',best(lambda r,i,a,f:(i-a)))
print('own,arrow,length',best(lambda r,i,a,f:(i,a,len(r))))
print('own,arrow,dot',best(lambda r,i,a,f:(i,a,r.index(DOT))))
print('own,arrow,dot,len',best(lambda r,i,a,f:(i,a,r.index(DOT),len(r))))
# rel offset j
def bestrel(feat,rel):
    t=defaultdict(lambda:defaultdict(float));tot=0.
    for f,form in enumerate(L.forms):
        row=L.layout(*form); keys=L._keys[f]; a=row.index(ARROW)
        for i in range(a+1,len(row)-1):
            js=keys[i].nonzero()[:,0].tolist()
            if not js: continue
            tot+=1
            for j in js: t[feat(row,i,a,form)][j]+=1
    return sum(max(c.values()) for c in t.values())/tot
