import json,collections,glob,sys
f=collections.defaultdict(lambda:[0,0,0]); t=[]
for g in glob.glob('/work/tmp/cpu.jsonl.gw*'):
    for l in open(g):
        n,c,ch,b,w=json.loads(l)
        k=n.split('::')[0]; f[k][0]+=c+ch+b; f[k][1]+=w; f[k][2]+=1; t.append((c+ch+b,w,n))
tot=sum(v[0] for v in f.values()); print('total cpu',tot,'wall',sum(v[1] for v in f.values()),len(t))
for k,v in sorted(f.items(),key=lambda x:-x[1][0])[:60]: print(f"{v[0]:7.1f} {v[1]:7.1f} {v[2]:4d} {k}")
