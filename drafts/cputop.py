import json,glob,sys
t=[]
for g in glob.glob('/work/tmp/cpu.jsonl.gw*'):
    for l in open(g):
        n,c,ch,b,w=json.loads(l)
        if sys.argv[1] in n: t.append((c+ch+b,w,n))
for c,w,n in sorted(t,reverse=True)[:int(sys.argv[2])]: print(f"{c:6.1f} {w:6.1f} {n[:150]}")
