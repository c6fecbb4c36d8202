import json,math
R=lambda v:[round(x,3) if isinstance(x,float) else x for x in v]
w=json.load(open("attnlib/course/data/results/walkers.json")); print(w["settings"])
for row in w["rows"]:
    print(row["heads"],row["seed"],row["score"],"walks",R(row["walks"]),"least",R(row["least"]),"targets",[R(t) for t in row["targets"]],"costs",[R(c) for c in row["costs"]])
h=json.load(open("attnlib/course/data/results/held.json")); print(h["settings"])
for row in h["rows"]: print({k:(round(v,4) if isinstance(v,float) else v) for k,v in row.items() if k!="walks"},R(row["walks"]))
i=json.load(open("attnlib/course/data/results/induction.json")); print(i["settings"])
for row in i["rows"]:
    near=[]
    last=None
    for s,a,b,c in zip(row["steps"],row["uniform"],row["unigram"],row["bigram"]):
        n="ubp"[[a,b,c].index(min(a,b,c))]
        if n!=last: near.append((s,n)); last=n
    half=next(k for k,d in zip(row["steps"],row["bigram"]) if d<.056)
    print(row["name"],row["seed"],near,"half",half,"min unigram",min(row["unigram"]),"bigram@",[(s,round(c,3)) for s,c in zip(row["steps"],row["bigram"]) if s in(10,20,50,80,100,150,200)])
    if "rests" in row:
        for b in row["rests"]: print("   ",[{k:round(v,3) for k,v in x.items()} for x in b])
import statistics as st
sm=[r for r in i["rows"] if r["name"].startswith("softmax")]
for g in("uniform","unigram","bigram"): print(g,[(s,round(st.mean(r[g][k] for r in sm),4)) for k,s in enumerate(sm[0]["steps"]) if s<=400 or s in(800,1600,4000)])
