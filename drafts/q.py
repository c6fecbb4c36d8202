import json,collections,statistics as st, math
r=json.load(open("attnlib/course/data/results/collectives.json"))
print(r.keys()); print({k:r[k] for k in r if k not in("runs","timing")}); 
runs=r["runs"]; print(len(runs))
print(collections.Counter((x["task"],x["stage"],x["steps"]) for x in runs))
print(r["timing"])
fin=collections.defaultdict(list); sea=collections.defaultdict(dict)
for x in runs:
    if x["task"]!="spins": continue
    k=(x["name"],tuple(x["condition"]))
    if x["stage"]=="final": fin[k].append(x)
    if x["stage"]=="search": sea[k].setdefault(x["rate"],[]).append(x["score"])
for k in sorted(fin):
    f=sorted(fin[k],key=lambda x:x["seed"]); s=[x["score"] for x in f]
    m=st.mean(s); e=st.stdev(s)/math.sqrt(len(s)) if len(s)>1 else float("nan")
    print(k,len(f),f"{m:.4f}±{e:.4f}",[round(v,4) for v in s],f[0]["rate"],f[0]["numbers"],"|",{a:[round(v,4) if v is not None else None for v in b] for a,b in sorted(sea[k].items())})
print([k for k in sea if k not in fin])
