# each page's processor time, one page at a time, with bench between: pagecost.sh DIR
D=$1; cd $D/notebooks
export OMP_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=268435456 MALLOC_TRIM_THRESHOLD_=536870912
P=/work/main/.venv/bin/python
cat > /tmp/costb.py <<'P'
import sys; sys.path.insert(0,sys.argv[1]+'/tools'); sys.path.insert(0,sys.argv[1])
import execute_notebooks as e, course, time, subprocess
def bench():
    t=time.perf_counter(); s=0
    for i in range(2_000_000): s+=i*i%7
    return time.perf_counter()-t
e.settle()
k=int(sys.argv[2]); n=int(sys.argv[3])
for p in course.notebooks()[k::n]:
    b0=bench(); b=e.spent(); e.execute(p); c=e.spent()-b; b1=bench()
    print(p.name[:3], round(c,1), round(b0/.4,2), round(b1/.4,2), flush=True)
P
$P /tmp/costb.py $D 0 1 > /tmp/costb.txt 2>&1
sort -k2 -n /tmp/costb.txt | awk '{print; v[NR]=$2; w[NR]=$2*2/($3+$4)} END{print "median", v[int((NR+1)/2)], "n", NR}'
