import json,glob,sys
for f in sorted(glob.glob("/tmp/collect_runs/*.json")):
    r=json.load(open(f))
    if isinstance(r,dict) and r.get("task")=="spins" and r.get("stage")=="final" and r["condition"]==[1.0] and r["name"] in sys.argv[1:]:
        a=r.get("after",{}); print(r["name"],r["steps"],r["rate"],r["seed"],r["score"],{k:a.get(k) for k in ("as it is","contents shuffled","contents turned over","places shuffled")})
