P="/work/tmp/brief/h2_07c.txt"
t=open(P).read()
def sub(a,b,n=1):
    global t
    assert t.count(a)==n,(t.count(a),a[:90])
    t=t.replace(a,b)
row="| 42. with the path alone (commit 9f68ded) four of five learn two hops, none walks | hit: four, none |\n"
sub(row,"")
a="| 36. who passes .95 falls below .5 with means by half | hit: .27 |\n"
sub(a,a+row)
sub("kept = hops.measured(\"walker with a residual path, 2 steps\"","#%%== code cell-21-a {\"tags\": [\"proof\"]}\nkept = hops.measured(\"walker with a residual path, 2 steps\"")
sub("What makes a sign, and what tires a walk, was not looked at.","What makes a sign was not looked at.")
open(P,"w").write(t)
