"""Write origins by group into the committed record of examinations, from the same networks and strings."""
import sys, json
sys.path[:0]=["/work/main","/work/main/experiments"]
from pathlib import Path
import torch, examinations as x, records
from attnlib.course.models.specimens import specimen
torch.set_num_threads(1)
rec=json.loads(x.RESULTS.read_text())
for run in rec["runs"]:
    n,s=run["network"],run["seed"]
    model,asked=specimen(n,**x.SETTINGS["sizes"]),x.Asked(n,x.SETTINGS)
    model.load_state_dict(torch.load(f"/work/tmp/specimens/{n}-{s}.pt",weights_only=True))
    whole=x.watched(model,asked.tokens,asked.real)
    found=records.rounded({"origins":x.origins(asked,whole)},())["origins"]
    off=max(abs(a-b) for a,b in zip(found["all"],run["origins"] if isinstance(run["origins"],list) else run["origins"]["all"]))
    print(n,s,off,{k:[round(v[0],3),round(v[2],3),round(v[-1],3)] for k,v in found.items()},flush=True)
    run["origins"]=found
Path("/work/tmp/examinations_new.json").write_text(json.dumps(rec))
