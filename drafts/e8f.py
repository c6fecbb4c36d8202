exec(open('/tmp/edit.py').read())
edit('08c',[
("and compares with samples: \"We observe that steady-state magnetizations are accurately captured, while the one-step delayed correlations show discrepancies of roughly 10% or more, as expected for a first-order `Plefka[t-1,t]` approximation. Yet the housekeeping entropy production is remarkably accurate, which is surprising since it is computed from the delayed correlations.\" It supposes","and finds in samples \"discrepancies of roughly 10% or more, as expected for a first-order `Plefka[t-1,t]` approximation. Yet the housekeeping entropy production is remarkably accurate, which is surprising since it is computed from the delayed correlations.\" It supposes"),
("of low temperatures M. Bal (2023) says \"But even then we would still not be able to cross the AT line and find mean-field solutions at lower temperatures.\" For independent","M. Bal (2023) would \"still not be able to cross the AT line and find mean-field solutions at lower temperatures.\" For independent"),
(" But a number for random weights is none for trained ones; the source says so of its own figure.",""),
("Where a guess was wrong it was mostly wrong about when. Eight tokens","Eight tokens"),
(" In `causal` networks the Gaussian says 7 % too much; with their first token free, which otherwise sees itself alone, 10 % too little.",""),
("(Both want weights of like size, so that $C_{kj}$ is nearly the same for all pairs.)","(Both want weights of like size.)"),
(" Here is why, and what to carry along so that they are not.",""),
("That it takes an antisymmetric part that is kept would be a guess; the claims above say no. Couplings of both signs lose all of the 13 % of that part, and their","That part need not be kept: couplings of both signs lose all of its 13 %, and their"),
("naive variances, in the place of delayed correlations, puts","naive variances, for delayed correlations, puts"),
])
edit('06a',[("(Where they go one way $\\lambda$ can be complex, and what counts is $|1 - \\lambda/2|$: 1.43 on a directed ring of five.)","(Else it is complex, and $|1 - \\lambda/2|$ counts.)"),
("Attention on top was foreseen to bring nothing. After 600 steps it brings nothing (0.0000 ± 0.0001 nats), after 1,200 it lowers the loss by 0.0005 ± 0.0001, where being told lowers it by 0.07; it may go on.","Attention on top was foreseen to bring nothing, and after 600 steps it does; after 1,200 it lowers the loss by 0.0005 ± 0.0001 nats, being told by 0.07."),
(" (ICLR 2020), on biases by kind of edge."," (ICLR 2020)."),("On Zachary's karate club, the usual first example, only two","On Zachary's karate club only two")])
edit('06b',[("This is erratum 24 again, on another problem: a memory is of the past.","This is erratum 24 again."),
("has the least. None is the whole answer. Without a field the exact averages are zero, since up and down are equally likely; each magnetised point is one of two halves, which is why it misses","has the least. None is the whole answer: without a field the exact averages are zero, and each magnetised point is one of two halves, which is why it misses"),
(" The two passes at the top of this section are exact, on chains of any length, and were not trained.",""),
("in a transformer block, said carefully:","in a transformer block:"),("with weights that depend on their places. It does not arrive. On the length","with weights that depend on their places. On the length"),
])
import sys,nbformat,glob,json; sys.path.insert(0,'/work/main/tools')
import course
for p in ("06a","06b","08c"): print(p, course.words(json.load(open(glob.glob(f"/work/main/notebooks/{p}_*")[0]))) )
