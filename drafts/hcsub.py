"""Reported runs of the hidden chain, one file each: hcsub.py PART OF."""
import sys, json
sys.path[:0]=["/work/hc/experiments","/work/hc"]
from pathlib import Path
import torch; torch.set_num_threads(1)
import hidden_chain as h
F=Path("/work/tmp/hc_runs"); F.mkdir(exist_ok=True)
part, of = int(sys.argv[1]), int(sys.argv[2])
result=json.loads((h.RESULTS/"hidden_chain.json").read_text())
missing=h.due(result["runs"], h.SETTINGS)
print(len(missing), {j["stage"] for j in missing}, flush=True)
for i,job in enumerate(missing):
    if i%of!=part: continue
    p=F/("-".join(str(v) for v in job.values())+".json")
    if p.exists(): continue
    p.write_text(json.dumps(h.run(job,h.SETTINGS))); print(p.name, flush=True)
