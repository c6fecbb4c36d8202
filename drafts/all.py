"""Run parts on all cores until the time is up; what is whole comes back."""
import subprocess, sys, time, os, json, tarfile
from pathlib import Path
end = time.time() + float(sys.argv[1]); cores = int(sys.argv[2]); OUT = Path(os.environ["OUT"])
jobs = [tuple(j.split()) for j in Path(".dev/jobs.txt").read_text().splitlines() if j.strip()]  # seconds kind network seed
P = Path("/tmp/parts"); P.mkdir(exist_ok=True)
env = dict(os.environ, OMP_NUM_THREADS="1", PYTHONUNBUFFERED="1")
running, left = {}, list(jobs)
while (left or running) and time.time() < end:
    for p in [p for p in running if p.poll() is not None]:
        j = running.pop(p)
        print(j, p.returncode, round(time.time() - p.begin, 1), (p.communicate()[0] or b"")[-300:].decode()[-200:].strip(), flush=True)
    while len(running) < cores:
        pick = next((j for j in left if time.time() + float(j[0]) < end), None)
        if pick is None: break
        left.remove(pick)
        _, kind, network, seed = pick
        p = subprocess.Popen([sys.executable, ".dev/part.py", kind, network, seed, str(P / f"{kind}-{network}-{seed}.json")], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        p.begin = time.time(); running[p] = pick
    if not running: break
    time.sleep(.3)
for p in running: p.kill(); print("cut", running[p])
with tarfile.open(OUT / "parts.tar.gz", "w:gz") as t:
    for f in P.glob("*.json"): t.add(f, f.name)
print(len(list(P.glob("*.json"))), "parts, left", left)
