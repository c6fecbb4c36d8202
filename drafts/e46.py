exec(open('/tmp/edit.py').read())
edit('07a',[
("Races on digits and stories did not decide it, since a linear map reads most digits too. Here","Races on digits and stories did not decide it. Here"),
("Ten spins, pair couplings that are products of contents: what a softmax of products is made for. A coupling that is no product, or a sum over three tokens, would ask another question.",
 "Ten spins, couplings that are products of contents: what a softmax of products is made for. A sum over three tokens would ask another question."),
("hit: 1.04. The plan of this chapter said: exactly to the bound, and that is where one trained with them ends (claim 7.23a)","hit: 1.04. The chapter's plan said: to the bound, where one trained with them ends (7.23a)"),
("A block has to find its couplings in the tokens and has learned all else from examples.","A block has to find its couplings in the tokens."),
("(Three of the eight runs that searched its rate ended at 0.42, a second kind.) A token","A token"),
("nine blind mixers in a block like all others lie within half a per cent of each other, whatever physics they carry: a block without any mixing, a mean, learned weights, a linear map, Gaussian spins, naive and neural mean field, vector spins with one $z$ or with one each. The bare",
 "nine blind mixers in a block like all others, from none at all to naive and neural mean field and vector spins, lie within half a per cent of each other. The bare"),
("Pool behind a norm has more, 15 % after 8,600. That","Pool behind a norm has more, 6 to 15 % after 8,600. That"),
])
