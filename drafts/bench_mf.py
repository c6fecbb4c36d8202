import sys,time,torch,statistics as st
root=sys.argv[1]; name=sys.argv[2]; cond=float(sys.argv[3]); rate=float(sys.argv[4]); steps=int(sys.argv[5])
sys.path.insert(0,root+"/experiments"); sys.path.insert(0,root)
import collectives as c
job=c.setting("spins",name,[cond],"search",rate,0,3000)
job["steps"]=steps
t=time.process_time(); f=c.run(job); print(root,name,cond,rate,steps,"cpu",round(time.process_time()-t,1),f["score"],f["failure"][:90],f.get("curve"))
