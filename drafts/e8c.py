exec(open('/tmp/edit.py').read())
src=open('/tmp/e9.py').read(); exec(src[src.index("def meta"):src.index("meta('02c'")])
edit('08c',[
("P. Stein's equation, which has a solution only where $GJ$ has its spectral radius below one: so it has, at every temperature.","P. Stein's equation, whose solution is a covariance only where $GJ$ has its spectral radius below one: so it has, wherever there is a state at rest."),
("Naive means have two states there, all up and all down, like a ferromagnet. What have the spins?","Naive means agree on a direction there and keep it for ever, whichever they began with, like a magnet. What do the spins?"),
("The second state of naive means is an artefact.","That naive means keep theirs is an artefact."),
("the order is in the covariances, $C_{ij} \\to 1 - 1/\\beta$, and the direction","the order is in the covariances, $C_{ij} \\to 1 - 1/\\beta$ where tokens are heard about alike, and the direction"),
('''claim("8.124", "Naive means of 64 tokens with softmax couplings at $β = 2$ have two states, of opposite sign.",
      torch.stack([naive[0][:, 0], -naive[1][:, 0]]), above=0.5)
''','''own = torch.Generator().manual_seed(8)
begun = torch.nn.functional.normalize(torch.randn(2, 1, 4, generator=own), dim=-1).expand(2, 64, 4) * 2
kept = begun
for _ in range(500):
    kept = torch.stack([vector_response(P @ m, beta=2.0, gain="limit") for m in kept])
claim("8.124", "Without a drive naive means of 64 tokens with softmax couplings at $β = 2$ keep the direction that "
      "they began with.", kept, expected=begun / 2**0.5, atol=1e-6)
'''),
('"8.125", "Without a drive two of 64 tokens have a covariance of $1 - 1/β$ at $β = 2$, within "\n      "5 %."','"8.125", "Without a drive two of 64 tokens with weights of unit scores have a covariance of $1 - 1/β$ at $β = 2$, "\n      "within 5 %."'),
('''a = quiet.C[1].diagonal() / (P @ quiet.C[0]).diagonal()
slow = 1 - torch.linalg.eigvals(a[:, None] * P).abs().max()
claim("8.126", "The direction of 64 tokens that agree wanders with $1 - ρ(GJ) = 1/(2N(β - 1))$ at "
      "$β = 2$, within 5 %.", slow * 2 * 64, expected=1.0, atol=0.05)
''','''

def wandering(K):
    C = stationary_moments(K, torch.zeros(64, 1), beta=2.0, gain="limit", max_steps=9000).C
    gains = C[1].diagonal() / (K @ C[0]).diagonal()
    return 1 - torch.linalg.eigvals(gains[:, None] * K).abs().max()


slow = wandering(P)
claim("8.126", "The direction of 64 tokens that agree, with weights of unit scores, wanders with "
      "$1 - ρ(GJ) = 1/(2N(β - 1))$ at $β = 2$, within 5 %.", slow * 2 * 64, expected=1.0, atol=0.05)
sink = (P.log() + 4 * (torch.arange(64) == 0)).softmax(-1)
claim("8.126a", "With one of 64 keys raised by a score of 4 the direction wanders over four times as fast.",
      wandering(sink) / slow, above=4.0)
'''),
('''claim("8.127", "Independent couplings of both signs relax at $2β/(1 + \\\\sqrt{1 + 4β^2}) < 1$ at "
      "$β$ = 0.5, 1 and 5: nothing freezes.",''','''claim("8.127a", "Independent couplings of both signs have $ρ(GJ)$ below 1 at $β$ = 0.5, 1 and 5.",
      torch.stack(radii), below=1.0)
claim("8.127b", "Independent couplings of both signs relax at $2β/(1 + \\\\sqrt{1 + 4β^2}) < 1$ at "
      "$β$ = 0.5, 1 and 5, within 0.1.",'''),
("in which the agreement has a direction only for about $2N(\\beta - 1)$ blocks.","in which the agreement has a direction only for about $2N(\\beta - 1)$ blocks where all tokens are heard alike, and for fewer where some are heard more: one sink among 64 leaves a fifth or so (8.126a)."),
("at every temperature (claim 8.127).","at each of three temperatures (claim 8.127a)."),
("Here is how much is lost of each, and where the antisymmetric part is lost too.","Here is how much is lost of each."),
("softmax of unit scores has $N Y_2 = e$.","softmax of unit scores has $N Y_2 = e$. (Both want weights of like size, so that $C_{kj}$ is nearly the same for all pairs.)"),
('''def lost(J, x):
    found = stationary_moments(J, x, beta=0.5, gain="limit")''','''def lost(J, x, beta=0.5):
    found = stationary_moments(J, x, beta=beta, gain="limit")'''),
("made = 0.5 * ((J - J.mT)","made = beta * ((J - J.mT)"),
("Less: sharper weights are larger beside what is lost. Of the entropy production next to nothing is lost. It asks for what is antisymmetric, and $J$ times $C$ is nearly a constant there, since positive weights average the same covariances for each token.","Less, at this spread: sharper weights are larger beside what is lost. Of the entropy production next to nothing is lost. It is one sum, of what is lost times $J - J^T$, and what is lost, a sum over many other tokens, does not know the one coupling that it meets."),
('''table = {"softmax": [], "positive": [], "both signs": []}
''','''table = {"softmax": [], "positive": [], "both signs": [], "unequal": []}
'''),
('''    kinds = (scores.softmax(-1), scores.exp() / 64 / math.e**0.5, scores / 8)
''','''    bias = 2 * torch.randn(64, generator=own)  # of each key
    kinds = (scores.softmax(-1), scores.exp() / 64 / math.e**0.5, scores / 8, (scores + bias).softmax(-1))
'''),
("soft, loose, both = (torch","soft, loose, both, unequal = (torch"),
('''claim("8.129", "Without correlations of equal times 64 tokens lose less than 1 % of their entropy production.",
      soft[2].abs(), below=0.01)
claim("8.130", "Of the antisymmetric part of delayed correlations positive weights lose less than 1.5 %, "
      "whether rows sum to one or not.", torch.stack([soft[3], loose[3]]), below=0.015)
claim("8.131", "Independent couplings of both signs lose over 10 % of the antisymmetric part.",
      both[3], above=0.10)
''','''claim("8.129", "Without correlations of equal times 64 tokens lose under 1 % of their entropy production, with "
      "couplings of both signs, too.", torch.stack([soft[2], loose[2], both[2]]).abs(), below=0.01)
claim("8.130", "Of the antisymmetric part of delayed correlations positive weights of unit scores lose under 1.5 %, "
      "if row sums are one or differ a little.", torch.stack([soft[3], loose[3]]), below=0.015)
claim("8.131", "Couplings of both signs lose over 10 % of the antisymmetric part, weights with a bias of spread 2 on "
      "each key over 4 %.", torch.stack([both[3] / 0.10, unequal[3] / 0.04]), above=1.0)
'''),
("That it takes rows that sum to one would be a guess; the claims above say no. Positive rows of any sum lose as little, couplings of both signs lose all of the 13 %. So the entropy production is right because weights are positive and many.","That it takes an antisymmetric part that is kept would be a guess; the claims above say no. Couplings of both signs lose all of the 13 % of that part, and their entropy production is as right. So it is right because tokens are many: of eight 2 % or so are lost (8.131b)."),
("The entropy production that forgets correlations of one time is right for many small weights, and off by 15 to 39 % for trained heads, whose rows have few large ones: a number for random weights is none for trained ones. The source says so of its own figure.","The short form, $\\beta J_{ij}$ times two naive variances in the place of $C_{ij}(1)$, puts the entropy production off by 15 to 39 % for trained heads and by 8 to 16 % at random. It leaves out three things at once, correlations of one time, gains, and means that are right, and these numbers do not say which counts. But a number for random weights is none for trained ones; the source says so of its own figure."),
('''"8.137", "$βJ$ times variances, in the place''','''"8.137", "$βJ$ times naive variances, in the place'''),
("1. 200 spins: TAP and independent couplings","1. 200 spins: what TAP is off by falls in proportion to one less the symmetry; TAP and independent couplings"),
("hit: 0.16, 8.2, 2.0, 27 %; missed: they cross at 0.7","missed: 8.2, 8.1, 6.9, 4.6, 1.2 %; hit: 0.16, 8.2, 2.0, 27 %; missed: they cross at 0.7"),
("correlated from 1.1 to 1.6 | missed (0.44), hit (0.89, 0.96), missed (0.97) |","correlated from 1.1 to 1.6; with spread 4 lower by 0.1 to 0.4 | missed (0.44), hit (0.89, 0.96), missed (0.97); missed by 0.02 in naive, hit in three |"),
("7. arrow without correlations of one time: trained","7. arrow by $\\beta J$ times naive variances: trained"),
('''"8.139h", "Under noise as large as the state means of a tied block from two strings differ by their sampling "
      "error.", driven.read("tied", "films", "1.0", "law over error").mean(1), atol=0.1,''','''"8.139h", "Under noise as large as the state means of a tied block from two strings differ by their sampling "
      "error, within 1 %.", driven.read("tied", "films", "1.0", "law over error").mean(1), atol=0.01,'''),
("At $\\sigma = 1$ their law forgets the string (claim 8.139h),","At $\\sigma = 1$ their means forget the string (claim 8.139h),"),
('''"the epsilon does.", torch.stack(ratio), expected=torch.ones(3, 5), atol=0.15, key=True)''','''"the epsilon does.", torch.stack(ratio), expected=torch.ones(3, 5), atol=0.015, key=True)'''),
("Leave the correlations of equal times out and delayed ones lose 12 % ([eq. 8.26](#eq-lost)). Trained heads are nearly reversible where what a token looks at looks back.","Leave the correlations of equal times out and delayed ones lose 12 % at $\\beta = ½$, colder more ([eq. 8.26](#eq-lost)). Trained heads in which what a token looks at looks back make two fifths of the entropy that the same weights, dealt by chance, do."),
])
edit('06b',[
('''claim("6.103", "At $n = 400$ state evolution predicts the errors of all "
      "steps, within 4 standard errors.", beyond(400),
      expected=torch.zeros(9), atol=4.0)''','''claim("6.103", "At $n = 400$ forty draws do not tell the errors of any step from those of "
      "state evolution, within 4 standard errors.", beyond(400),
      expected=torch.zeros(9), atol=4.0)'''),
("Then the error of each step is known before it is run.","Then the error of each step is known before it is run, if the signal is long: at $n = 400$ it ends a tenth or so above (claim 6.105a)."),
('''claim("6.78", r"No fixed point of six coupled spins has a larger $\\ln Z$ than the "
      "exact one.", lnz - exact_beliefs(friends).log_partition, below=0)''','''claim("6.78", r"Each of two magnetised fixed points of six strongly coupled spins misses $\\ln 2$ of the "
      r"exact $\\ln Z$.", exact_beliefs(friends).log_partition - lnz[:2], expected=[math.log(2)] * 2, atol=1e-3)'''),
("and the zero, where the messages began, has the least.","and the zero, where the messages began, has the least. None is the whole answer. Without a field the exact averages are zero, since up and down are equally likely; each magnetised point is one of two halves, which is why it misses $\\ln 2$ of $\\ln Z$."),
("in their beliefs: an approximation of the exact answer while [eq. 6.7](#eq-loops-stable) is below one,","in their beliefs: an approximation of the exact answer while [eq. 6.7](#eq-loops-stable) is well below one, half as much again already at 0.8,"),
])
meta('06b',[("State evolution predicts the error of every step before it is run, at both sizes. Without the memory,","State evolution predicts the error of every step before it is run, the better the longer the signal. Without the memory,")])
edit('06a',[
("Take half of the update off, and a mode is multiplied by $1 - \\lambda/2$: the mode of the most negative $\\lambda$ grows. Only a graph with negative $\\lambda$ has such a mode.","Take half of the update off, and a mode is multiplied by $1 - \\lambda/2$. Where edges go both ways $\\lambda$ is real, and only modes of negative $\\lambda$ grow, the most negative fastest. (Where they go one way $\\lambda$ can be complex, and what counts is $|1 - \\lambda/2|$: 1.43 on a directed ring of five.)"),
('''claim("6.25", r"With half of the mean taken off, differences grow by "
      r"$1 - λ_{\\min}/2$ a round.",''','''claim("6.25", r"With half of the mean taken off, differences on a grid grow by "
      r"$1 - λ_{\\min}/2$ a round.",'''),
('''"6.41a", "Told the kind of each pair, attention has a lower loss than a mean, by "
      "over two standard errors."''','''"6.41a", "Told the kind of each pair, attention has a lower loss than a mean after "
      "1,200 steps, by over two standard errors."'''),
('''"6.41b", "Attention in place of a mean lowers the loss by under a fiftieth of "
      "what being told each pair's kind does, with three standard errors."''','''"6.41b", "After 1,200 steps attention in place of a mean lowers the loss by under a "
      "fiftieth of what being told does, with three standard errors."'''),
("It lowers the loss, by 0.0005 ± 0.0001 nats, where being told lowers it by 0.07.","After 600 steps it brings nothing (0.0000 ± 0.0001 nats), after 1,200 it lowers the loss by 0.0005 ± 0.0001, where being told lowers it by 0.07; it may go on."),
("Networks for graphs do this since [Ying and others (2021)](https://arxiv.org/abs/2106.05234).","V. J. Hellendoorn and others (2020) gave heads such numbers for kinds of edges, [Ying and others (2021)](https://arxiv.org/abs/2106.05234) for distances in a graph."),
("on over-smoothing. C. Ying","on over-smoothing. V. J. Hellendoorn and others, *Global Relational Models of Source Code* (ICLR 2020), on biases by kind of edge. C. Ying"),
])
