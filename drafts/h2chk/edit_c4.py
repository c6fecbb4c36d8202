P="/work/tmp/brief/h2_07c.txt"
t=open(P).read()
def sub(a,b,n=1):
    global t
    assert t.count(a)==n,(t.count(a),a[:90])
    t=t.replace(a,b)
sub("**Of nine kinds of block that are applied once none learns where two hops lead. Applied twice most do, and of fifteen walkers, whose state is what they read last, five then walk as many hops as they take steps, though they were shown two and no others.","**Of nine kinds of block applied once none learns in 4,000 batches where two hops lead. Applied twice most do, and five of fifteen walkers then walk as many hops as they take steps, though they were shown two alone.")
sub("The course on one sheet: what a transformer has on the left, what physics calls it on the right, and between two rows what leads to the next.","The course on one sheet, what a transformer has on the left, what physics calls it on the right.")
sub("missed by energy (.55 and .96 in two seeds) and half steps (.92 in one), whose rates were the lowest of several that tied in the search, and by learned places (.95 in two); hit by the other seven |","missed by energy (.55, .96 in two seeds) and half steps (.92 in one), whose rates tied with others in the search, and by learned places (.95 in two); hit by the other seven |")
sub("each part has its counterpart, and the layer is what coupled spins answer to fields.","the layer is what coupled spins answer to fields.")
sub("(over .1 was foreseen; missed in three of five)","(missed in three of five)")
sub("It is as if the state were a walker's with its sign turned over, and the second step turned it back: an antiferromagnet's order, whose sign alternates from site to site, here from step to step.","As if the state were a walker's with its sign turned over, and the second step turned it back: an antiferromagnet's order, from step to step in place of site to site.")
sub("an induction (7.86) are learned; with one, in as many batches, they are not (7.62, 7.86b; section 9 says what longer training may do). There is no equilibrium in it: states are handed on, not brought to rest.","an induction (7.86) are learned; with one, in as many batches, they are not (7.62, 7.86b; but see section 9). States are handed on, not brought to rest.")
sub("and what works on this page has no place in equilibrium: a map from what was read to what is asked next.","and a map from what was read to what is asked next has no place in equilibrium.")
sub("and have nothing","and have nothing",0)
open(P,"w").write(t)
