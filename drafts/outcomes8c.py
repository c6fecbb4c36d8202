"""Everything that page 8c and predictions.md say of the record driven_specimens: python outcomes.py [RECORD]."""
import json, sys
import torch
torch.set_printoptions(precision=4, sci_mode=False, linewidth=160)
R = json.load(open(sys.argv[1] if len(sys.argv) > 1 else "/work/tmp/driven_specimens.json"))
X = json.load(open("/work/tmp/examinations.json"))
runs = {}
for r in R["runs"]: runs.setdefault(r["network"], {})[r["seed"]] = r
for k in runs: runs[k] = [runs[k][s] for s in sorted(runs[k])]
T = torch.tensor
def a(r, *p):
    for q in p: r = r[q]
    return T(r, dtype=torch.float64)
def st(v):
    v = v.flatten()
    e = v.std() / len(v) ** .5 if len(v) > 1 else float("nan")
    return f"med {v.median():.4f} mean {v.mean():.4f} ± {e:.4f}  each {[round(x, 4) for x in v.tolist()]}"
def rank(x, y):
    r = [q.flatten().argsort().argsort().double() for q in (x, y)]
    return torch.corrcoef(torch.stack(r))[0, 1]
A = {n: torch.stack([a(r, "arrows", "arrow") for r in rs]) for n, rs in runs.items()}
print("seeds", {n: [r["seed"] for r in rs] for n, rs in runs.items()})
print("== before")
for n, rs in runs.items():
    b = torch.stack([a(r, "before", "arrow") for r in rs]).mean((1, 2)); l = torch.stack([a(r, "before", "lowest") for r in rs]).mean((1, 2))
    print(n, "arrow", st(b)); print("   lowest", st(l), "trained/before", st(A[n].mean((1,2))/b))
print("== 1 how much")
for n in A: print(n, st(A[n].mean((1, 2))))
for n in A:
    d = A[n].mean(2)
    print(n, "by step, mean over seeds", d.mean(0)); 
    for s in d: print("   ", s)
d = A["tied"].mean(2); print("steps 5-7 (each) above step 1:", (d[:, 4:7] > d[:, :1]).tolist(), "mean 5-7 - step1", st(d[:, 4:7].mean(1) - d[:, 0]))
print("causal-tied", st(A["causal"].mean((1, 2)) - A["tied"].mean((1, 2))[: len(A["causal"])]))
print("causal-untied", [round(x,3) for x in (A["causal"].mean((1, 2))[:3] - A["untied"].mean((1, 2))[:3]).tolist()])
print("== 2 mapper: ratio arrow/Y2 to mean of ratio of others at that step")
for n, rs in runs.items():
    out = []
    for i, r in enumerate(rs):
        m = r["arrows"]["mapper"]; s, h = m["step"] - 1, m["head"] - 1
        q = A[n][i] / a(r, "arrows", "participation")
        o = (q[s].sum() - q[s, h]) / 7
        out.append((m, round(q[s, h].item(), 3), round(o.item(), 3), "arrow", round(A[n][i][s,h].item(),3), "others", round(((A[n][i][s].sum()-A[n][i][s,h])/7).item(),3), "rank in step", int((q[s] < q[s,h]).sum())+1))
    for o in out: print(n, o)
    print("   below:", sum(o[1] < o[2] for o in out), "ratio", st(T([o[1] / o[2] for o in out])), "diff", st(T([o[1]-o[2] for o in out])))
print("== 3 short forms: sum lowest/true, closed/true; rank")
for n, rs in runs.items():
    print(n, "lowest", st(T([a(r, "arrows", "lowest").sum() / a(r, "arrows", "arrow").sum() for r in rs])))
    print(n, "closed", st(T([a(r, "arrows", "closed").sum() / a(r, "arrows", "arrow").sum() for r in rs])), "rested", [r["arrows"]["rested"] for r in rs])
    print(n, "rank", [r["arrows"]["ranks"]["lowest"] for r in rs], "rank closed", [round(rank(a(r,"arrows","closed"),a(r,"arrows","arrow")).item(),4) for r in rs])
    c = torch.stack([(a(r,"arrows","closed")/a(r,"arrows","arrow")) for r in rs]).flatten(); print("    single heads closed/true quantiles", c.quantile(T([0.,.05,.5,.95,1.],dtype=c.dtype)), "lowest/true", torch.stack([(a(r,"arrows","lowest")/a(r,"arrows","arrow")) for r in rs]).flatten().quantile(T([0.,.05,.5,.95,1.],dtype=c.dtype)))
print("== 4 even")
for n in ("tied", "untied"):
    e = torch.stack([a(r, "arrows", "even") for r in runs[n]])
    print(n, st(e.sum((1, 2)) / A[n].sum((1, 2)))); print("   by step", (e.mean(2) / A[n].mean(2)).mean(0), "arrows even by step", e.mean((0,2)))
print("== 5 worth")
for n, rs in runs.items():
    for key in ("cost", "participation cost"): print(n, key, st(T([r["arrows"]["ranks"][key] for r in rs])))
    print(n, "diff cost - Y2", st(T([r["arrows"]["ranks"]["cost"] - r["arrows"]["ranks"]["participation cost"] for r in rs])))
    print(n, "rank arrow Y2", st(T([rank(a(r,"arrows","arrow"),a(r,"arrows","participation")) for r in rs])), "lowest cost", st(T([rank(a(r,"arrows","lowest"),a(r,"arrows","ablation")) for r in rs])))
print("== 6 exponents")
for n in ("tied", "causal"):
    if n not in runs: continue
    for s in R["settings"]["sigmas"]:
        v = [r["films"][str(s)]["exponent"] if r["films"] else None for r in runs[n]]
        if v[0] is None: print(n, "none"); break
        print(n, s, st(T(v, dtype=torch.float64).mean(1)))
E0 = T([r["films"]["0.0"]["exponent"] for r in runs["tied"]], dtype=torch.float64).mean(1)
for s in R["settings"]["sigmas"][1:]:
    print("  minus sigma 0:", s, st(T([r["films"][str(s)]["exponent"] for r in runs["tied"]], dtype=torch.float64).mean(1) - E0))
if runs["causal"][0]["films"]:
    EC = T([r["films"]["0.0"]["exponent"] for r in runs["causal"]], dtype=torch.float64).mean(1)
    print("  causal - tied", st(EC - E0[: len(EC)]))
print("examinations rest:", {(r["network"], r["seed"]): r.get("rest") and r["rest"].get("exponent") for r in X["runs"]})
print("== 7 law and films")
for n in ("tied", "causal"):
    if n not in runs or not runs[n][0]["films"]: continue
    for s in R["settings"]["sigmas"]:
        f = [r["films"][str(s)] for r in runs[n]]
        print(n, s, "films", [round(T(x["films"]).mean().item(), 6) for x in f], "least", [round(min(x["films"]), 6) for x in f], "met", [round(T(x["met"]).mean().item(), 3) for x in f])
        if s: print("      law/err", [round(T(x["law over error"]).mean().item(), 3) for x in f], "max", [round(max(x["law over error"]), 3) for x in f], "law", [round(T(x["law"]).mean().item(), 3) for x in f])
print("== 8, 9 norms")
def cross(shares, curve, level):
    for k in range(len(curve)):
        if curve[k] > level:
            if k == 0: return float("nan")
            lo, hi = curve[k - 1], curve[k]
            import math
            t = (level - lo) / (hi - lo)
            return math.exp(math.log(shares[k - 1]) + t * (math.log(shares[k]) - math.log(shares[k - 1])))
    return float("inf")
for n, rs in runs.items():
    print(n, "own", "min", min(min(r["norms"]["own"]) for r in rs), "max", max(max(r["norms"]["own"]) for r in rs), [[f"{x:.1e}" for x in r["norms"]["own"][:2]] for r in rs])
    for lev in (.05, .5): print("   e at", lev, [round(cross(r["norms"]["shares"], r["norms"]["epsilon"], lev), 3) for r in rs], "temperature", [round(cross(r["norms"]["shares"], r["norms"]["temperature"], lev), 3) for r in rs])
    for r in rs:
        print("   ", r["seed"], "loss", r["norms"]["loss"]); print("      eps ", r["norms"]["epsilon"]); print("      temp", r["norms"]["temperature"])
        print("      temp/eps where .02..0.5:", [(s, round(t / e, 3)) for s, e, t in zip(r["norms"]["shares"], r["norms"]["epsilon"], r["norms"]["temperature"]) if .02 <= e <= .5])
print("== 10 shaken")
for n, rs in runs.items():
    for k in range(3):
        g = [r["norms"]["shaken"][k] for r in rs]
        print(n, "step", g[0]["step"], "measured/told", [round(x["measured"] / x["told"], 3) for x in g], "measured", [round(x["measured"], 4) for x in g], "told", [round(x["told"],4) for x in g], "within", [x["within a quarter"] for x in g], "others", [x["others"] for x in g])
print("== causes (driven_causes)")
C = json.load(open(sys.argv[2] if len(sys.argv) > 2 else "/work/tmp/driven_causes.json"))
cs = {}
for r in C["runs"]: cs.setdefault(r["network"], {})[r["seed"]] = r
for n in ("tied", "untied", "causal"):
    if n not in cs: continue
    rs = [cs[n][s] for s in sorted(cs[n])]
    print(n, sorted(cs[n]))
    m = {k: torch.stack([a(r, "arrows", k) for r in rs]) for k in rs[0]["arrows"]}
    for k, v in m.items(): print("  ", k, "by step", v.mean(0), "mean", st(v.mean(1)))
    print("   dealt, step 4 over step 1", st(m["shuffled"][:, 3] / m["shuffled"][:, 0]), "as it is", st(m["arrow"][:, 3] / m["arrow"][:, 0]), "step 8/1", st(m["arrow"][:, 7] / m["arrow"][:, 0]))
    print("   dealt over as it is, step 4", st(m["shuffled"][:, 3] / m["arrow"][:, 3]), "all", st(m["shuffled"].sum(1) / m["arrow"].sum(1)))
    if "doubly" in m: print("   doubly/arrow", st(m["doubly"].sum(1) / m["arrow"].sum(1)))
    if "unheaded" in m: print("   unheaded closed/unheaded", st(m["unheaded closed"].sum(1) / m["unheaded"].sum(1)))
    for r in rs:
        q = r["norms"]
        win = [(s, round(t / e, 3)) for s, e, t in zip(q["shares"], q["epsilon"], q["temperature"]) if .02 <= e <= .5]
        print("    seed", r["seed"], "temp/eps in window", win, "matched/temp", [(s, round(x / t, 2)) for s, e, t, x in zip(q["shares"], q["epsilon"], q["temperature"], q["matched"]) if .02 <= e <= .5], "e at .05:", round(cross(q["shares"], q["epsilon"], .05), 3), "at .5", round(cross(q["shares"], q["epsilon"], .5), 3))
    print("   e at .05 median", T([cross(r["norms"]["shares"], r["norms"]["epsilon"], .05) for r in rs]).median())
    print("   held", [[round(h["measured"] / h["told"], 3) for h in r["held"]] for r in rs])
print("tied 0.0 exponent beside examinations:", [(r["seed"], round(E0[r["seed"] - 1].item(), 4), round(sum(x["rest"]["exponent"]) / len(x["rest"]["exponent"]), 4)) for r in runs["tied"] for x in X["runs"] if (x["network"], x["seed"]) == ("tied", r["seed"])])
print("== for the paragraph and the page")
tc = [cs["tied"][s] for s in sorted(cs["tied"])]
m = {k: torch.stack([a(r, "arrows", k) for r in tc]) for k in tc[0]["arrows"]}
print("D1 dealt mean", st(m["shuffled"].mean(1)))
print("D2 dealt 4/1", st(m["shuffled"][:, 3] / m["shuffled"][:, 0]), "as is", st(m["arrow"][:, 3] / m["arrow"][:, 0]))
cc = [cs["causal"][s] for s in sorted(cs["causal"])]
print("D3 causal dealt/arrow", st(torch.stack([a(r, "arrows", "shuffled").sum() / a(r, "arrows", "arrow").sum() for r in cc])))
print("D4", st(torch.stack([a(r, "arrows", "unheaded closed").sum() / a(r, "arrows", "unheaded").sum() for r in cc])))
print("D5 doubly", st(m["doubly"].sum(1) / m["arrow"].sum(1)))
fine = T([cross(r["norms"]["shares"], r["norms"]["epsilon"], .05) for r in tc]); print("D7", st(fine))
wide = [sorted({**dict(zip(r["norms"]["shares"], r["norms"]["epsilon"])), **dict(zip(next(q for q in runs["tied"] if q["seed"] == r["seed"])["norms"]["shares"], next(q for q in runs["tied"] if q["seed"] == r["seed"])["norms"]["epsilon"]))}.items()) for r in tc]
print("D8 half a nat", st(T([cross([x for x, _ in w], [y for _, y in w], .5) for w in wide])))
def window(n, num, den):
    out = []
    for s in sorted(cs[n]):
        q = cs[n][s]["norms"]; out += [t / e for e, t, base in zip(q[den], q[num], q["epsilon"]) if .02 <= base <= .5]
    return f"{min(out):.3f} to {max(out):.3f}, median {T(out).median():.3f}"
print("D9", window("tied", "temperature", "epsilon"), "D10", window("untied", "temperature", "epsilon"), "D11", window("causal", "temperature", "epsilon"), "D12", window("tied", "matched", "temperature"), window("untied", "matched", "temperature"), window("causal", "matched", "temperature"))
print("D13", min(h["measured"] / h["told"] for r in tc for h in r["held"]), max(h["measured"] / h["told"] for r in tc for h in r["held"]))
