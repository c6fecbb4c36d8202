import sys; sys.path.insert(0,"/work/main")
from attnlib.course.data.recorded import recorded
from attnlib.course.data.collective_runs import CollectiveRuns
from attnlib.course.data.seeds import over_runs
import itertools
task,cond=sys.argv[1],eval(sys.argv[2])
a=CollectiveRuns(recorded("collectives"),task); b=CollectiveRuns(recorded("collectives"),task,"seconds")
names=b.names
print(len(names))
for x,y in itertools.combinations(names,2):
    d=over_runs(a.score(x,cond)-a.score(y,cond)); e=over_runs(b.score(x,cond)-b.score(y,cond))
    if d.mean*e.mean<0 and abs(d.mean)>float(sys.argv[3]): print(f"{x:34}{y:36}{d.mean:8.4f}±{d.error:.4f} {e.mean:8.4f}±{e.error:.4f}")
