import json,glob
exec(open('/tmp/edit.py').read())
edit('07a',[
("| missed: 0 %, 5 % ahead; hit |","| missed: 0 ± 1 %; with a $z$ each 5 ± 1 % ahead, with one 1 ± 1 % behind; hit |"),
("| RANKS |","| missed: 0.85 |"),
])
f=glob.glob('/work/main/notebooks/07a*.ipynb')[0]; nb=json.load(open(f))
code='''claim("7.24l", "At $λ = 1$ and equal seconds vector spins on a softmax err less than softmax, by over three "
      "errors.", -even.loss_to("vector-spins-softmax", "softmax", 1.0).errors, above=3.0)
claim("7.24m", "At $λ = 1$ and equal seconds two tied steps err by 0.070 to 0.088 in each of five runs, as "
      "foreseen.", even.score("softmax, 2 tied steps", 1.0), between=(0.070, 0.088))
claim("7.24n", "At $λ = 1$ and equal seconds four tied steps err by less than 0.055 in each of five runs.",
      even.score("softmax, 4 tied steps", 1.0), below=0.055)
reading = [name for name in even.names if last(name) < 0.6]
ranks = [torch.tensor([race.mean(name, 1.0).mean for name in reading]).argsort().argsort().double()
         for race in (runs, even)]
claim("7.24o", "At $λ = 1$ the ranks of those that read at equal batches and at equal seconds correlate "
      "above 0.7 and below 0.9.", torch.corrcoef(torch.stack(ranks))[0, 1], between=(0.7, 0.9))
'''
i=[c['id'] for c in nb['cells']].index('what-sums-say')
nb['cells'].insert(i+1,{"cell_type":"code","execution_count":None,"id":"equal-seconds-ranks","metadata":{"tags":["proof"]},"outputs":[],"source":code.rstrip("\n").splitlines(keepends=True)})
json.dump(nb,open(f,'w'),indent=1,ensure_ascii=False); open(f,'a').write('\n')
