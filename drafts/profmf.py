import sys
sys.path.insert(0, "/work/tmp/cnew/experiments"); sys.path.insert(0, "/work/tmp/cnew")
import cProfile, pstats, time, torch
import collectives as c
torch.set_num_threads(1)
c.STEPS["spins"]=int(sys.argv[2]); c.TEST["spins"]=64
job=c.setting("spins", sys.argv[1], [1.0], "search", 1e-2, 0, int(sys.argv[2]))
job["test"]=64
t=time.process_time()
p=cProfile.Profile(); p.enable()
r=c.run(job); p.disable()
print(time.process_time()-t, r.get("score"), r.get("loss"))
pstats.Stats(p).sort_stats("tottime").print_stats(22)
