"""Compose specimens.json from the runs; fake=1 fills missing finals by copies, for trying the page."""
import sys, json; sys.path[:0]=["/work/main/experiments","/work/main"]
from pathlib import Path
import records, specimens as s
R=Path("/work/tmp/spec_runs"); fake=len(sys.argv)>2
runs=[]; missing=[]; skipped=set()
while True:
    have={tuple(r[k] for k in s.KEYS) for r in runs}
    todo=[j for j in s.jobs(runs,s.SETTINGS) if tuple(j.values()) not in have and tuple(j.values()) not in skipped]
    if not todo: break
    j=todo[0]; f=R/f"{j['stage']}-{s.named(j)}.json"
    if j["stage"]=="search" and not f.exists(): f=R/f"search-{s.named(j)}.json"
    if f.exists(): r=json.loads(f.read_text())
    elif fake:
        missing.append(f.name); base=json.loads((R/(f"final-{j['network']}-3.json" if j["stage"]=="final" else f"check-{j['network']}-0-0.001.json")).read_text()); r=base|j
    else: print("missing",f); skipped.add(tuple(j.values())); continue
    assert {k:r[k] for k in s.KEYS}==j, (f,{k:r[k] for k in s.KEYS},j)
    runs.append(r)
head=records.head("specimens",s.TITLE,[],False,records.versions(*s.PACKAGES))
result=head|{"seeds":"run s draws its parameters from seed s, and the strings of step t from 1000000 s + t","settings":s.SETTINGS}
B=Path("/work/tmp/bounds.json")
if not B.exists(): B.write_text(json.dumps(records.rounded(s.bounds(s.Language(),*s.strings_of(s.UNSEEN["judged"],s.SETTINGS["judged"],s.SETTINGS["share"])[::2]))))
result["bounds"]=json.loads(B.read_text()); result["runs"]=runs
records.write(result,Path(sys.argv[1])); print(len(runs),"missing",missing, result["bounds"] if len(str(result["bounds"]))<600 else "")
