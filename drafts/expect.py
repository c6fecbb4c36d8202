import json,glob
rec={}
for h in glob.glob('/work/tmp/cpu2.jsonl.gw*'):
    for l in open(h):
        n,c,ch,b,w,*s=json.loads(l); rec[n]=c+ch+b
sel=set(open('/work/tmp/sel.txt').read().split('\n'))
k=[n for n in rec if n in sel]; new=[n for n in sel if n and n not in rec]
print('recorded',round(sum(rec.values())),'kept',round(sum(rec[n] for n in k)),len(k),'new unrecorded',len(new),'dropped',round(sum(v for n,v in rec.items() if n not in sel)))
for n in sorted(new)[:60]: print(n[:140])
import collections
f=collections.defaultdict(lambda:[0,0]); st=collections.defaultdict(float)
for n in k:
    q=n.split('[')[0] if not n.startswith('notebooks') else n.split('::')[0]
    f[q][0]+=rec[n]; f[q][1]+=1
    p=n.split('/'); st[p[0] if p[0]!='tests' else p[1]]+=rec[n]
print({a:round(b) for a,b in sorted(st.items(),key=lambda x:-x[1])})
for a,v in [x for x in sorted(f.items(),key=lambda x:-x[1][0]) if not x[0].startswith('notebooks')][:75]: print(f"{v[0]:6.1f} {v[1]:4d} {a[6:110]}")
