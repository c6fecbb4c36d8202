"""Make runs of specimens one by one: spec.py STAGE NETWORK SEED RATE ... (jobs separated by /); each to a file."""
import sys, json
sys.path.insert(0, "/work/tmp/cmain/experiments"); sys.path.insert(0, "/work/tmp/cmain")
from pathlib import Path
import torch
import specimens as s
torch.set_num_threads(1)
F = Path("/work/tmp/specimens"); F.mkdir(exist_ok=True)
R = Path("/work/tmp/spec_runs"); R.mkdir(exist_ok=True)
for text in sys.argv[1:]:
    stage, network, seed, rate = text.split(",")
    steps = s.SETTINGS["steps"] if stage == "final" else s.SETTINGS["search_steps"]
    job = dict(zip(s.KEYS, (stage, network, int(seed), float(rate), steps)))
    target = R / f"{stage}-{s.named(job)}.json"
    if target.exists(): continue
    found = s.run(job, s.SETTINGS, F)
    target.write_text(json.dumps(found))
    print(text, found["curve"][-1], found["cpu_seconds"], flush=True)
