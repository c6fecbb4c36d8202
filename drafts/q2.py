import json,collections,statistics as st, math
r=json.load(open("attnlib/course/data/results/collectives.json"))
runs=r["runs"]
best=collections.Counter()
fin=collections.defaultdict(list); sea=collections.defaultdict(dict)
for x in runs:
    k=(x["task"],x["name"],tuple(x["condition"]))
    if x["stage"]=="final": fin[k].append(x)
    if x["stage"]=="search": sea[k].setdefault(x["rate"],[]).append(x["score"])
for k,f in fin.items():
    if k[0]=="spins": best[f[0]["rate"]]+=1
print("best rates spins",sorted(best.items()))
print("0.1 vs best, spins")
for k,s in sea.items():
    if k[0]=="spins" and 0.1 in s and k in fin:
        m=lambda v: math.inf if None in v else st.mean(v)
        b=min((m(v),r) for r,v in s.items() if r!=0.1)
        print(k[1:],s[0.1],b, m(s[0.1])/b[0])
import torch
p=torch.randperm(10,generator=torch.Generator().manual_seed(3)).tolist(); print("perm",p,[i for i in range(10) if p[i]==i],[(i,p[i]) for i in range(10) if p[p[i]]==i and i<p[i]])
# after measurements
for x in runs:
    if x["task"]=="spins" and x["stage"]=="final" and x["seed"]==11 and x["condition"]==[1.0]:
        a=x.get("after",{}); print(x["name"],x["score"],{k:(v if not isinstance(v,(dict,list)) else "...") for k,v in a.items()})
