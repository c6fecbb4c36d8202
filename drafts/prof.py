import sys,cProfile,pstats,time
sys.path.insert(0,"/work/tmp/cnew/experiments"); sys.path.insert(0,"/work/tmp/cnew")
import torch; torch.set_num_threads(1)
import collectives as c
job=c.setting(sys.argv[1],sys.argv[2],eval(sys.argv[3]),"search",.01,0,int(sys.argv[4]))
p=cProfile.Profile(); t=time.process_time(); p.runcall(c.run,job); print("cpu",time.process_time()-t)
s=pstats.Stats(p); s.sort_stats("tottime").print_stats(22)
