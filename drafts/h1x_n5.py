import torch
torch.set_printoptions(precision=3, sci_mode=False, linewidth=150)
from attnlib.course import recorded
from attnlib.course.data.examined_specimens import ExaminedSpecimens as E
ex=E(recorded("examinations"))
for n in ('tied','untied','causal'):
    Y=ex.read(n,'after','participation');L=ex.read(n,'after','participation_law'); r=Y/L
    st,h=ex.mappers(n); m=(ex.read(n,'mapping').amax(1)>.7)
    print(n)
    for s in range(5):
        row=r[s,st[s]]; print(s, 'mapper',round(row[h[s]].item(),3),'mapping heads',row[m[s]],'others',row[~m[s]], 'Y2',Y[s,st[s]])
    print('per step mean ratio maps/others', [(round(r[:,k][m].mean().item(),2), round(r[:,k][~m].mean().item(),2)) for k in range(8)])
