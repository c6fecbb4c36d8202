import json,glob,sys
for f in sorted(glob.glob("/tmp/collect_runs/*.json")):
    r=json.load(open(f))
    if isinstance(r,dict) and r.get("task")=="spins" and r.get("name") in sys.argv[1:]:
        print(r["name"][11:],r["condition"],r["stage"],r["rate"],r["seed"],r["steps"],r["score"],str(r.get("failed") or r.get("error") or "")[:60], round(r.get("seconds",0)))
