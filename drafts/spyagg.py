import glob,collections,sys,re
own=collections.Counter(); incl=collections.Counter(); tot=0; per=collections.Counter()
pat=sys.argv[1] if len(sys.argv)>1 else ''
for f in sorted(glob.glob('/work/tmp/prof/???.raw')):
    for l in open(f):
        st,n=l.rsplit(' ',1); n=int(n)/50; fr=st.split(';')
        if not any('run_cell' in x for x in fr): continue
        tot+=n; per[f[-7:-4]]+=n
        fr=[re.sub(r':\d+\)',')',x) for x in fr]
        own[fr[-1]]+=n
        for x in set(fr): incl[x]+=n
print('total',tot, dict((k,round(v,1)) for k,v in per.items()))
print('OWN'); 
for k,v in own.most_common(45): print(f"{v:6.1f} {k}")
print('INCL')
for k,v in incl.most_common(400):
    if ('attnlib' in k or 'matplotlib' in k and v>4 or 'torch' in k and v>4 or '/tmp/ipykernel' in k) : print(f"{v:6.1f} {k}")
