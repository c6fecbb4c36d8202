exec(open('/tmp/edit.py').read())
edit('07a',[
(" One run in five of four tied steps is three times as bad as the others at $\\lambda = 1$.",""),
("6 to 15 % after 8,600. That had been foreseen: dividing","6 to 15 % after 8,600, as foreseen: dividing"),
("in a bottleneck that more steps of its solver pass ([page 4b](04b_deep_implicit_attention.ipynb), section 6).","in a bottleneck that more steps of its solver pass ([page 4b](04b_deep_implicit_attention.ipynb), section 6). Its fresh seeds at 0.1 have not been run; in the search it errs by 0.118."),
])
