exec(open('/work/tmp/brief/h2_try.py').read())
p="notebooks/"
pg={x.name:x for x in S.pages()}
st=lambda n,f: {k:v for k,v in pg[n].figures[f][1].items() if k not in("record","film")}
for x in S.pages():
    for f in x.figures: print(x.name,f,{k:(show(v) if not isinstance(v,dict) else '..') for k,v in x.figures[f][1].items()})
go(p+"02b_translation","AlignmentFilm",{},{"step":0},{"step":400},{"run":2,"step":2000},{"run":0,"step":400})
go(p+"02c_hops_and_heads","HopLab",{},{"network":0})
go(p+"03a_associative_memory","DigitRecall",{})
