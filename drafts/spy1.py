import collections,sys,re
f,pat,n=sys.argv[1],sys.argv[2],int(sys.argv[3])
own=collections.Counter(); incl=collections.Counter(); line=collections.Counter(); tot=0
for l in open(f):
    st,k=l.rsplit(' ',1); k=int(k)/50; fr=st.split(';')
    if not any('run_cell' in x for x in fr): continue
    tot+=k
    for x in set(fr):
        if pat in x: line[x]+=k
print(tot)
for x,v in line.most_common(n): print(f"{v:6.2f} {x}")
