"""Copy whole records into the clone; erasing and causes in the order of networks."""
import json
from pathlib import Path
R=Path("/work/w7/attnlib/course/data/results")
order=[(n,s) for s in range(1,6) for n in ("tied","untied","causal")]
for name in ("examinations","driven_specimens","erasing","driven_causes"):
    d=json.load(open(f"/work/tmp/{name}.json")); by={(r["network"],r["seed"]):r for r in d["runs"]}
    missing=[k for k in order if k not in by]
    d["runs"]=[by[k] for k in order if k in by]
    if name in ("examinations", "driven_specimens"):
        first = "" if name == "examinations" else "tied 1, "
        d["versions"]["torch"] = f"2.13.0+cpu; 2.11.0+cu130, on a processor too, for {first}tied 2 to 5, untied 1 to 3, causal 1 to 4"
    (R/f"{name}.json").write_text(json.dumps(d)+"\n"); print(name,len(d["runs"]),missing,d["date"],d["versions"],d["command"])
