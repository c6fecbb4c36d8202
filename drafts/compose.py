"""Put parts that were made apart into the two records, in the order in which the recorders would have made them."""
import json, sys
sys.path[:0] = ["/work/main/experiments", "/work/main"]
from pathlib import Path
P = Path("/work/tmp/parts"); T = Path("/work/tmp")
import examinations as e, driven_specimens as d, records
from attnlib.course.models.specimens import NETWORKS
read = lambda name: json.loads((P / name).read_text()) if (P / name).exists() else None
old = json.loads((T / "examinations.json").read_text())
runs = {(r["network"], r["seed"]): r for r in old["runs"]}
for seed in range(1, 6):
    for n in NETWORKS:
        parts = [read(f"{k}-{n}-{seed}.json") for k in ("read", "rules", "rest")]
        if n == "untied" and parts[2] is None: parts[2] = {"rest": None}
        if (n, seed) not in runs and all(p is not None for p in parts):
            run = {"network": n, "seed": seed} | parts[0] | parts[1] | parts[2]
            runs[n, seed] = {k: run[k] for k in old["runs"][0]}
order = [(n, s) for s in range(1, 6) for n in NETWORKS]
old["runs"] = [runs[k] for k in order if k in runs]
(T / "examinations.json").write_text(json.dumps(old))
f = T / "driven_specimens.json"
head = records.head("driven_specimens", d.TITLE, None, False, records.versions("attnlib", "torch"))
had = {(r["network"], r["seed"]): r for r in (json.loads(f.read_text())["runs"] if f.exists() else [])}
for n, s in order:
    one = read(f"driven-{n}-{s}.json")
    if one and (n, s) not in had: had[n, s] = one
f.write_text(json.dumps(head | {"settings": d.SETTINGS, "runs": [had[k] for k in order if k in had]}))
print(len(old["runs"]), len(had))
