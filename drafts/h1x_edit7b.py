p='/work/tmp/h1x_07d.txt'; s=open(p).read()
def r(a,b,n=1):
    global s
    assert s.count(a)==n,(s.count(a),a[:90])
    s=s.replace(a,b)
r('''near = ((off < 0.25) & others).sum(-1) / others.sum(-1)
claim("7.102", "At least half of the other heads of each tied network condense as "
      "random scores would, within a quarter.", near, above=0.5)
''','''near = ((off < 0.25) & others).sum(-1) / others.sum(-1)
claim("7.102", "At least half of the other heads of each tied network condense as "
      "random scores would, within a quarter.", near, above=0.5)
step, _ = found.mappers("tied")
idle = found.read("tied", "mapping").amax(1) < 0.7  # heads that map at no step
beside = torch.stack([above[at][heads].mean()
                      for above, at, heads in zip(Y2 / law_Y2, step, idle)])
claim("7.102a", "At its best step the mapper of each tied network exceeds random scores "
      "by more than heads that do not map do on average.", measured / gaussian / beside,
      above=1.0)
''')
r('''both, ahead = (found.read(name, "after", "symmetric_share").mean((1, 2))
               for name in ("tied", "causal"))
claim("7.104", "Heads that fill gaps have more of an energy than heads that say what "
      "comes next, in each pair of seeds.", both - ahead, above=0.0)
''','''*gaps, ahead = (found.read(name, "after", "symmetric_share").mean((1, 2))
                for name in found.networks)
claim("7.104", "Heads that fill gaps have more of an energy than heads that say what "
      "comes next, each of ten networks than each of five.",
      torch.cat(gaps)[:, None] - ahead, above=0.0)
''')
r('''for rule in ("symmetric", "antisymmetric", "transposed"):
    _, right, best = found.read("tied", "rules", "mapper", rule).mean(0)
    print(f"{rule:14} right {right:.2f}, and the best of all heads {best:.2f}")
''','''for name in ("tied", "causal"):
    for rule in ("symmetric", "antisymmetric", "transposed"):
        _, right, best = found.read(name, "rules", "mapper", rule).mean(0)
        print(f"{name:6} {rule:13} right {right:.2f}, best of all heads {best:.2f}")
''')
r('''rest = found.read("causal", "rest", "exponent").mean(-1)
claim("7.121", "Tied networks that say the next token come to rest: their largest "
      "Lyapunov exponent is below zero.", rest, below=0.0)
''','''rest = found.read("causal", "rest", "exponent").mean(-1)
claim("7.121", "Tied networks that say the next token come to rest: their largest "
      "Lyapunov exponent is below zero.", rest, below=0.0)
moves = found.read("causal", "rest", "change")[:, -1]
claim("7.121a", "After 300 steps the state of each tied network that says the next "
      "token changes by less than 0.02 of its length.", moves, below=0.02)
''')
r('''      expected=torch.stack([seen.grid("thermometer"), seen.grid("symmetric_share")]))
''','''      expected=torch.stack([seen.grid("thermometer"), seen.grid("symmetric_share")]))
#%%== code cell-34-e {"tags": ["proof"]}
told = weights[step, :, head][right >= 0]
keys_seen, at = told > 0, right[right >= 0][:, None]
others = keys_seen.scatter(1, at, False)
logs = torch.where(keys_seen, told.log(), 0.0)  # scores, but for one number a row
mean = (logs * others).sum(1, keepdim=True) / others.sum(1, keepdim=True)
beyond, left = [], []
for scores in (logs, logs.scatter(1, at, mean)):
    sigma = torch.stack([row[some].std() for row, some in zip(scores, keys_seen)])
    law = [random_energy(int(some.sum()), each).participation
           for some, each in zip(keys_seen, sigma)]
    condensed = scores.masked_fill(~keys_seen, -math.inf).softmax(1).square().sum(1)
    beyond.append(condensed.mean() / torch.stack(law).mean())
    left.append(relative_spread(scores, mask=keys_seen).mean())
claim("7.134a", "In rows with one right key the mapper that ships is over 1.2 times as "
      "condensed as random scores of its spread.", beyond[0], above=1.2)
claim("7.134b", "With the right key's score moved to the mean of the others it is as "
      "condensed as random scores, within a quarter.", beyond[1], expected=1, atol=0.25)
claim("7.134c", "With the right key's score moved to the mean of the others its spread "
      "is below the freezing scale.", left[1], below=1)
''')
r('''from attnlib.course.models.specimens import mapped, rows_of, trained_specimen
''','''from attnlib.course.models.specimens import mapped, rows_of, trained_specimen
from attnlib.softmax import random_energy, relative_spread
''')
open(p,'w').write(s)
