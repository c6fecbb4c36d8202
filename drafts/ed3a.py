import json,glob
exec(open('/tmp/edit.py').read())
src=open('/tmp/e9.py').read(); exec(src[src.index("def meta"):src.index("meta('02c'")])
P='03a'
edit(P,[
# 4
("and the crowd prefers one of them: exactly one of the twins is stable. Here are twelve networks of ten patterns, two of them twins; 1 says that a twin stays.",
 "and the crowd, unless it is divided too, prefers one of them: exactly one of the twins is stable. Here are twelve networks of eleven patterns, two of them twins (an odd crowd is never divided); 1 says that a twin stays."),
("X = random_patterns(2000, 30, generator=rng)[:, :20]  # of 30 the crowd is rounding\nX = X.unflatten(0, (200, 10))  # 200 networks",
 "X = random_patterns(2200, 30, generator=rng)[:, :20]  # of 30 the crowd is rounding\nX = X.unflatten(0, (200, 11))  # 200 networks; an odd crowd of nine cannot tie"),
('claim("3.23", "Of two patterns one spin apart an exponential memory keeps "\n      "exactly one, in each of 200 networks."',
 'claim("3.23", "Of two patterns one spin apart an exponential memory of eleven keeps "\n      "exactly one, in each of 200 networks."'),
# 6
("Now spoil $k$ spins of a cue. A competitor", "Now spoil $k$ spins of a cue, and from here to the end of this section turn all spins at once, which can be counted. A competitor"),
("If all spins turn at once, those $a$ turn to $x$ when", "Those $a$ turn to $x$ when"),
# 5
('''a = 1 - 2 * torch.tensor([2 / 26, 2 / 20])
rate = (torch.special.xlogy(1 + a, 1 + a) + torch.special.xlogy(1 - a, 1 - a)) / 2
gain = (every[26, 2] - every[20, 2]) * math.log(4)  # of twice the natural logarithm
claim("3.27", "With two wrong spins the exponential memory's capacity grows, "
      "from 20 to 26 spins, at the rate of the exponent.",
      gain / (26 * rate[0] - 20 * rate[1]), expected=1.0, atol=0.25)''',
'''spoilt = torch.arange(1, 5.0)


def exponent(d):  # twice the logarithm of the number, without powers of d
    a = 1 - 2 * spoilt / d
    return d * (torch.special.xlogy(1 + a, 1 + a) + torch.special.xlogy(1 - a, 1 - a)) / 2


gain = torch.tensor([every[26, k] - every[20, k] for k in range(1, 5)]) * math.log(4)
claim("3.27", "From 20 to 26 spins the exponential memory's capacity for cues with 1 to 4 "
      "wrong spins grows as the exponent says, within a tenth.",
      gain / (exponent(26) - exponent(20)), expected=[1.0] * 4, atol=0.1)'''),
# 7
('''claim("3.18", "From 50 to 100 spins the cubic memory's capacity grows as "
      "$d^2$, the power within 0.3.", growth, expected=2.0, atol=0.3)''',
'''

def whole(d):  # where half of the patterns come back whole, by linear interpolation
    points = [(p["m"], p["exact"]["share"]) for p in cubic if p["d"] == d]
    (m, high), (n, low) = next(two for two in zip(points, points[1:]) if two[1][1] < 0.5)
    return m + (high - 0.5) / (high - low) * (n - m)


counted = [d**2 / (3 * torch.special.ndtri(torch.tensor(1 - 0.5 ** (1 / d))) ** 2)
           for d in (50, 100)]
claim("3.18", "Half of a cubic memory's patterns are without a wrong spin at the number "
      "that crosstalk gives, for 50 and 100 spins, within 8 %.",
      torch.tensor([whole(50), whole(100)]) / torch.stack(counted),
      expected=[1.0, 1.0], atol=0.08)
claim("3.18a", "From 50 to 100 spins the number of patterns that a cubic memory keeps "
      "grows with a power of $d$ between 1.7 and 2.", growth, between=(1.7, 2.0))'''),
("Three and a half times, where the scaling says four.","3.6 times, where the scaling says four."),
("If not a single spin of a pattern may be wrong, the same count gives $m \\approx d^{a-1} / (2\\,(2a-3)!!\\, \\ln d)$. The capacity",
 "If not a single spin of a pattern may be wrong, the same count gives $m \\approx d^{a-1} / (2\\,(2a-3)!!\\, \\ln d)$ for large $d$. For half of the patterns without a wrong spin solve $(1 - P)^d = \\frac12$: with cubes, 172 patterns of 50 spins, 550 of 100. Measured: 180 and 555. The capacity"),
# 10
("Count the crosstalk again. A pattern's own field grows like","Count the crosstalk again, to leading order, for large $d$. A pattern's own field grows like"),
("measured = wrong_spins(d, m, 6, lambda","measured = wrong_spins(d, m, 40, lambda"),
('''claim("3.17", "For powers 2, 3 and 4 the wrong spins are as many as "
      "predicted, within a quarter.", torch.stack(ratios),
      expected=torch.ones(3), atol=0.25, key=True)''',
'''claim("3.17", "For powers 2, 3 and 4 the wrong spins are as many as "
      "predicted to leading order, within 15 %.", torch.stack(ratios),
      expected=torch.ones(3), atol=0.15, key=True)'''),
("One source writes that a power $a$ has","At these sizes the formula is off by about a tenth.\n\nOne source writes that a power $a$ has"),
# 14
('''"With all spins turned at once, every state returns after "
      "two steps at the latest."''','''"With all spins turned at once, after 1,000 steps every "
      "state returns within two."'''),
# 8
('''claim("3.40", "More than 80 % of the wrong answers of an exponential memory of "
      "1,000 digits are another stored digit.",
      stored[wrong].double().mean(), above=0.8, key=True)''',
'''claim("3.40", "Every wrong answer of an exponential memory of 1,000 digits is "
      "another stored digit.",
      stored[wrong].double().mean(), expected=1.0, atol=0.02, key=True)'''),
# 2, 8, 9: text
("Turned pixels, nearly always. A blank half,","Turned pixels, nine times in ten. A blank half,"),
("Scattered errors agree with no other digit. A blank half agrees with all digits that are light there. Noise turns the pixels that were undecided, and those are the ones in which digits differ. The number of wrong pixels does not decide: the same number at random costs almost nothing.",
 "What counts is whether the wrong pixels are those in which digits differ. A blank half turns mostly such pixels, and noise, which turns pixels that were undecided, more of them than chance. Scatter as many at random but mostly over such pixels, and about as few digits come back as after a blank half. The number of wrong pixels does not decide: the same number anywhere costs one digit in ten."),
("After a blank half or noise that is often another digit. The order","After a blank half or noise that is often another digit, and always a stored one. The order"),
("Where the wrong pixels are counts for more than how many there are: scattered ones are mended, a blank half often leads to another digit.",
 "Which pixels are wrong counts for more than how many: scattered over all 64 they are mostly mended, scattered over those in which digits differ they often lead to another digit."),
# code of 2, 8
("    return torch.stack([found.sum(-1), (nearest & answers).any(-1).sum(-1)])","    followed = (nearest & answers).any(-1)\n    return torch.stack([n.sum(-1) for n in (found, followed, answers.any(-1))])"),
("def looked_up(seed):  # right by a search for the nearest; answers that agree with it","def looked_up(seed):  # right by a search for the nearest; answers as it; stored ones"),
("searched, follows = torch.stack(","searched, follows, listed = torch.stack("),
('''      follows.mean(0) / 50, above=3 / 4)
''','''      follows.mean(0) / 50, above=3 / 4)
claim("3.32a", "Every answer of the exponential memory to five kinds of cue, right or "
      "wrong, is one of its 50 stored digits.", listed, expected=0 * listed + 50, atol=0.1)
'''),
])
meta(P,[("with 26 spins","with 26 spins")] if 0 else [
("Lines are the count of competitors, with ties beside one other pattern and without a free parameter. The dotted line is two to the d/2.",
 "Lines are the count of competitors, with ties beside one other pattern and without a free parameter. The dotted line is two to the d/2. All spins turn at once; one by one a few more come back."),
("With 91 patterns half come back with six.","With 91 patterns rather more than half come back with six. All spins turn at once; one by one a few more come back."),
("Each column holds a stored digit, its cue, and the answer: most answers are genuine digits, just not the ones that were meant.",
 "Each column holds a stored digit, its cue, and the answer: a genuine digit, just not the one that was meant."),
])
# cells
f=glob.glob(f'/work/main/notebooks/{P}*.ipynb')[0]; nb=json.load(open(f))
def S(c): return ''.join(c['source'])
def new(c,id,s): return dict(c,id=id,source=s.splitlines(keepends=True),outputs=[],metadata=json.loads(json.dumps(c['metadata'])))
i=next(i for i,c in enumerate(nb['cells']) if c['id']=='digits-claims')
c=nb['cells'][i]; s=S(c); at=s.index('claim("3.31"')
head,tail=s[:at].rstrip('\n'),s[at:]
head=head.replace('claim("3.30"','''claim("3.29a", "A cubic memory of 50 digits recalls 0 of 50 from each of five kinds "
      "of cue, in ten sets.", table[3], below=0.5)
claim("3.30"''')
c['source']=head.splitlines(keepends=True)
und='''def undecided(seed):  # as many wrong, at random, by a pixel's variance over the fifty
    memory, cues = spoiled(seed)
    rng = torch.Generator().manual_seed(seed)
    chance = 1 - memory.mean(0) ** 2 + 1e-6
    order = torch.rand(50, 64, generator=rng) ** (1 / chance)
    place = order.argsort(-1, descending=True).argsort(-1)
    turned = place < (cues[2] != memory).sum(-1, keepdim=True)
    ends = dense_recall(torch.where(turned, -memory, memory), memory, degree="exp",
                        generator=rng).state
    return (ends == memory).all(-1).sum().double()


differing = torch.stack([undecided(seed) for seed in range(10)])
less = exp[:, 1] - differing
claim("3.30a", "As many wrong pixels cost the exponential memory over five more of 50 "
      "digits where digits differ than anywhere, by over 3 standard errors.",
      (less.mean() - 5) / (less.std() / 10**0.5), above=3)
claim("3.30b", "Scattered where digits differ, as many wrong pixels leave as many of 50 "
      "digits as a blank lower half, within five.",
      (differing - exp[:, 2]).mean(), expected=0.0, atol=5)'''
nb['cells'][i+1:i+1]=[new(c,'digits-undecided',und),new(c,'digits-searched',tail)]
i=next(i for i,c in enumerate(nb['cells']) if c['id']=='cell-46-b')
c=nb['cells'][i]; s=S(c); at=s.index('trials = [')
head,tail=s[:at].rstrip('\n'),s[at:]
assert head.startswith('import joblib\nfrom attnlib.course.models import storage_sweep\n\n')
head=head.split('\n\n',1)[1]
c['source']=(head+'''
h = torch.randn(30, generator=torch.Generator().manual_seed(8))
coupled, one = hebb_weights(X), xi.clone()
for k in range(30):  # one sweep by hand, in a field
    one[:, k] = (one @ coupled[k] + h[k]).sign()
swept = classical_recall(xi, coupled, h, max_steps=1).state
claim("3.38a", "In an external field one sweep of classical_recall, and the energy, are "
      "those by hand.",
      torch.cat([swept.flatten(), classical_energy(xi, coupled, h)]),
      expected=torch.cat([one.flatten(), energies[0] - xi @ h]), atol=1e-9)''').splitlines(keepends=True)
nb['cells'].insert(i+1,new(c,'sweep-workers','import joblib\nfrom attnlib.course.models import storage_sweep\n\n'+tail))
json.dump(nb,open(f,'w'),indent=1,ensure_ascii=False); open(f,'a').write('\n')
for c in nb['cells']:
    if c['cell_type']=='code':
        L=S(c).split('\n'); pr='proof' in c['metadata'].get('tags',[])
        if len(L)>(25 if pr else 14) or max(map(len,L))>(128 if pr else 88): print(c['id'],len(L),max(map(len,L)))
