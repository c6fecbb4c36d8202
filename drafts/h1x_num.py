import torch, math
torch.set_num_threads(1)
from attnlib.course import recorded
from attnlib.course.data.examined_specimens import ExaminedSpecimens as E
torch.set_printoptions(precision=4, sci_mode=False, linewidth=150)
ex=E(recorded("examinations")); er=E(recorded("erasing"))
rec=recorded("specimens"); print({k:v for k,v in rec.items() if k!='runs'})
for r in rec['runs']:
    print(r['stage'],r['network'],r['seed'],r['rate'],r['steps'],'loss',r.get('loss'),'curve last',r['curve'][-1], 'cpu',r['cpu_seconds'])
R=recorded("examinations"); print({k:v for k,v in R.items() if k!='runs'}); print(R['runs'][0].keys(), R['runs'][0]['rules'].keys(), R['runs'][0]['rest'].keys(), R['runs'][0]['after'].keys())
for n in ex.networks:
    print('=====',n)
    print('mapper right',ex.read(n,'mapper','right'), 'step',ex.read(n,'mapper','step'),'head',ex.read(n,'mapper','head'))
    m=ex.read(n,'mapping'); print('step1 best',m[:,0].amax(-1)); print('heads >.7',(m.amax(1)>.7).sum(-1), '>.85',(m.amax(1)>.85).sum(-1)); print('meanshares by step best',m.amax(-1).mean(0))
    st,hd=ex.mappers(n)
    print('step1 of mapper',m[range(5),0,hd])
    own=ex.read(n,'temperature','own'); print('U',own[:,0],'cost',own[:,1],'err',ex.read(n,'temperature','error'))
    print('one',ex.read(n,'temperature','one'),'best',ex.read(n,'temperature','best'))
    c=ex.read(n,'temperature','curve'); print('min cost',c[...,2].amin(1),'ratio',own[:,1]/c[...,2].amin(1)); 
    print('U range', c[...,1].amin(1), c[...,1].amax(1))
    try:
        print('loss one',ex.read(n,'temperature','loss','one')-ex.read(n,'loss'))
    except Exception as e: print(e)
    print('spread before by step',ex.read(n,'before','spread').mean((0,2)), 'after', ex.read(n,'after','spread').mean((0,2)), 'mean', ex.read(n,'after','spread').mean((1,2)))
    print('after per seed', ex.read(n,'after','spread').mean(-1))
    print('mapper spread',ex.at_mapper(n,'spread'), 'Y2',ex.at_mapper(n,'participation'),'law',ex.at_mapper(n,'participation_law'))
    if n!='untied':
        print('mapper spread step1', ex.read(n,'after','spread')[range(5),0,hd])
    ss=ex.read(n,'after','symmetric_share'); print('share',ss.mean((1,2)),ss.mean((1,2)).median(),'mapper',ex.at_mapper(n,'symmetric_share'),ex.at_mapper(n,'symmetric_share').median(), 'heads min max',ss.min(),ss.max())
    sb=ex.read(n,'before','symmetric_share'); print('before',sb.mean(),sb.std())
    for who in ('mapper','all'):
        for rule in ex._runs[n][0]['rules'][who]:
            x=ex.read(n,'rules',who,rule); print(who,rule,'loss+',(x[:,0]-ex.read(n,'loss')),'med',(x[:,0]-ex.read(n,'loss')).median(),'right',x[:,1],'best',x[:,2])
    s=ex.read(n,'after','store')-ex.read(n,'after','erase'); print('store-erase', s.amin((1,2)), s.amax((1,2)), 'at mapper', ex.at_mapper(n,'store')-ex.at_mapper(n,'erase'), 'share of heads <0', (s<0).double().mean((1,2)), '< -.05',(s< -.05).double().mean((1,2)))
    sb=ex.read(n,'before','store')-ex.read(n,'before','erase'); print('before store-erase',sb.min(),sb.max(),sb.std())
    w=ex.read(n,'after','walk'); print('walk min',w.amin((1,2)), 'erase max',ex.read(n,'after','erase').amax((1,2)))
    cost=ex.read(n,'rules','silent')-ex.read(n,'loss')[:,None]; print('silent cost',cost); print('mapper cost',cost[range(5),hd],'rank', (cost>cost[range(5),hd][:,None]).sum(1))
    print('places',ex.read(n,'rules','places').mean(-1))
    for w in ('before','after'):
        print(w,'cosine',torch.stack([ex.read(n,w,'states',k,'cosine') for k in range(9)],1)[:, [0,1,2,3,8]])
        print(w,'change',torch.stack([ex.read(n,w,'states',k,'change') for k in range(1,9)],1).mean(0), 'lyap', ex.read(n,w,'lyapunov') if n!='untied' else '')
    print('origins',ex.read(n,'origins'))
    print('first token',ex.read(n,'after','first_token').amax((1,2)))
    if n!='untied':
        ch=ex.read(n,'rest','change'); print('change at 8',ch[:,7],'9', ch[:,8],'at 300',ch[:,-1], '100',ch[:,99]); last=ex.read(n,'rest','last'); print('last>.02',(last>.02).double().mean(1),'>.001',(last>.001).double().mean(1), last.median(1).values)
        print('exponent',ex.read(n,'rest','exponent').mean(1))
        for k in (1,2,4,6,7,8,9,10,12,16,24,50,100,300):
            l=ex.read(n,'rest','loss',str(k)); print(k,'loss',l,'minus8',(l-ex.read(n,'rest','loss','8')),l.mean(), 'cos', ex.read(n,'rest','cosine',str(k)))
        for sv in ('damped','anderson'): print(sv,ex.read(n,'rest',sv,'converged'),ex.read(n,'rest',sv,'loss'))
print('######## erasing')
for n in er.networks:
    for p in ('negative','positive','antisymmetric'): print(n,'size',p,er.read(n,'sizes',p))
    for p in ('whole','half','negative','positive','antisymmetric'):
        print(n,p,'cos end',er.read(n,'cosine',p)[:,-1],'mean curve',er.read(n,'cosine',p).mean(0),'loss',er.read(n,'loss',p), 'rise',er.read(n,'loss',p)-er.read(n,'loss','whole'))
