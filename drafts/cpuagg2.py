import json,collections,glob,sys
g=sys.argv[1]; f=collections.defaultdict(lambda:[0,0,0]); t=[]
for h in glob.glob(g+'.gw*'):
    for l in open(h):
        n,c,ch,b,w,*s=json.loads(l)
        k=n.split('::')[0]; f[k][0]+=c+ch+b; f[k][1]+=w; f[k][2]+=1; t.append((c+ch+b,w,n))
print('total cpu',sum(v[0] for v in f.values()),'wall',sum(v[1] for v in f.values()),len(t))
st=collections.defaultdict(float)
for k,v in f.items():
    p=k.split('/'); st[p[0] if p[0]!='tests' else 'tests/'+p[1]]+=v[0]
print({k:round(v) for k,v in sorted(st.items(),key=lambda x:-x[1])})
for k,v in sorted(f.items(),key=lambda x:-x[1][0])[:70]: print(f"{v[0]:6.1f} {v[1]:6.1f} {v[2]:4d} {k}")
if len(sys.argv)>2:
    print('----')
    for c,w,n in sorted(t,reverse=True)[:int(sys.argv[2])]: print(f"{c:6.1f} {w:6.1f} {n[:130]}")
