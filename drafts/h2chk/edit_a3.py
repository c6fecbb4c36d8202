P="/work/tmp/brief/h2_07a.txt"
t=open(P).read()
def sub(a,b,n=1):
    global t
    assert t.count(a)==n,(t.count(a),a[:90])
    t=t.replace(a,b)
sub("small = blind_floor(1e-4, draws=2000, inner=4, generator=rng)","small = blind_floor(1e-4, draws=1000, inner=4, generator=rng)")
sub('''    one = spin_systems(1500, context=c, generator=rng)
    other = exact_ising(context_couplings(torch.randn(1500, 10, 4, generator=rng),''','''    one = spin_systems(1000, context=c, generator=rng)
    other = exact_ising(context_couplings(torch.randn(1000, 10, 4, generator=rng),''')
sub("some = spin_systems(2000, context=0.0, generator=rng)","some = spin_systems(1000, context=0.0, generator=rng)")
sub("    return train_one(made, SpinTask(), rate=0.03, seed=0, steps=80, batch=32)","    return train_one(made, SpinTask(), rate=0.03, seed=0, steps=60, batch=32, test=512)")
sub('"After 80 steps at $λ = 1$','"After 60 steps at $λ = 1$')
open(P,"w").write(t)
