from attnlib.course import recorded
from attnlib.course.data.examined_specimens import ExaminedSpecimens as E
import torch
rec=recorded("specimens"); tr=E(rec|{"runs":[r for r in rec["runs"] if r["stage"]=="final"]}); ex=E(recorded("examinations"))
for n,k in (('tied','hidden'),('untied','hidden'),('causal','next')):
    st,h=ex.mappers(n); m=tr.read(n,'mapping',k); print(n,m[range(5),st,h], ex.read(n,'mapper','right'), m.amax((1,2)))
