import sys,time
sys.path.insert(0,'/work/main/tools'); sys.path.insert(0,'/tmp')
import course, book_api as n, old_api as o
c=time.process_time; tn=to=0
for p in course.notebooks():
    src=[x.source for x in course.code_cells(course.read(p))]
    A,B=n.Page(),o.Page(); list(n.Page().cell(x) for x in src)
    [list(o.Page().cell(x)) for x in src];  t=c(); a=[list(A.cell(x)) for x in src]; tn+=c()-t
    t=c(); b=[list(B.cell(x)) for x in src]; to+=c()-t
    assert a==b,p; assert A.bound==B.bound and A.own==B.own
print(tn,to)
