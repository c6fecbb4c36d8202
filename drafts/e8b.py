exec(open('/tmp/edit.py').read())
src=open('/tmp/e9.py').read(); exec(src[src.index("def meta"):src.index("meta('02c'")])
import re
for f,pairs in (('attnlib/course/live/two_films.py',[("that of the layer's first eight tokens alone is summed\n    over all","that of a layer of eight such tokens, of the same draw, is summed\n    over all"),("couplings of the first eight tokens alone; ``law``, the distance (total variation) of their law from the","couplings of a layer of eight such tokens; ``law``, the distance (total variation) of its law from the"),('"""Couplings ``[n, n]`` of the first n tokens alone."""','"""Couplings ``[n, n]`` of a layer of n tokens, from the first n rows and columns of one draw."""')]),
 ('attnlib/course/live/two_films.js',[("and the law of the layer's first eight tokens, exactly.","and the law of a layer of eight such tokens, exactly."),("distance of the law of the first eight from rest","distance of the law of eight such spins from rest")])):
    s=open(f).read()
    for a,b in pairs:
        assert s.count(a)==1,a
        s=s.replace(a,b)
    open(f,'w').write(s)
meta('08b',[("and the distance of the law of the first eight tokens from rest.","and the distance from rest of the law of a layer of eight such tokens."),
("The overlap of films with noise of their own falls by 0.53 a step,","The overlap of films with noise of their own falls to 0.53 of itself in each step,"),
("The distance of the law from rest falls by tanh 1 a step (dashed) for each of them, after a beginning of their own.","In the end the distance of the law from rest falls to tanh 1 of itself in each step (dashed), whatever the layer."),
])
edit('08b',[
("**The law of a layer forgets where it began. A film of it need not: with independent couplings of many spins two films under one noise stay apart for ever. Attention weights are positive, so that two films enclose all others, and exact draws from the law follow. A causal softmax layer without a drive forgets by exactly tanh β a step, whatever its weights.**",
 "**With independent couplings of many spins the law of a layer forgets where it began, at any temperature. A film of it does not: two films under one noise stay apart for ever. Attention weights are positive, so that two films enclose all others, and exact draws from the law follow. Of its past a causal softmax layer without a drive keeps, in the end, exactly tanh β a step, whatever its weights.**"),
("and say why the first token of a causal layer is the last thing it forgets.","and say why the first token of a causal layer without a drive is the last thing it forgets."),
("and how far the *law* of the layer's first eight tokens, all 256 states of them, is from its stationary one.","and how far the *law* of a layer of eight such tokens, all 256 states of it, is from its stationary one."),
("field is off in the fourth digit: it says 0.2463 and 0.3823 where 0.2461 and 0.3832 are right,","field is off by up to 0.0009: it says 0.2463 and 0.3823 where 0.2461 and 0.3832 are right,"),
('forgets by {rate(gain):.4f} a step, keeps {d:.4f} apart")','means keep {rate(gain):.4f} a step, films {d:.4f} apart")'),
("The law forgets by 0.7295 a step even at $\\beta g = 2$.","Even at $\\beta g = 2$ the law forgets: means keep 0.7295 of what is left of the start in each step."),
('"8.51", "The law of independent couplings at $β g = 2$ forgets by 0.7295 a step."','"8.51", "Of its start the law of independent couplings at $β g = 2$ keeps 0.7295 a step."'),
('"8.52", "At $β g = 1$ small means shrink by 0.606 a step in the Gaussian "','"8.52", "At $β g = 1$ small means keep 0.606 of their size a step in the Gaussian "'),
('''"8.55", "The damage of ten systems of 1,500 spins at $β g = 1$, over 100 frames "
      "each, has a standard deviation of 0.0017.",
      torch.tensor(record["damage"]["systems"]).std(), expected=0.0017, atol=1e-4)''','''"8.55", "The damage of ten systems of 1,500 spins at $β g = 1$, over 100 frames "
      "each, has a standard deviation of 0.0015 to 0.0035, as foreseen.",
      torch.tensor(record["damage"]["systems"]).std(), between=(0.0015, 0.0035))'''),
('''"says, within 15 %, at six temperatures."''','''"says, within 15 %, in six cases of size and temperature."'''),
('''ours = torch.tensor([sum(signs[r]["apart"]) / 100 for r in (0.0, 0.1, 0.5)])
claim("8.62", "A third film is apart when two of eight spins meet in none, 4.7 and "
      "14.7 % of all cases, with no, a tenth and half of the signs turned over.", ours,
      expected=[0.0, 0.047, 0.147], atol=1e-3)
times = torch.tensor([sum(signs[r]["times"]) / 100 for r in (0.0, 0.5)])
claim("8.63", "Two films of eight spins meet after 10.1 steps on average with softmax "
      "weights, and after 4.7 with half of the signs turned over.", times,
      expected=[10.1, 4.7], atol=0.05)''','''none_, tenth, half = (torch.tensor(signs[r]["apart"]) for r in (0.0, 0.1, 0.5))
claim("8.62", "Where two films of eight spins from both ends meet, a third is never apart with softmax "
      "weights, and the oftener, by over four errors, the more signs are turned over: a tenth, half.",
      [float(none_.max() == 0), *(over_runs(more).errors / 4 for more in (tenth, half - tenth))],
      above=0.999)
claim("8.62a", "With half of the signs turned over the third film is apart in less than the least "
      "that was foreseen, 20 %, by over four errors.", over_runs(0.2 - half).errors, above=4.0)
times = [torch.tensor(signs[r]["times"]) for r in (0.0, 0.5)]
claim("8.63", "Two films of eight spins meet in under half the time where half of the signs are "
      "turned over, by over four errors.", over_runs(times[0] / 2 - times[1]).errors, above=4.0)'''),
('''"8.69", "At $β$ of 0.05 and 1 the laws of layers and of a sweep are 0.036 and "
      "0.574 apart, over 100 causal softmax layers.", [near, far],
      expected=[float(hot), 0.574], atol=0.003)''','''"8.69", "Over 100 softmax layers whose tokens see earlier ones only, the first none, the laws of layers "
      "and of a sweep are $0.4 β \\\\sqrt{\\\\sum Y_2}$ apart at $β = 0.05$, within 8 %, and 0.35 to 0.6 at 1.",
      [near / hot - 1, far - 0.475], expected=[0.0, 0.0], atol=[0.08, 0.125])'''),
('''"8.74", "Of 500 pairs of films with sharp weights at $β = 3$ 98.2 % meet in 1,000 "
      "steps, and none where the norms are spread over all spins.", [sharp, level],
      expected=[0.982, 0.0], atol=5e-4)''','''"8.74", "Of 500 pairs of films with sharp weights at $β = 3$ over nine tenths meet in 1,000 "
      "steps, and of as many with the norms spread over all spins under a tenth.", [sharp, 1 - level],
      above=0.9)'''),
('''"8.75", "With drives of spread 0.5 and 2 the first token is the slowest in 89.5 "
      "and 56.5 % of 200 causal softmax layers.", [slowest[0.5], slowest[2.0]],
      expected=[0.895, 0.565], atol=5e-4)''','''"8.75", "With drives of spread 0.5 the first token is the slowest in more of 200 causal softmax layers "
      "than with spread 2, by over four errors.", (slowest[0.5] - slowest[2.0])
      / math.sqrt(sum(share * (1 - share) / 200 for share in slowest.values())), above=4.0)'''),
("which is attained without a drive, by what is the same in all tokens: rows that sum to one pass it on unchanged.","which is attained without a drive, by what is the same in all tokens and small: rows that sum to one pass it on unchanged."),
("With weights for couplings it forgets nothing either: where one field is nowhere below another, $J \\phi$ is not either, and they come no nearer.","With weights for couplings it forgets no difference that is in order: where one field is nowhere below another, $J \\phi$ is not either, and they come no nearer. A difference of both signs it may forget, and at once: two tokens that look at each other lose it to the last digit in ten layers."),
('''around = torch.linalg.eigvals(overlaps.roll(-1, 1))
around, still''','''around, still'''),
('''torch.cat([(around[:, None] - fifths).abs().amin(1), (still - 1).abs()]),
      below=0.25)''','''torch.cat([(around[:, None] - fifths).abs().amin(side) for side in (0, 1)]
                + [(still - 1).abs()]), below=0.25)'''),
('''eigenvalues near the "
      "fifth roots of one, those that store near one, within 0.25.",''','''eigenvalues near each "
      "fifth root of one and nowhere else, those that store near one, within 0.25.",'''),
('''"8.85", "With softmax weights of spread 1 at $β = 1.5$ the time to meet grows by "
      "0.194 a spin from 16 to 32 spins.", grows[1], expected=0.194, atol=0.001)''','''"8.85", "With softmax weights of spread 1 at $β = 1.5$ the time to meet grows by less a spin than that "
      "barrier from 16 to 32 spins, by over four errors.", (barrier - grows[1]) * 16 / math.hypot(
          *(over_runs(past[n, 1.5].log()).error for n in (16, 32))), above=4.0)'''),
('''"8.86", "With half the signs of eight tokens turned over what two films return "
      "is off the law by less than 0.004, on average over ten couplings.",
      (off2.square() - true2.square()).mean().sqrt(), below=0.004)''','''"8.86", "With half the signs of eight tokens turned over what two films return is off the law by "
      "less than the least foreseen, 0.01, by over four errors of ten couplings.",
      over_runs(0.01**2 - off2.square() + true2.square()).errors, above=4.0)'''),
('''"8.87", "The overlap of 1,500 spins is 0.009 and 0.013 off its map at $β g$ of 1 "
      "and 2, and the damages of two halves at 1 are up to 0.037 apart.",
      [*maps2, halves], expected=[0.0086, 0.0128, 0.0373], atol=1e-4)''','''"8.87", "The overlap of 1,500 spins is within 0.01 of its map at $β g = 1$, not at 2, and the damages of "
      "two halves at 1 are not within 0.02 of each other in each frame.",
      [0.01 / maps2[0], maps2[1] / 0.01, halves / 0.02], above=1.0)'''),
("by less than 0.798 a step ([eq. 8.13](#eq-rate));","keeping less than 0.798 of its means a step ([eq. 8.13](#eq-rate));"),
("a causal softmax layer without drive forgets by exactly $\\tanh \\beta$: its memory is the first token.","a causal softmax layer without drive keeps exactly $\\tanh \\beta$ a step in the end: its memory is the first token."),
("a stream of weights forgets nothing.","a stream of weights forgets no difference that is in order."),
])
import json
f='/work/main/notebooks/08b_what_is_forgotten.ipynb'; nb=json.load(open(f))
i=next(i for i,c in enumerate(nb['cells']) if '"8.80"' in ''.join(c['source']))
c=nb['cells'][i]; s=''.join(c['source'])+'''
own = torch.Generator().manual_seed(8)
fields = torch.randn(100, 8, generator=own).expand(2, 100, 8) + torch.tensor([0.0, 0.02])[:, None, None]
weights, gaps = torch.randn(100, 8, 8, generator=own).softmax(-1), []
for _ in range(10):
    gaps.append(fields[1] - fields[0])
    fields = fields + torch.einsum("kij,skj->ski", weights, (0.8 * fields).tanh())
claim("8.80a", "In 100 streams of softmax weights a difference in order shrinks in no token of ten layers.",
      torch.stack(gaps).diff(dim=0), above=0.0)
pair = torch.tensor([0.01, -0.01])  # a difference of both signs, from fields of zero
for _ in range(10):
    pair = pair + pair.tanh().flip(0)
claim("8.80b", "Two tokens that look at each other only lose a difference of both signs in ten layers.",
      pair.abs().max(), below=1e-12)'''
c['source']=s.splitlines(keepends=True)
json.dump(nb,open(f,'w'),indent=1,ensure_ascii=False); open(f,'a').write('\n')
