import sys, json, math; sys.path[:0]=["/work/main"]
import torch
torch.set_default_dtype(torch.float64); torch.set_printoptions(precision=3, sci_mode=False, linewidth=180)
from attnlib.course.data.examined_specimens import ExaminedSpecimens
f = ExaminedSpecimens((lambda d: d | {"settings": {"seeds": 3}, "runs": [x for x in d["runs"] if x["seed"] <= 3]})(json.load(open("/work/tmp/examinations.json"))) if len(sys.argv) > 1 else json.load(open("/work/tmp/examinations.json")))
r = f.read
def P(*a): print(*[x if not torch.is_tensor(x) else [round(v,3) for v in x.tolist()] if x.ndim==1 else x for x in a])
for n in f.networks:
    print("==", n)
    P("loss", r(n,"loss")); P("mapper right", r(n,"mapper","right")); P("step", r(n,"mapper","step")); P("head", r(n,"mapper","head"))
    P("step1 max", r(n,"mapping")[:,0].amax(-1)); 
    P("U", r(n,"temperature","own")[:,0], "err", r(n,"temperature","error"), "best", r(n,"temperature","best"))
    try: P("one", r(n,"temperature","one"))
    except Exception as e: print("one", [x["temperature"]["one"] for x in f.runs if x["network"]==n] if hasattr(f,"runs") else e)
    P("spread@mapper", f.at_mapper(n,"spread")); P("Y2", f.at_mapper(n,"participation"), "law", f.at_mapper(n,"participation_law"))
    P("spread mean", r(n,"after","spread").mean((1,2))); P("before", r(n,"before","spread").mean((1,2)))
    P("sym", r(n,"after","symmetric_share").flatten(1).mean(-1), "mapper", f.at_mapper(n,"symmetric_share"), "before", r(n,"before","symmetric_share").flatten(1).mean(-1))
    b=r(n,"loss")
    for k in ("symmetric","antisymmetric","transposed"):
        P(k,"mapper loss+", r(n,"rules","mapper",k)[:,0]-b, "right", r(n,"rules","mapper",k)[:,1],"any", r(n,"rules","mapper",k)[:,2], "all loss", r(n,"rules","all",k)[:,0])
    for k in ("half beta","twice beta","sparse","hard","two_half_steps","ghost"):
        P(k,"mapper", r(n,"rules","mapper",k)[:,0]-b,"all", r(n,"rules","all",k)[:,0]-b)
    P("places", r(n,"rules","places").mean(-1))
    sil = r(n,"rules","silent")-b[:,None]; P("silent sorted", sil.sort(-1).values)
    h=(r(n,"mapper","head").int()-1).tolist(); P("mapper silent", torch.stack([sil[i,j] for i,j in enumerate(h)]), "rank", [int((sil[i]>sil[i,j]).sum()) for i,j in enumerate(h)])
    st, er, wa = (r(n,"after",k) for k in ("store","erase","walk"))
    print(st.shape)
    P("store mapper", f.at_mapper(n,"store"), "erase", f.at_mapper(n,"erase"), "walk", f.at_mapper(n,"walk"))
    k = (st-er).mean(1) if n=="untied" else (st-er)[:,0]
    P("store-erase all", k); P("min walk", wa.flatten(1).amin(-1))
    P("rank corr", torch.stack([torch.stack([a.argsort().argsort().double(),c.argsort().argsort().double()]).corrcoef()[0,1] for a,c in zip(k,sil)]))
    P("origins", r(n,"origins"))
    P("states cos", torch.tensor([[s["cosine"] for s in x["after"]["states"]] for x in f.runs(n)]) if callable(getattr(f,"runs",None)) else "")
    if n!="untied":
        P("change1-8", r(n,"rest","change")[:,:8]); P("last>.02", (r(n,"rest","last")>.02).double().mean(-1), r(n,"rest","last").mean(-1))
        P("exponent", r(n,"rest","exponent").mean(-1))
        for s in (1,2,4,6,7,8,9,10,12,16,24,50,100,300): P(s, r(n,"rest","loss",str(s)), "map", r(n,"rest","mapping",str(s)), "cos", r(n,"rest","cosine",str(s)))
        for s in ("damped","anderson"): P(s, r(n,"rest",s,"converged"), r(n,"rest",s,"loss"))
