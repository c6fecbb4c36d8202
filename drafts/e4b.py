import json,glob
exec(open('/tmp/edit.py').read())
edit('04b',[
("from attnlib.course import check, claim\nfrom attnlib.mean_field import (Binary, Gaussian,","from attnlib.course import check, claim, recorded\nfrom attnlib.mean_field import (Binary, Gaussian,"),
("E. P. Wigner, *On the Distribution of the Roots of Certain Symmetric Matrices* (1958). Full","E. P. Wigner, *On the Distribution of the Roots of Certain Symmetric Matrices* (1958). S. H. Strogatz, *Nonlinear Dynamics and Chaos* (1994). Full"),
])
f=glob.glob('/work/main/notebooks/04b*.ipynb')[0]; nb=json.load(open(f))
text='''*A bottleneck.* Between a system with one answer and a system with more there is one where a second pair of fixed points is about to appear. Nothing is solved near that place yet, but the residual is small there, and where it is least the derivative of the map along the way is one. Plain steps crawl past: through $x \\mapsto x + g + x^2$ in about $\\pi / \\sqrt g$ of them, however small the gap $g$ (Strogatz 1994). A method that makes the residual small stays.

Blocks of neural mean field met it in training ([page 7a](07a_one_block_many_mixers.ipynb)). One system of 256 had no fixed point after 200 damped steps and 200 of Anderson's method, and the run was over. Seven such systems had been looked at when we wrote down what new seeds would do (commit 64138fa): of 16 runs six to thirteen break down within 400 batches, with 2,000 steps of the solver at most two; where the solver leaves a system the largest eigenvalue of a step is one within 0.01, and more plain steps bring it to rest. Six broke down, and with 2,000 steps none; the eigenvalues were 1.000 to 1.010, and 290 to 1,199 more steps did it.
'''
code='''def narrow(x, gap=1e-4):  # a bottleneck at 0, then a fixed point near 1
    return x + gap + x**2 - x**3


x, taken = -0.5, 0
while x < 0.5:
    x, taken = narrow(x), taken + 1
claim("4.97a", r"Plain steps pass a bottleneck with a gap of $10^{-4}$ in $\\pi / \\sqrt g$, within 5 %.",
      taken * 1e-4**0.5 / torch.pi, expected=1, atol=0.05)
starts = torch.tensor([[-0.5], [-0.1], [-0.01]])
stuck = fixed_point(narrow, starts, method="anderson", max_steps=1000, on_failure="warn")
claim("4.97b", "From three starts 1,000 steps of Anderson's method stay within 0.02 of that bottleneck.",
      stuck.solution, expected=torch.zeros(3, 1), atol=0.02)
stalls = recorded("stalled_layers")["runs"]
ended = {most: sum(run["broke down"] for run in stalls if run["steps"] == most) for most in (200, 2000)}
left = [one for run in stalls for one in run.get("systems", [])]
claim("4.97c", "Of 16 blocks of neural mean field that learn ten spins at least four break down within 400 "
      "batches.", ended[200], above=3)
claim("4.97d", "With 2,000 steps of the solver in place of 200 none of those 16 blocks breaks down.",
      ended[2000], below=1)
claim("4.97e", "In each of their systems that did not come to rest one step's largest eigenvalue is within "
      "0.015 of one.", [one["stall"] - 1 for one in left], expected=[0.0] * len(left), atol=0.015)
claim("4.97f", "Each of these systems comes to rest within 2,000 more plain steps.", [
    one["further"] for one in left], between=(1, 2000))
'''
i=[c['id'] for c in nb['cells']].index('breaks-step')
def s(x): return x.splitlines(keepends=True)
nb['cells'][i+1:i+1]=[{"cell_type":"markdown","id":"breaks-bottleneck-text","metadata":{},"source":s(text.rstrip("\n"))},
 {"cell_type":"code","execution_count":None,"id":"breaks-bottleneck","metadata":{"tags":["proof"]},"outputs":[],"source":s(code.rstrip("\n"))}]
json.dump(nb,open(f,'w'),indent=1,ensure_ascii=False); open(f,'a').write('\n')
f=glob.glob('/work/main/notebooks/07a*.ipynb')[0]; nb=json.load(open(f))
nb['cells']=[c for c in nb['cells'] if c['id']!='systems-that-stall']
json.dump(nb,open(f,'w'),indent=1,ensure_ascii=False); open(f,'a').write('\n')
p='/work/main/book/references.bib'; b=open(p).read()
b=b.rstrip('\n')+'''

@book{strogatz1994,
  author    = {Strogatz, Steven H.},
  title     = {Nonlinear Dynamics and Chaos: With Applications to Physics, Biology, Chemistry, and Engineering},
  publisher = {Addison-Wesley},
  year      = {1994}
}
'''
open(p,'w').write(b)
