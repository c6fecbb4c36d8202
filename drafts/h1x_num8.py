import torch, math
torch.set_num_threads(1)
from attnlib.course import recorded
from attnlib.course.data.examined_specimens import ExaminedSpecimens as E
torch.set_printoptions(precision=4, sci_mode=False, linewidth=150)
d=E(recorded("driven_specimens")); c=E(recorded("driven_causes"))
def ms(x): return f"mean {x.mean():.4f} ± {x.std()/len(x)**.5:.4f} med {x.median():.4f} [{x.min():.4f},{x.max():.4f}]"
def keys(v,p=''):
    if isinstance(v,dict):
        for k in v: keys(v[k],p+'/'+k)
    else:
        s=[];w=v
        while isinstance(w,list): s.append(len(w)); w=w[0]
        print(p,s)
keys(d._runs['tied'][0]); keys(c._runs['causal'][0]); keys(c._runs['tied'][0])
print(recorded("driven_specimens")['settings'])
for n in d.networks:
    a=d.read(n,'arrows','arrow'); print('==',n,'arrow',ms(a.mean((1,2))), 'by step',a.mean((0,2)))
    print(a.mean(2))
    low=d.read(n,'arrows','lowest'); cl=d.read(n,'arrows','closed'); print('lowest/',ms(low.sum((1,2))/a.sum((1,2))),'closed',ms(cl.sum((1,2))/a.sum((1,2))))
    rk=lambda x:x.flatten(1).argsort(1).argsort(1).double()
    print('rank',[torch.corrcoef(torch.stack([x,y]))[0,1].item() for x,y in zip(rk(low),rk(a))])
    if 'even' in d._runs[n][0]['arrows']: e=d.read(n,'arrows','even'); print('even',ms(e.sum((1,2))/a.sum((1,2))))
    Y=d.read(n,'arrows','participation'); st,hd=d.mappers(n); sp=a/Y; row=sp[range(5),st]; m=row[range(5),hd]; r=m/((row.sum(1)-m)/7); print('mapper ratio',r,ms(r))
    s=c.read(n,'arrows','shuffled'); ca=c.read(n,'arrows','arrow'); print('dealt',ms(s.mean(1)),'by step',s.mean(0),'step4/step1',ms(s[:,3]/s[:,0]),'as is',ms(ca[:,3]/ca[:,0]),'dealt/as is',ms(s.sum(1)/ca.sum(1)), s.sum(1)/ca.sum(1))
    if n=='causal':
        u=c.read(n,'arrows','unheaded');uc=c.read(n,'arrows','unheaded closed'); print('unheaded',ms(uc.sum(1)/u.sum(1)))
    else:
        db=c.read(n,'arrows','doubly'); print('doubly',ms(db.sum(1)/ca.sum(1)))
    b=d.read(n,'before','arrow'); print('before',b.mean((0,2)))
ex=E(recorded("examinations"))
a=d.read('tied','arrows','arrow');Y=d.read('tied','arrows','participation');ab=ex.read('tied','after','ablation')
rk=lambda x:x.flatten(1).argsort(1).argsort(1).double()
cc=lambda x,y:torch.tensor([torch.corrcoef(torch.stack([p,q]))[0,1].item() for p,q in zip(rk(x),rk(y))])
print('arrow-cost',cc(a,ab),'Y2-cost',cc(Y,ab),ms(cc(a,ab)-cc(Y,ab)))
for n in ('tied','causal'):
    f=d._runs[n][0]['films']; print(n, f.keys() , {k:(list(v.keys()) if isinstance(v,dict) else type(v)) for k,v in f.items()})
    for s in ("0.0","0.03","0.1","0.3","1.0"):
        for k in f[s]:
            x=d.read(n,'films',s,k); print(n,s,k,tuple(x.shape), x.mean(tuple(range(1,x.ndim))) if x.ndim>1 else x, ms(x.mean(tuple(range(1,x.ndim))) if x.ndim>1 else x))
for n in c.networks:
    print('norms',n); nn=d._runs[n][0]['norms']; print({k:(len(v) if hasattr(v,'__len__') else v) for k,v in nn.items()})
    sh=c.read(n,'norms','shares')[0]
    ep,te,ma=(c.read(n,'norms',k) for k in ('epsilon','temperature','matched'))
    print('shares',sh); print('eps',ep);print('temp',te);print('matched',ma)
    told=(ep>.02)&(ep<.5); r=(te/ep); print('te/ep told',r[told].min(),r[told].max(),r[told].median(), 'per seed med',[r[i][told[i]].median().item() for i in range(5)], 'max dev at ')
    told2=(te>.02)&(te<.5); print('matched/temp',(ma/te)[told].min(),(ma/te)[told].max(),(ma/te)[told2].max(),(ma/te).min(),(ma/te).max(), 'eps/matched',(ep/ma).min(),(ep/ma).max())
    # crossing .05 and .5
    for y in (.05,.5):
        out=[]
        for i in range(5):
            x0=None
            for j in range(len(sh)-1):
                if ep[i,j]<=y<ep[i,j+1]:
                    t=(y-ep[i,j])/(ep[i,j+1]-ep[i,j]); x0=(sh[j]+t*(sh[j+1]-sh[j])).item()
            out.append(x0)
        print('e at',y,out)
    sh2=d.read(n,'norms','shares')[0]; e2=d.read(n,'norms','epsilon'); t2=d.read(n,'norms','temperature'); print('coarse',sh2,e2,t2)
    tt=(e2>.02)&(e2<.5); print('coarse te/ep', (t2/e2)[tt].min(),(t2/e2)[tt].max(),(t2/e2)[tt].median())
    print({k:v for k,v in nn.items() if not isinstance(v,list)})
    for k in nn:
        if k not in('shares','epsilon','temperature'):
            try: print(k,d.read(n,'norms',k))
            except Exception as ee: print(k, str(ee)[:100], nn[k][0] if isinstance(nn[k],list) else nn[k])
print(c._runs['tied'][0]['held'])
for src,nm,path in ((c,'held',('held',)),(d,'shaken',('norms','shaken'))):
    for n in src.networks:
        try:
            for k in range(3):
                m=src.read(n,*path,k,'measured');t=src.read(n,*path,k,'told'); print(nm,n,k,ms(m/t), [q for q in (src._runs[n][0]['norms'].get('shaken',[{}])[0] if nm=='shaken' else src._runs[n][0]['held'][0]).keys()])
                for kk in ('others','by_others','share_of_others'):
                    try: print(kk, ms(src.read(n,*path,k,kk)))
                    except Exception: pass
        except Exception as e: print(n,nm,str(e)[:200])
