P="/work/tmp/brief/h2_07c.txt"
t=open(P).read()
def sub(a,b,n=1):
    global t
    assert t.count(a)==n,(t.count(a),a[:90])
    t=t.replace(a,b)
sub("@@FIFTH@@","The fifth, that each system drives the next, is what this page tested. With a second reading two hops (7.64) and an induction (7.86) are learned; with one, in as many batches, they are not (7.62, 7.86b; section 9 says what longer training may do). There is no equilibrium in it: states are handed on, not brought to rest.")
sub("*More steps in training.*","*4,000 batches.* That one block does not learn two hops holds for this length. One trial of half steps, four times as long, reads them all (seed 11); five seeds have not been run.\n\n*More steps in training.*")
sub("None of the nine learns two hops in the 4,000 batches that all contestants had; what longer training would do was not asked. But four","None of the nine learns two hops in the 4,000 batches that all had (section 9 has one that had more). But four")
sub("But it differs from the walker in three things, the path, the norm before the mixer and the network, and they have not been taken apart; with the network alone one walker walks of the four that learn.","But path, norm before and network are three changes, not taken apart; with the network alone one of four that learn walks.")
sub("In six of the ten networks that do not walk another head does the second step's work; all six know two hops alone. So the one goes with the other.","In six of the ten that do not walk another head does the second step's work; all six know two hops alone. So the one goes with the other.")
sub("One head of twenty averages over half of them. The others of the first block average more widely, some all keys.","The others of the first block average more widely, some all keys.")
sub("Heads of the second block average a cluster, a fifth to a third of the keys; the places after one state of three are a third.","Heads of the second block, but one of twenty, average a fifth to a third of the keys; the places after one state of three are a third.")
open(P,"w").write(t)
P="/work/tmp/brief/h2_07a.txt"
t=open(P).read()
sub("*Rates, and length.*","*Rates, and length.*")
open(P,"w").write(t)
