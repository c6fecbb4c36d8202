import sys, time, json, torch, warnings
torch.set_num_threads(1); warnings.simplefilter("ignore")
sys.path.insert(0,"/work/h2/experiments")
import collective_contestants as cc
from collective_tasks import TASKS
from collective_contestants import Kind, WALK
from attnlib.transformer.training import train_one
cc.HOPS["path only"]=Kind(tied=2, block={**WALK,"residual":True}, conditions=[[2]])
cc.HOPS["path, norm before, no network"]=Kind(tied=2, block={"feed_forward":0}, conditions=[[2]])
def go(task,name,cond,rate,seed,steps,batch=64,test=4096):
    t=TASKS[task](cond,cc.form(task,name)); a=time.process_time()
    d=train_one(lambda: cc.made(task,name),t,rate=rate,seed=seed,steps=steps,batch=batch,test=test)
    out=dict(task=task,name=name,cond=cond,rate=rate,seed=seed,steps=steps,score=d.score,failure=d.failure[:60],cpu=round(time.process_time()-a,1))
    if task=="hops" and d.model.stack.tied:
        x,_=t.batch(2048,torch.Generator().manual_seed(2**32+seed+7))
        m=d.model.eval()
        with torch.no_grad(): out["walks"]=[round(float((m(x,steps=T).argmax(-1)==t.asked.answer(T)).float().mean()),3) for T in (1,2,3,4,6,8)]; out["T3k2"]=round(float((m(x,steps=3).argmax(-1)==t.asked.answer(2)).float().mean()),3)
    print(json.dumps(out),flush=True)
which=sys.argv[1]
if which=="path":
    for n in ("path only",):
        for r in (.001,.003,.01,.03):
            for s in (0,1): go("hops",n,[2],r,s,4000)
if which=="pathfinal":
    n,r=sys.argv[2],float(sys.argv[3])
    for s in (11,12,13,14,15): go("hops",n,[2],r,s,4000)
if which=="onelong":
    for s in (11,13,12):
        go("hops","energy-half-steps",[2],.01,s,16000)
    go("hops","softmax",[2],.003,11,16000)
if which=="spinlong":
    for s in (11,12,13): go("spins","softmax",[1.0],.03,s,12000)
    for s in (11,12,13): go("spins","softmax",[1.0],.01,s,12000)
