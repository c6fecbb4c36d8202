"""One part of one network's record: part.py KIND NETWORK SEED TARGET."""
import sys, json, dataclasses, time
sys.path[:0] = ["experiments", "."]
import torch
torch.set_num_threads(1)
from pathlib import Path
kind, network, seed, target = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
W = Path(".dev/specimens")
begin = time.process_time()
if kind == "driven":
    import driven_specimens as d
    found = d.driven(network, seed, W, d.SETTINGS)
else:
    import examinations as e, records
    from attnlib.course.models.specimens import specimen
    S = (e.QUICK | {"sizes": e.SETTINGS["sizes"]}) if len(sys.argv) > 5 else e.SETTINGS
    torch.manual_seed(seed)
    model, asked = specimen(network, **S["sizes"]), e.Asked(network, S)
    how = {"mask": asked.real, "targets": asked.targets, "progress": False}
    found = {}
    if kind == "read":
        found["before"] = e.read_off(e.examine(model, asked.tokens, asked.right, ablate=False, **how))
    model.load_state_dict(torch.load(W / f"{network}-{seed}.pt", weights_only=True))
    if kind == "read":
        found["after"] = e.read_off(e.examine(model, asked.tokens, asked.right, **how))
    elif kind == "rest":
        found["rest"] = e.rest(model, network, S) if model.stack.tied else None
    else:
        whole = e.watched(model, asked.tokens, asked.real)
        shares = asked.mapping(whole)
        step, head = divmod(int(shares.argmax()), shares.shape[1])
        found |= {"loss": asked.loss(whole.logits), "mapping": shares.tolist()}
        found["mapper"] = {"head": head + 1, "step": step + 1, "right": shares[step, head].item()}
        found["temperature"] = e.temperature(model, asked, whole, head, step)
        found["rules"] = e.changed(model, asked, whole, head, step, S["orders"])
        found["origins"] = e.origins(asked, whole)
    found = records.rounded(found, ("seed", "head", "step"))
target.with_suffix(".partial").write_text(json.dumps(found))
target.with_suffix(".partial").rename(target)
print(kind, network, seed, "cpu", round(time.process_time() - begin, 1), flush=True)
