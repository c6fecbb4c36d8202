import json,os,resource,time,pytest
W=os.environ.get("PYTEST_XDIST_WORKER","main")
OUT=os.environ.get("CPUPLUG","/work/tmp/cpu3.jsonl")+"."+W
def cpu():
    a=resource.getrusage(resource.RUSAGE_SELF);b=resource.getrusage(resource.RUSAGE_CHILDREN)
    return a.ru_utime+a.ru_stime, b.ru_utime+b.ru_stime
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item,nextitem):
    a=cpu();t=time.time();yield;b=cpu()
    with open(OUT,"a") as f: f.write(json.dumps([item.nodeid,b[0]-a[0],b[1]-a[1],0,time.time()-t,t])+"\n")
