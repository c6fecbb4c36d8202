"""Tables of the verdicts from the records, for the draft: run from the clone with its .venv."""
import collections, json, sys
import torch
from attnlib.course import recorded
from attnlib.course.data.seeds import SeededRuns, over_runs
def pts(e): return f"{100*e.mean:6.2f} ± {100*e.error:.2f} ({e.errors:+.1f})"
def digits_part():
    rec=recorded("digit_verdicts"); R=SeededRuns(rec)
    rates={(r["name"],r["steps"]):r["rate"] for r in rec["runs"] if r["stage"]=="final"}
    print("MISREAD, points: mean ± error over runs [sd over runs; fold means] rate, top, converged")
    for name in R.names:
        for steps in R.lengths(name):
            m=R.misread(name,steps); e=R.mean(name,steps)
            line=f"{name:50} {steps:5} {100*e.mean:6.2f} ± {100*e.error:.2f}  sd {100*m.std():.2f} folds "+" ".join(f"{100*x:.1f}" for x in m.mean(1))+f" rate {rates[name,steps]}"
            for key in ("largest_eigenvalue","converged"):
                try: v=R.values(name,steps,key); line+=f" {key[:4]} {v.nanmean():.3f} [{v[~v.isnan()].min():.2f},{v[~v.isnan()].max():.2f}]"
                except ValueError: pass
            print(line)
    return R
def compare(R,pairs):
    for one,other in pairs:
        for steps in R.lengths(one):
            if steps in R.lengths(other):
                d=R.misread(other,steps)-R.misread(one,steps)
                print(f"{one} ahead of {other}, {steps}: {pts(R.ahead(one,other,steps))}  folds "+" ".join(f"{100*x:.1f}" for x in d.mean(1)))
if __name__=="__main__":
    R=digits_part()
    rnd=[n for n in R.names if n.startswith("random")]
    compare(R,[("free",n) for n in rnd])
    b=[("softmax attention, six heads","tanh, six heads"),("free, six heads","tanh, six heads"),("free, six heads","softmax attention, six heads"),("free, six heads","free, six heads, one z"),("softmax attention, six heads","free, six heads, one z"),("free, six heads","binary, none"),("softmax attention, six heads","softmax attention, six heads, to its fixed point"),("equilibrium block, held","softmax attention, six heads, to its fixed point"),("equilibrium block, eight steps","equilibrium block, held"),("softmax attention, six heads","equilibrium block, held"),("equilibrium block, one step","equilibrium block, held"),("softmax attention, six heads","equilibrium block, one step"),("free, six heads","no mixer: 64 pixels"),("softmax attention, six heads","no mixer: 64 pixels"),
    ("binary, none","softmax block, 16 wide"),("binary, none","softmax block, 10 wide"),("softmax block, 16 wide","softmax block, 10 wide"),("binary, none","no mixer: 64 pixels"),("gaussian","no mixer: 64 pixels"),("binary, none","gaussian"),
    ("binary, none","binary, none, asymmetric"),("binary, none","binary, none, symmetric inside"),("binary, none","binary, none, self-coupled"),("gaussian, asymmetric","gaussian"),("binary, none","binary, neural"),("binary, exact","binary, none"),("spherical, exact","spherical, none"),("spherical, none","spherical, neural"),("gaussian","gaussian, neural"),("binary, none","spherical, none"),("binary, none","binary, none, couplings as drawn"),
    ("tanh","tanh, mean only"),("softmax","softmax, mean only"),("free","tanh")]
    compare(R,b)
    try:
        G=recorded("graph_verdicts"); by=collections.defaultdict(dict)
        for r in G["runs"]:
            if r["stage"]=="communities": by[r["model"],r["steps"]][r["seed"]]=r
        def val(m,s,k): return {seed:r[k] for seed,r in by[m,s].items()}
        def diff(m,n,s,k):
            a,b=val(m,s,k),val(n,s,k); c=sorted(set(a)&set(b)); return torch.tensor([a[i]-b[i] for i in c],dtype=torch.float64)
        for (m,s),runs in by.items():
            a=torch.tensor([r["accuracy"] for r in runs.values()],dtype=torch.float64); x=torch.tensor([r["excess"] for r in runs.values()],dtype=torch.float64); g=torch.tensor([r["optimum"]-r["accuracy"] for r in runs.values()],dtype=torch.float64)
            if len(a)>1: print(m,s,len(a),"rate",next(iter(runs.values()))["rate"],"right",over_runs(a),"sd",a.std().item(),"below optimum",over_runs(g),"excess",over_runs(x))
        for m,n in (("pairs","mean_of_pairs"),("two_kinds","mean_of_pairs"),("pairs","two_kinds"),("attention","mean"),("sum","attention"),("sum","mean"),("marked","attention"),("pairs","attention"),("mean_of_pairs","attention"),("mean_of_pairs","sum")):
            for s in (600,1200):
                for k in ("accuracy","excess"):
                    d=diff(m,n,s,k)
                    if len(d)>1: e=over_runs(d); print(f"{m} - {n}, {s}, {k}: {e.mean:.5f} ± {e.error:.5f} ({e.errors:+.1f}) n={e.runs} [{d.min():.5f}, {d.max():.5f}]")
        for m in ("attention","mean","sum","pairs","mean_of_pairs"):
            c=sorted(set(by[m,600])&set(by[m,1200])); d=torch.tensor([by[m,1200][i]["accuracy"]-by[m,600][i]["accuracy"] for i in c],dtype=torch.float64)
            if len(d)>1: print(m,"1200-600",over_runs(d))
        for m in ("pairs","mean_of_pairs","two_kinds","marked","sum"):
            c=sorted(set(by[m,1200])&set(by["attention",1200])); 
            if len(c)>1:
                n=torch.tensor([by[m,1200][i]["accuracy"]-by["attention",1200][i]["accuracy"] for i in c],dtype=torch.float64); dd=torch.tensor([by["attention",1200][i]["optimum"]-by["attention",1200][i]["accuracy"] for i in c],dtype=torch.float64)
                print(m,"closes",(n.mean()/dd.mean()).item(),"per seed",[round(x,3) for x in (n/dd).tolist()], over_runs(n/dd))
        for m in ("attention","mean","sum"):
            k=torch.tensor([32*r["accuracy"] for r in G["runs"] if r["stage"]=="karate" and r["model"]==m],dtype=torch.float64)
            if len(k)>1: print("karate",m,over_runs(k),"of 32; above 31:",(k>31.5).sum().item(),"below",(k<30.5).sum().item(), "rate",[r["rate"] for r in G["runs"] if r["stage"]=="karate" and r["model"]==m][0])
    except ValueError as e: print(e)
