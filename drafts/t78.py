import torch
from attnlib.course import recorded
from attnlib.course.data.collective_runs import CollectiveRuns
from attnlib.course.data.spins import blind_floor
torch.set_default_dtype(torch.float64); torch.set_num_threads(2)
runs=CollectiveRuns(recorded("collectives"),"spins")
for c in (.3,1.0):
    f=blind_floor(c,draws=60000,inner=4,generator=torch.Generator().manual_seed(5)); print(c,f)
    for n in ("linear","places","mean-field","vector-spins"):
        print(n,[round(float(x)/f.mean-1,4) for x in runs.score(n,c)])
