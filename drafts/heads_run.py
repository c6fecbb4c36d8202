import torch, json
import driven_attention as d
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64); torch.set_default_dtype(torch.float32)
json.dump(d.records.rounded({'heads':d.by_task(d.SETTINGS)}),open('/work/tmp/heads_new.json','w'))
