exec(open('/work/tmp/brief/h2_try.py').read())
p="notebooks/"
pg={x.name:x for x in S.pages()}
A=pg[p+"02b_translation"].figures["AlignmentFilm"][1]
print([(r["hidden"],r["score"],r["seed"],r["steps"],max(r["spread"]),r["at"][r["spread"].index(max(r["spread"]))]) for r in A["record"]["runs"]])
V=pg[p+"02c_hops_and_heads"].figures["HopLab"][1]["record"]["vocabulary"]; print(V)
for c in ({"hidden":[1]},{"network":0,"hidden":[1]},{"network":0},{}):
    f=S.led_to(S.Sentence(p+"02c_hops_and_heads","HopLab",json.dumps(c),"","",0)).readout
    print(c,V[f["answer"]],f["answers"][f["answer"]],[ [V[a[0]]]+a[1:] for a in f["follows"]])
D=pg[p+"03a_associative_memory"].figures["DigitRecall"][1]; print({k:v for k,v in D.items() if k!="patterns"}, len(D["patterns"]), D["patterns"])
for c in ({"visits":64},{"visits":0,"degree":"2"},{"visits":128,"degree":"2"},{"visits":64,"degree":"2"},{"visits":192,"degree":"2"},{"visits":64,"degree":"3"},{"visits":192,"degree":"3"}):
    try:
        f=S.led_to(S.Sentence(p+"03a_associative_memory","DigitRecall",json.dumps(c),"","",0)).readout; print(c,{k:show(v) for k,v in f.items() if k not in("orders","energies","turned")})
    except Exception as e: print(c,repr(e)[:200])
for c in ({},{"steps":1},{"step_size":2,"steps":1},{"step_size":2.5,"steps":1},{"step_size":0.5,"steps":1},{"beta":4,"steps":1},{"steps":8}):
    f=S.led_to(S.Sentence(p+"03b_attention_is_a_gradient_step","BallAndBound",json.dumps(c),"","",0)).readout; print(c,{k:show(v) for k,v in f.items()})
