exec(open('/tmp/edit.py').read())
edit('07a',[
("Pool behind a norm has more, 6 to 15 % after 8,600, as foreseen: dividing by a token's length multiplies its field with its contents before the mean.",
 "Pool behind a norm has more, 6 to 15 % after 8,600. The reason foreseen, that dividing by a token's length multiplies its field with its contents before the mean, was not tested."),
(" The bare layers, with no network behind them, are at 0.70, where $\\tanh h$ is."," Bare layers, with no network, are at 0.70, where $\\tanh h$ is."),
])
