"""Processor seconds of each test: own, waited children, and living descendants."""
import json, os, time
import pytest
HZ = os.sysconf("SC_CLK_TCK")
def living(root):
    kids, used = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try: parts = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()
            except OSError: continue
            kids.setdefault(int(parts[1]), []).append(int(name)); used[int(name)] = sum(map(int, parts[11:15]))
    total, todo = 0, list(kids.get(root, ()))
    while todo:
        one = todo.pop(); total += used[one]; todo += kids.get(one, ())
    return total / HZ
def now():
    t = os.times(); return t.user + t.system, t.children_user + t.children_system, living(os.getpid())
OUT = open(os.environ["CPU_OUT"] + f".{os.environ.get('PYTEST_XDIST_WORKER', 'main')}", "a")
LAST = [now()]
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    a = LAST[0]; w = time.monotonic()
    try:
        return (yield)
    finally:
        b = LAST[0] = now()
        OUT.write(json.dumps([item.nodeid, *(round(y - x, 3) for x, y in zip(a, b)), round(time.monotonic() - w, 3)]) + "\n"); OUT.flush()
