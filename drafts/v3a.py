import torch,math
from sklearn.datasets import load_digits
from attnlib.course import recorded
from attnlib.course.data import flip_spins, random_patterns
from attnlib.hopfield import classical_recall, dense_recall, hebb_weights
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
grey = torch.tensor(load_digits().data); digits = torch.where(grey > 7.5, 1.0, -1.0)
r=recorded("associative_capacity")
every = {(e["d"], e["flips"]): e["log2_half"] for e in r["everyone"]}
print({k:e for k,e in [(0,r["everyone"][0])]})
wrong = torch.arange(1, 5.0)
def exponent(d):
    a = 1 - 2 * wrong / d
    return d * (torch.special.xlogy(1 + a, 1 + a) + torch.special.xlogy(1 - a, 1 - a)) / 2
gain = torch.tensor([every[26, k] - every[20, k] for k in range(1, 5)]) * math.log(4)
print('f5',gain/(exponent(26)-exponent(20)), gain/(6*math.log(2)))
iv={(e["d"], e["flips"]): e["interval"] for e in r["everyone"]}
for k in range(1,5):
    se=[(iv[d,k][1]-iv[d,k][0])/3.92 for d in (20,26)]
    print('  se',k,(se[0]**2+se[1]**2)**.5*math.log(4)/float((exponent(26)-exponent(20))[k-1]))
print('b91',[ (b['flips'],b['patterns']) for b in r['basins'] if b['d']==26 and b['m']==91 and b['flips'] in (5,6,7)])
cubic = [p for p in r["load"] if p["degree"] == 3]
def whole(d):
    points = [(p["m"], p["exact"]["share"]) for p in cubic if p["d"] == d]
    (m, high), (n, low) = next(two for two in zip(points, points[1:]) if two[1][1] < 0.5)
    print('  br',d,m,high,n,low)
    return m + (high - 0.5) / (high - low) * (n - m)
counted = [d**2 / (3 * torch.special.ndtri(torch.tensor(1 - 0.5 ** (1 / d))) ** 2) for d in (50, 100)]
print('f7',whole(50),whole(100),counted,[w/float(c) for w,c in zip((whole(50),whole(100)),counted)],[d**2/6/math.log(d) for d in (50,100)])
for d in(50,100):
    m=d**2/6/math.log(d); P=float(torch.special.ndtr(torch.tensor(-math.sqrt(d*d/3/m)))); print('  asy bad share',1-(1-P)**d)
print([ (p['d'],p['m'],p['exact']) for p in cubic if 0.2<p['exact']['share']<0.8])
half = {(h["degree"], h["d"]): h for h in r["half"]}; print(half[3,50],half[3,100])
# f4
for n,c in ((2000,10),(2200,11)):
    fails=0; both=0; bad=0
    for s in range(40):
        rng=torch.Generator().manual_seed(1000+s)
        X=random_patterns(n,30,generator=rng)[:, :20].unflatten(0,(200,c)); X[:,1]=X[:,0]; X[:,1,0]*=-1
        stays=dense_recall(X[:, :2],X,degree="exp").iterations==0
        f=(stays.sum(-1)!=1).sum(); fails+=f; bad+=bool(f); both+=(stays.sum(-1)==2).sum()
    print('f4',c,int(fails),bad,int(both))
def spoiled(seed):
    rng = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(digits), generator=rng)[:50]
    memory, lower = digits[chosen], torch.arange(64) >= 32
    noise = 6 * torch.randn(50, 64, generator=rng)
    blank = torch.where(lower, -1.0, memory)
    place = torch.rand(50, 64, generator=rng).argsort(-1).argsort(-1)
    turned = place < (blank != memory).sum(-1, keepdim=True)
    flips = torch.where(turned, -memory, memory)
    upper = torch.where(lower, memory, -1.0)
    noisy = torch.where(grey[chosen] + noise > 7.5, 1.0, -1.0)
    return memory, torch.stack([memory, flips, blank, upper, noisy])
def right(degree, seed):
    memory, cues = spoiled(seed)
    rng = torch.Generator().manual_seed(seed)
    ends = dense_recall(cues.flatten(0, 1), memory, degree=degree, generator=rng).state
    isst=(ends[:,None]==memory).all(-1).any(-1).double().mean()
    return (ends.view_as(cues) == memory).all(-1).sum(-1).double(), isst
def undecided(seed):
    memory, cues = spoiled(seed)
    rng = torch.Generator().manual_seed(seed)
    chance = 1 - memory.mean(0) ** 2 + 1e-6
    order = torch.rand(50, 64, generator=rng) ** (1 / chance)
    place = order.argsort(-1, descending=True).argsort(-1)
    turned = place < (cues[2] != memory).sum(-1, keepdim=True)
    ends = dense_recall(torch.where(turned, -memory, memory), memory, degree="exp",
                        generator=rng).state
    return (ends == memory).all(-1).sum().double()
for lo in (0,10,20,30):
    R=[right("exp",s) for s in range(lo,lo+10)]
    exp=torch.stack([a for a,_ in R]); u=torch.stack([undecided(s) for s in range(lo,lo+10)])
    less=exp[:,1]-u
    print('f2',lo,exp.mean(0).tolist(),float(u.mean()),float(less.mean()),float(less.std()/10**.5),float((less.mean()-5)/(less.std()/10**.5)),'stored',float(torch.stack([b for _,b in R]).mean()), 'u-lower', float((u-exp[:,2]).mean()), float((u-exp[:,2]).std()/10**.5))
for deg in (3,10):
    t=torch.stack([right(deg,s)[0] for s in range(10)]); print('f9',deg,t.mean(0).tolist(),t.max().item())
