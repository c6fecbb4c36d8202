import sys,time,torch
root="/work/main"; sys.path.insert(0,root+"/experiments"); sys.path.insert(0,root)
import collectives as c, attnlib.solve.fixed_point as fpm, attnlib.solve.iterate as it
calls=[]
old=it.Iterate.__call__
def new(self,f,s):
    t=time.process_time(); r=old(self,f,s); calls.append((self.method,time.process_time()-t,r.iterations.flatten().double(),int((~r.converged).sum()))); return r
it.Iterate.__call__=new
job=c.setting("spins",sys.argv[1],[float(sys.argv[2])],"search",float(sys.argv[3]),int(sys.argv[5]) if len(sys.argv)>5 else 0,3000); job["steps"]=int(sys.argv[4])
t=time.process_time(); f=c.run(job); print("cpu",time.process_time()-t,f["score"],f["failure"][:80])
n=len(calls); print(n)
for m in ("damped","anderson"):
    cs=[x for x in calls if x[0]==m]
    if not cs: continue
    print(m,len(cs),"time",sum(x[1] for x in cs),"fails",sum(x[3]>0 for x in cs), "med late",sorted(x[3] for x in cs)[-5:])
for x in calls[:: max(1,n//12)]:
    q=torch.quantile(x[2],torch.tensor([.5,.75,.875,.95,1.]).double()); print(x[0],round(x[1],4),[int(a) for a in q],x[3],x[2].numel())
