import sys, json, math; sys.path[:0]=["/work/main"]
import torch
from pathlib import Path
torch.set_default_dtype(torch.float64); torch.set_printoptions(precision=3, sci_mode=False, linewidth=180)
d=json.load(open("/work/tmp/examinations.json"))["runs"]
print({k for k in d[0]["after"]})
for n in ("tied","untied","causal"):
    print("==",n)
    for x in sorted((x for x in d if x["network"]==n), key=lambda x:x["seed"]):
        a,b=x["after"],x["before"]
        s,h=x["mapper"]["step"]-1,x["mapper"]["head"]-1
        T=lambda k,w=a: torch.tensor(w[k])
        sp=T("spread"); 
        r=T("participation")/T("participation_law")
        oth=torch.ones(8,dtype=bool); oth[h]=False
        m=torch.tensor(x["mapping"])
        fs=T("first") if "first" in a else None
        run=json.load(open(f"/work/tmp/spec_runs/final-{n}-{x['seed']}.json")) if Path(f"/work/tmp/spec_runs/final-{n}-{x['seed']}.json").exists() else None
        mp={k: round(torch.tensor(v).max().item(),3) for k,v in run["mapping"].items()} if run else None
        back=round(torch.tensor(run["mapping"]["back"])[:,h].max().item(),3) if run and "back" in run["mapping"] else None
        print(x["seed"],"spread step1",round(sp[0,h].item(),2),"best",round(sp[s,h].item(),2),"by step",[round(v,2) for v in sp.mean(1).tolist()],"within25",round(((r[:,oth].median(0).values-1).abs()<.25).double().mean().item(),2),
          "heads>.7",int((m.amax(0)>.7).sum()),"2nd",round(m.amax(0).sort().values[-2].item(),2),"maps",mp,"back",back, "lossone",[round(x["temperature"]["loss"].get(k,float("nan"))-x["loss"],4) for k in ("one","best")])
        c=[round(z["cosine"],2) for z in a["states"]]; cb=[round(z["cosine"],2) for z in b["states"]]
        st,er=T("store"),T("erase"); 
        print("   cos",c,"before",cb, "bspread",[round(v,3) for v in T("spread",b).mean(1).tolist()], "th",[round(math.sqrt(1-z["cosine"])/3/math.sqrt(2*math.log(27)),3) for z in b["states"][:-1]])
        print("   before store-erase max", round((T("store",b)-T("erase",b)).abs().max().item(),3), "sym before sd", round(T("symmetric_share",b)[0].std().item(),4), "mapper vs others store-erase", round((st-er)[s,h].item(),2), round((st-er)[s][oth].mean().item(),2), "first max", round(T("first_token").max().item(),2) if "first_token" in a else "?")
