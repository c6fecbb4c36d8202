from attnlib.course import recorded
import torch
from attnlib.course.data.examined_specimens import ExaminedSpecimens as E
d=E(recorded("driven_specimens"))
for n in d.networks:
    print(n,[["%.2e"%x for x in r['norms']['own']] for r in d._runs[n]][:5])
    print({k:[r['arrows']['ranks'][k] for r in d._runs[n]] for k in ('lowest','cost','participation cost')})
a=d.read('tied','arrows','arrow')/d.read('tied','arrows','participation'); st,h=d.mappers('tied'); row=a[range(5),st]; print('rank of mapper', (row<row[range(5),h][:,None]).sum(1), row)
import math
from attnlib.course.live._mapped import *
