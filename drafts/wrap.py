import re, ast, json
p="/work/tmp/07d.txt"; t=open(p).read()
hand=[('''    print(f"{name:7} {excess.mean():.3f} nats above exact, mapper right in {right.mean():.2f}"
          f" at steps {step.int().tolist()}")''','''    print(f"{name:7} {excess.mean():.3f} nats above exact, mapper right in"
          f" {right.mean():.2f} at steps {step.int().tolist()}")'''),
('''at_one = [shares[0, head - 1] for shares, head in
          zip(found.read("tied", "mapping"), found.read("tied", "mapper", "head").int().tolist())]
print([round(share.item(), 2) for share in at_one])''','''at_one = found.read("tied", "mapping")[range(5), 0, mappers]
print([round(share, 2) for share in at_one.tolist()])'''),
('''first = torch.stack([found.read(name, "mapping")[:, 0].amax(-1) for name in found.networks])''','''first = torch.stack([found.read(name, "mapping")[:, 0].amax(-1)
                     for name in found.networks])'''),
('''excess = torch.stack([trained.read(name, "loss") - exact[name] for name in found.networks])
''','''excess = torch.stack([(trained.read(name, "loss") - exact[name]) / most
                      for name, most in zip(found.networks, (0.15, 0.15, 0.05))])
'''),
('''excess / torch.tensor([[0.15], [0.15], [0.05]]), below=1)''','''excess, below=1)'''),
('''fig, (ratio, cost) = plots.panels("β, in units of its own", "U", "nats of the right key")''','''fig, (ratio, cost) = plots.panels("β, in units of its own", "U", "right key's nats")'''),
('''fig, (heat, ax) = plots.panels("", "spread / scale", "$Y_2$ measured", sharex=False, height=2.7)''','''fig, (heat, ax) = plots.panels("", "spread / scale", "$Y_2$ measured", sharex=False)'''),
('''keys = Language().draw(500, generator=rng).real.sum(-1)  # that each query of a string sees
''','''keys = Language().draw(500, generator=rng).real.sum(-1)  # that a query sees
'''),
('''condensed = found.at_mapper("tied", "participation") / found.at_mapper("tied", "participation_law")
''','''measured, gaussian = (found.at_mapper("tied", name)
                      for name in ("participation", "participation_law"))
'''),
('''condensed, above=1.2''','''measured / gaussian, above=1.2'''),
('''    print(f"{name:7} {share.mean():.3f} ± {share.std() / 5**0.5:.3f}   mapper {mapper.mean():.2f}")''','''    print(f"{name:7} {share.mean():.3f} ± {share.std() / 5**0.5:.3f}"
          f"   mapper {mapper.mean():.2f}")'''),
('''    left = found.read("tied", "rules", "mapper", rule)  # loss, right rows, those of the best
    print(f"{rule:14} right {left[:, 1].mean():.2f}, and any head {left[:, 2].mean():.2f}")''','''    _, right, best = found.read("tied", "rules", "mapper", rule).mean(0)
    print(f"{rule:14} right {right:.2f}, and the best of all heads {best:.2f}")'''),
('''right, kept, skew = (found.read("tied", *path) for path in (("mapper", "right"),
                     ("rules", "mapper", "symmetric", 1), ("rules", "mapper", "antisymmetric", 1)))
''','''right = found.read("tied", "mapper", "right")
even, skew = (found.read("tied", "rules", "mapper", part, 1)
              for part in ("symmetric", "antisymmetric"))
'''),('''right - kept, below''','''right - even, below'''),
('''turned = [found.read(name, "rules", "mapper", "transposed", 1) for name in ("tied", "causal")]
''','''turned = [found.read(name, "rules", "mapper", "transposed", 1)
          for name in ("tied", "causal")]
'''),
('''kept = found.read("tied", "after", "store")[:, 0] - found.read("tied", "after", "erase")[:, 0]
''','''store, erase = (found.read("tied", "after", name)[:, 0] for name in ("store", "erase"))
kept = store - erase
print("seed  store less erase  mapper   its nats, most    rank")
'''),
('''    print(f"seed {seed}: store less erase {signs.min():.2f} to {signs.max():.2f}, of the mapper"
          f" {signs[head]:.2f}; it costs {nats[head]:.2f} of at most {nats.max():.2f} nats;"
          f" rank correlation {ranks.corrcoef()[0, 1]:.2f}")''','''    print(f"{seed:4}  {signs.min():.2f} to {signs.max():.2f}  {signs[head]:7.2f}"
          f"   {nats[head]:.2f} of {nats.max():.2f}  {ranks.corrcoef()[0, 1]:6.2f}")'''),
('''ranks = [torch.stack([a.argsort().argsort(), b.argsort().argsort()]).double().corrcoef()[0, 1]
         for a, b in zip(kept, cost)]
''','''ranks = [torch.stack([row.argsort().argsort() for row in pair]).double().corrcoef()
         for pair in zip(kept, cost)]
'''),
('''    print(f"{n:>3} steps: {found.read('causal', 'rest', 'loss', n).mean():.2f} nats a token")''','''    nats_there = found.read("causal", "rest", "loss", n).mean()
    print(f"{n:>3} steps: {nats_there:.2f} nats a token")'''),
('''ended, began = (found.read("tied", when, "states", 8, "cosine") for when in ("after", "before"))
''','''ended, began = (found.read("tied", when, "states", 8, "cosine")
                for when in ("after", "before"))
origin = found.read("tied", "origins")[:, -1]
'''),('''found.read("tied", "origins")[:, -1] - ended, above''','''origin - ended, above'''),
('''sinks = [found.read(name, "after", "first_token").amax((1, 2)) for name in found.networks]
''','''sinks = [found.read(name, "after", "first_token").amax((1, 2))
         for name in found.networks]
'''),
('''seen = examine(model, shown, right, mask=strings.real,
               targets=torch.where(hidden, strings.tokens, -100), progress=False, ablate=False)''','''targets = torch.where(hidden, strings.tokens, -100)
seen = examine(model, shown, right, mask=strings.real, targets=targets, ablate=False,
               progress=False)'''),
('''    turned = watched(model, shown, strings.real, getattr(interventions, name), head=head)
''','''    rule = getattr(interventions, name)
    turned = watched(model, shown, strings.real, rule, head=head)
'''),
]
for a,b in hand:
    if a not in t: print("MISSING",a[:70]); continue
    t=t.replace(a,b)
def wrapped(src):
    tree=ast.parse(src); lines=src.split("\n"); out=[]; at=0
    for node in tree.body:
        if isinstance(node,ast.Expr) and isinstance(node.value,ast.Call) and getattr(node.value.func,"id","")=="claim":
            c=node.value; number=c.args[0].value; text=c.args[1].value
            raw="\\" in text
            rest=[ast.get_source_segment(src,a) for a in c.args[2:]]+[f"{k.arg}={ast.get_source_segment(src,k.value)}" for k in c.keywords]
            rest=[re.sub(r"\s*\n\s*"," ",r) for r in rest]
            words=text.split(" "); res=[]; cur=f'claim("{number}", '+("r" if raw else "")+'"'; start=True
            for i,w in enumerate(words):
                last=i==len(words)-1
                piece=w+("" if last else " ")
                if len(cur)+len(piece)+1>88:
                    res.append(cur+'"'); cur='      '+("r" if raw else "")+'"'
                cur+=piece
            cur+='"'
            for i,r in enumerate(rest):
                end=")" if i==len(rest)-1 else ","
                if len(cur)+2+len(r)+1>88:
                    res.append(cur+","); cur="      "+r
                else: cur+=", "+r
            res.append(cur+")")
            out+=lines[at:node.lineno-1]+res; at=node.end_lineno
    return "\n".join(out+lines[at:])
t=t.replace("torch.stack(ranks), below=0.0)","torch.stack(ranks)[:, 0, 1], below=0.0)")
a='''    more = [(found.read("tied", "rules", who, rule)[:, 0] - base).mean().item()
            for who in ("mapper", "all")]
    print(f"{rule:16} {more[0]:8.3f} {more[1]:10.3f}")'''
assert a in t
t=t.replace(a,'''    losses = [found.read("tied", "rules", who, rule, 0) for who in ("mapper", "all")]
    one, every = (round((loss_of - base).mean().item(), 3) for loss_of in losses)
    print(f"{rule:16} {one + 0:8.3f} {every + 0:10.3f}")''')
parts=re.split(r"^(#%%== .*)$",t,flags=re.M); o=parts[0]
for h,b in zip(parts[1::2],parts[2::2]):
    if h.startswith("#%%== code") and "claim(" in b and "%pip" not in b:
        b="\n"+wrapped(b[1:].rstrip())+"\n"
    o+=h+b
open(p,"w").write(o)
t=open(p).read()
a='''    print(f"{name:7} {excess.mean():.3f} nats above exact, mapper right in"
          f" {right.mean():.2f} at steps {step.int().tolist()}")'''
assert a in t
t=t.replace(a,'''    print(f"{name:7} {excess.mean():.3f} above exact, right in {right.mean():.2f}"
          f" at {step.int().tolist()}")''')
a='axes[0].legend(loc="upper left")'; assert a in t
t=t.replace(a,'axes[1].legend(loc="upper left", ncols=2)')
parts=re.split(r"^(#%%== .*)$",t,flags=re.M); o=parts[0]
for h,b in zip(parts[1::2],parts[2::2]):
    if h.startswith("#%%== markdown"): b=re.sub(r"(?<![\w.\d/])\.(\d)", r"0.\1", b)
    o+=h+b
open(p,"w").write(o)
