"""The rest of the sixty mutants: sixty.py PART OF; results in /work/tmp/sixty/N.txt."""
import sys, shutil, subprocess, os, time
from pathlib import Path
R=Path("/work/main"); sys.path[:0]=[str(R/"tests"),str(R/"tools")]
import course
from helpers.mutants import chosen, mutants
part, of = map(int, sys.argv[1:3])
out=Path("/work/tmp/sixty"); out.mkdir(exist_ok=True)
paths=[p for room in course.LIBRARY for p in sorted((R/"attnlib"/room).glob("*.py"))]
sixty=chosen([m for p in paths for m in mutants(R,p.relative_to(R))],15)
if of==0:
    from collections import Counter
    print(len(sixty), Counter(m.path.parts[1] for m in sixty)); [print(i,m.kind,m) for i,m in enumerate(sixty)]; sys.exit()
house=Path(f"/work/tmp/sixty_house{part}"); shutil.rmtree(house,ignore_errors=True); house.mkdir()
for p in R.iterdir():
    if p.name in ("attnlib","tests","tools","conftest.py","pyproject.toml"):
        (shutil.copytree(p,house/p.name,ignore=shutil.ignore_patterns("__pycache__")) if p.is_dir() else shutil.copy(p,house/p.name))
    elif not p.name.startswith("."): (house/p.name).symlink_to(p)
todo=[(i,m) for i,m in enumerate(sixty) if m.path.parts[1] in sys.argv[3:]]
for k,(i,m) in enumerate(todo):
    if k%of!=part or (out/f"{i}.txt").exists(): continue
    f=house/m.path; text=f.read_bytes(); f.write_bytes(m.applied(text)); t=time.time()
    try:
        env=os.environ|{"PYTHONDONTWRITEBYTECODE":"1","OMP_NUM_THREADS":"1","PYTHONPATH":str(house)}
        d=subprocess.run([str(R/".venv/bin/python"),"-m","pytest","-q","-x","-p","no:cacheprovider","-m","not browser",f"tests/{m.path.parts[1]}"],cwd=house,env=env,capture_output=True,text=True,timeout=900)
        res="noticed" if d.returncode==1 else "NOT" if d.returncode==0 else f"rc {d.returncode}"; last=[l for l in d.stdout.splitlines() if l.startswith("FAILED")][:1]
    except subprocess.TimeoutExpired: res,last="noticed (no end)",[]
    f.write_bytes(text)
    line=f"{i} {res} {m.kind}: {m} {last} {time.time()-t:.0f}s"; (out/f"{i}.txt").write_text(line); print(line,flush=True)
