import torch
from attnlib.course import recorded
from attnlib.course.data.examined_specimens import ExaminedSpecimens as E
ex=E(recorded("examinations"))
for n in ex.networks:
    Y=ex.read(n,'after','participation');L=ex.read(n,'after','participation_law'); r=Y/L
    maps=(ex.read(n,'mapping').amax(1)>.7)[:,None].expand_as(r)
    print(n,'maps',[x.item() for x in r[maps].quantile(torch.tensor([.1,.25,.5,.75,.9]).double())],'others',[x.item() for x in r[~maps].quantile(torch.tensor([.1,.25,.5,.75,.9]).double())])
    med=r.median(1).values
    print(' median step ratio others', [[round(x,2) for x in row] for row in med.tolist()])
    th=ex.read(n,'after','thermometer'); print(' U of not mapping heads (median over)', th[~maps].median().item(), 'U others at best', th.amax((1,2)))
    w=ex.read(n,'after','walk'); print(' share of heads walk<.5', (w<.5).double().mean().item())
print(ex.read('tied','loss'), E(recorded("specimens")|{"runs":[r for r in recorded("specimens")["runs"] if r["stage"]=="final"]}).read('tied','loss'))
tr=E(recorded("specimens")|{"runs":[r for r in recorded("specimens")["runs"] if r["stage"]=="final"]})
for n in tr.networks:
    for k in ('shown','several','back') if n!='causal' else ('shown','several'):
        print(n,k,tr.read(n,'mapping',k).amax((1,2)))
    print(n,[round(x,4) for x in (tr.read(n,'loss')).tolist()])
s,h=ex.mappers('tied'); print('back of mapper',tr.read('tied','mapping','back').amax(1)[range(5),h])
import statistics
c=ex.read('tied','rest','change'); print(c[:,[100,150,200,250,299]])
print('cos tied 300 median',ex.read('tied','rest','cosine','300').median(), 'origin med',ex.read('tied','origins')[:,-1].median())
