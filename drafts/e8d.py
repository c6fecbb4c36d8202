exec(open('/tmp/edit.py').read()); exec(open('/tmp/split.py').read())
edit('06b',[("is well below one, half as much again already at 0.8,","is well below one,")])
edit('08c',[('''measured=..., ''','')]) if 0 else None
edit('08c',[('''claim("8.131", "Couplings of both signs''','''few8 = []
for _ in range(40):
    drive8 = torch.nn.functional.rms_norm(torch.randn(8, 128, generator=own), (128,))
    few8.append(1 - lost(torch.randn(8, 8, generator=own).softmax(-1), drive8)[3])
claim("8.130a", "Without correlations of equal times eight tokens with softmax weights lose over 1 % of their entropy "
      "production, by over four errors of 40 draws.", over_runs(torch.stack(few8) - 0.01).errors, above=4.0)
claim("8.131", "Couplings of both signs'''),("of eight 2 % or so are lost (8.131b).","of eight 2 % or so are lost (8.130a).")])
edit('06a',[('''      expected=1 - torch.linalg.eigvals(walk).real.min() / 2, atol=2e-3)''','''      expected=1 - torch.linalg.eigvals(walk).real.min() / 2, atol=2e-3)
one_way, y = torch.eye(5).roll(1, 0), torch.arange(5.0)  # each hears the one before
y = y - y.mean()
for _ in range(200):
    y = y / y.norm()
    y = y - one_way @ y / 2
growing = (1 - torch.linalg.eigvals(one_way) / 2).abs().max()
claim("6.25a", r"On a directed ring of five differences grow by the largest $|1 - λ/2|$, 1.43 a round.",
      [y.norm(), growing], expected=[1.435, 1.435], atol=1e-3)'''),
('''claim("6.41b", "After 1,200''','''early = verdicts.difference("mean_of_pairs", "pairs", 600, "excess")
claim("6.41b", "After 1,200'''),
('''      (on_top.mean + 3 * on_top.error) / told.mean, below=0.02)''','''      (on_top.mean + 3 * on_top.error) / told.mean, below=0.02)
claim("6.41c", "Told the kind of each pair, after 600 steps attention and a mean have the same loss, "
      "within two standard errors.", abs(early.errors), below=2)'''),
])
import json,glob
f=glob.glob('/work/main/notebooks/06b_*')[0]; nb=json.load(open(f))
at=next(i for i,c in enumerate(nb['cells']) if c['cell_type']=='code' and '"6.105"' in ''.join(c['source']))
s=''.join(nb['cells'][at]['source']); print(at,s[:1800])
