p='/work/tmp/h1x_07d.txt'; s=open(p).read()
def r(a,b,n=1):
    global s
    assert s.count(a)==n,(s.count(a),a[:90])
    s=s.replace(a,b)
r("At step one two half steps in all heads move less than half of the \"\n      \"weight that half the beta moves.","At step one two half steps in all heads move less than half of the \"\n      \"weight that half the inverse temperature moves.")
r("strings.real, rule, at=0).weights[0] - weights[0]","strings.real, rule, steps=1).weights[0] - weights[0]")
r("ends = {part: torch.stack(","#%%== code cell-24-p1 {\"tags\": [\"proof\"]}\nends = {part: torch.stack(")
r("moved = []\nfor rule in","#%%== code cell-34-f {\"tags\": [\"proof\"]}\nmoved = []\nfor rule in")
open(p,'w').write(s)
