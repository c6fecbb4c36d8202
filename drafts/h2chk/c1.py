import torch, itertools
torch.set_num_threads(1); torch.set_default_dtype(torch.float64)
from attnlib.course import recorded
from attnlib.course.data.hops import hop_questions
from attnlib.course.models.walkers import hop_walker
g=torch.Generator().manual_seed(9); asked=hop_questions(4096,generator=g)
for s in (13,14):
    w=hop_walker(recorded("walker_weights"),s); p=w.walk(asked,64).places
    print(s,[(T,round((p[T-1]==asked.answer(T)).double().mean().item(),3)) for T in (1,2,3,4,5,6,7,8,12,16,32,64)])
