import json,collections,statistics as st, math
r=json.load(open("attnlib/course/data/results/collectives.json")); runs=r["runs"]
R=lambda v:[round(x,4) if isinstance(x,float) else x for x in v]
fin=collections.defaultdict(list); sea=collections.defaultdict(dict)
for x in runs:
    k=(x["task"],x["name"],tuple(x["condition"]))
    if x["stage"]=="final": fin[k].append(x)
    if x["stage"]=="search": sea[k].setdefault(x["rate"],[]).append(x["score"])
for k in sorted(fin):
    if k[0] in("hops","markov"):
        f=sorted(fin[k],key=lambda x:x["seed"]); s=[x["score"] for x in f]
        m=st.mean(s); e=st.stdev(s)/5**.5
        print(k,f"{m:.4f}±{e:.4f}",R(s),f[0]["rate"],f[0]["numbers"],"|",{a:R(b) for a,b in sorted(sea[k].items())})
print("--- walker 2 steps heat")
for n in ("walker, 2 steps",):
    for x in sorted(fin[("hops",n,(2,))],key=lambda x:x["seed"]):
        a=x["after"]; print(x["seed"],a["as it is"],a["heat"],a["steps by hops"])
for n in ("energy walker, 2 steps","energy walker, out held","energy walker, all held","walker with a network, 2 steps","walker with a residual path, 2 steps"):
    for x in sorted(fin[("hops",n,(2,))],key=lambda x:x["seed"]):
        w=x["after"]["steps by hops"]; print(n,x["seed"],"diag",R([w[t][t] for t in range(6)]), "T3k2",w[2][1])
for x in fin[("hops","walker, 3 steps",(3,))]: print("w3",x["score"])
for k in (("markov","softmax, 2 blocks",()),("markov","energy, 2 blocks",()),("markov","softmax",())):
    for x in sorted(fin[k],key=lambda x:x["seed"]):
        a=x["after"]; print(k[1],x["seed"],x["score"],R(a.get("weight on the predecessor",[])),R(a["heads"][0]["without"]),a["as it is"],R(a.get("without those that look back",[])),R(a["by place"]))
