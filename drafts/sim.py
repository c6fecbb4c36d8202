import json,glob,collections,zlib,math,sys
rec={}
for h in glob.glob('/work/tmp/cpu2.jsonl.gw*'):
    for l in open(h):
        n,c,ch,b,w,*s=json.loads(l); rec[n]=c+ch+b
M=json.load(open('/work/tmp/marks_all.json'))
by=collections.defaultdict(list)
for n,m in M.items():
    if 'slow' in m and not ({'whole','sweep','browser','book'}&set(m)) and n.startswith('tests/'): by[n.split('/')[1]].append(n)
print({k:len(v) for k,v in by.items()}, sum(map(len,by.values())))
mean=sum(rec[n] for v in by.values() for n in v if n in rec)/sum(1 for v in by.values() for n in v if n in rec)
for share in (1/4,1/6,1/8):
    tot=0;cnt=0
    for k,v in by.items():
        v=sorted(v,key=lambda n: zlib.crc32(n.encode()))
        kept=v[:max(math.ceil(share*len(v)),1)]
        tot+=sum(rec.get(n,mean) for n in kept); cnt+=len(kept)
        if share==1/6: print(k,[n.split('::')[0].split('/')[-1][5:-3]+'::'+n.split('::')[1][:60] for n in kept][:12])
    print(share,cnt,round(tot),'mean',round(mean,2))
