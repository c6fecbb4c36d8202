exec(open('/tmp/edit.py').read()); exec(open('/tmp/split.py').read())
split('08c','def wandering','wandering-direction'); split('08c','radii = []','both-signs-relax'); split('08c','few8 = []','lost-by-kind'); split('06a','on_top =','attention-on-top')
edit('06b',[("(claim 6.105a)","(claim 6.104a)")])
import json,glob
f=glob.glob('/work/main/notebooks/06b_*')[0]; nb=json.load(open(f))
at=next(i for i,c in enumerate(nb['cells']) if c['cell_type']=='code' and '"6.104"' in ''.join(c['source']))
new='''kept, rng = rng, torch.Generator().manual_seed(8)  # draws of its own
missed = []
for _ in range(8):
    A, y, x = measured(400, 100)
    missed.append((amp_path(A, y, prior, steps=8).x - x[:, None]).square().mean(-1))
rng, missed = kept, torch.cat(missed) / predicted.mse - 1
over = missed.mean(0)[3:] / (missed.std(0)[3:] / 800**0.5)
claim("6.104a", "At $n = 400$ eight hundred draws show errors above those of state evolution from the third "
      "step on, by over four standard errors.", over, above=4.0)
claim("6.104b", "At $n = 400$ the errors of the third to eighth step are 5 to 20 % above those of state "
      "evolution.", missed.mean(0)[3:], between=(0.05, 0.2))'''
nb['cells'].insert(at+1,dict(cell_type='code',execution_count=None,id='eight-hundred-draws',metadata={'tags':['proof']},outputs=[],source=new.splitlines(keepends=True)))
json.dump(nb,open(f,'w'),indent=1,ensure_ascii=False); open(f,'a').write('\n')
