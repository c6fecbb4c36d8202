exec(open('/work/tmp/brief/h2_try.py').read())
p="notebooks/"
pg={x.name:x for x in S.pages()}
def r(page,fig,c,keep=None):
    f=S.led_to(S.Sentence(page if "/" in page else p+page,fig,json.dumps(c),"","",0)).readout
    print(page[:4],c,{k:show(v,3) for k,v in f.items() if keep is None or k in keep})
    return f
from attnlib.course.data.stories import VOCABULARY as V
A="02c_hops_and_heads"
for c in ({"hidden":[1]},{"network":0,"hidden":[1]},{"network":0},{}):
    f=r(A,"HopLab",c,())
    print([(V[i],a) for i,a in enumerate(f["answers"]) if a>.01], V[f["answer"]],[V[a[0]] for a in f["follows"]])
D=pg[p+"03a_associative_memory"].figures["DigitRecall"][1]; print({k:v for k,v in D.items() if k!="patterns"})
pat=D["patterns"]
for c in ({"visits":64},{"degree":2,"visits":640},{"degree":2,"stored":3,"digit":0,"cue":pat[0],"visits":640},{"degree":2,"stored":3,"digit":1,"cue":pat[1],"visits":640},{"degree":2,"stored":3,"digit":2,"cue":pat[2],"visits":640},{"degree":2,"stored":4,"digit":0,"cue":pat[0],"visits":640},{"degree":2,"stored":4,"digit":1,"cue":pat[1],"visits":640},{"degree":2,"stored":4,"digit":2,"cue":pat[2],"visits":640},{"degree":2,"stored":4,"digit":3,"cue":pat[3],"visits":640}): r("03a_associative_memory","DigitRecall",c,("sweeps","wrong","found","overlaps","negative"))
for c in ({},{"steps":1},{"step_size":2,"steps":1},{"step_size":2.5,"steps":1},{"step_size":2.5},{"step_size":0.5,"steps":1},{"beta":4,"steps":1},{"steps":8}): r("03b_attention_is_a_gradient_step","BallAndBound",c)
for c in ({"strength":-2,"beta":4,"tokens":[[.2,.1],[.1,.3],[-.2,-.1]]},{"strength":-2,"beta":4},{"strength":2,"beta":4},{"strength":-2,"beta":4,"tokens":[[.5,.1],[.1,.5],[-.4,-.2]]},{"strength":-2,"beta":4,"tokens":[[1,.1],[.1,1],[-.6,-.4]]},{"strength":-2,"beta":4,"tokens":[[.9,.2],[.7,.6],[.5,.8]]}): r("05c_vector_spin_attention","TokensAsFields",c,("series","z"))
ev=[[i,j] for i in range(6) for j in range(i+1,6)]
for c in ({"edges":ev,"coupling":-1.5,"sweeps":59},{"edges":ev,"coupling":-1.5,"sweeps":60},{"edges":ev,"coupling":-1.5,"sweeps":60,"damping":.5},{"edges":ev,"coupling":-1.5,"sweeps":20}): r("06b_beliefs_and_attention","FactorLab",c,("error","change","believed","exact"))
for c in ({"beta":3.125},{"beta":.78125},{"beta":1.5625}): r("07b_one_step_or_many","Denoiser",c,("ratio",))
r("02b_translation","AlignmentFilm",{"run":3,"step":400},("right","spread","aer"))
r("02b_translation","AlignmentFilm",{"run":3,"step":15},("right","spread","aer"))
