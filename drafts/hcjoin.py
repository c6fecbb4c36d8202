import sys, json, glob
sys.path[:0]=["/work/hc/experiments","/work/hc"]
import hidden_chain as h, records
t=h.RESULTS/"hidden_chain.json"; r=json.loads(t.read_text())
known={tuple(x[k] for k in h.KEYS) for x in r["runs"]}
for p in glob.glob("/work/tmp/hc_runs/*.json"):
    x=json.load(open(p))
    if tuple(x[k] for k in h.KEYS) not in known: r["runs"].append(x)
order={tuple(j.values()):i for i,j in enumerate(h.jobs(r["runs"],h.SETTINGS))}
search=[x for x in r["runs"] if x["stage"]=="search"]; rep=sorted((x for x in r["runs"] if x["stage"]=="report"), key=lambda x: order[tuple(x[k] for k in h.KEYS)])
r["runs"]=search+rep
print(len(search),len(rep),len(h.due(r["runs"],h.SETTINGS)))
if not h.due(r["runs"],h.SETTINGS): records.write(r, t, indent=1); 
