exec(open('/work/tmp/brief/h2_try.py').read())
p="notebooks/"
def r(page,fig,c,keep=None):
    f=S.led_to(S.Sentence(page if "/" in page else p+page,fig,json.dumps(c),"","",0)).readout
    print(page[:4],c,{k:show(v,3) for k,v in f.items() if keep is None or k in keep})
for c in ({},{"fields":[1,1]},{"fields":[0,0],"beta":4},{"rule":"printed"}): r("05a_vector_spin_free_energy","SaddleExplorer",c,("z","common","free_energy","left"))
for c in ({},{"beta":1},{"beta":.4},{"fields":[0,1]},{"fields":[1,0]}): r("05b_where_z_sticks","SaddleExplorer",c,("z","common","m"))
for c in ({},{"couplings":"fixed"},{"strength":2},{"strength":-2,"beta":.4},{"strength":0}, {"strength":2,"tokens":[[2,.4],[1.6,.9],[-1.4,-.8]]},{"strength":-2,"beta":.4,"tokens":[[.2,.1],[.1,.3],[-.2,-.1]]}): r("05c_vector_spin_attention","TokensAsFields",c)
for c in ({},{"beta":1},{"beta":.05},{"beta":0.001}): r("06a_attention_on_graphs","GraphLab",c,("neighbours","weights","effective","spread"))
for c in ({"sweeps":5},{"sweeps":4},{"edges":[[0,1],[1,2],[0,2],[2,3],[3,4],[4,5]],"sweeps":60}): r("06b_beliefs_and_attention","FactorLab",c,("error","change","loops"))
from attnlib.course.live.factor_lab import SCENES; print(SCENES)
from attnlib.course.live.context_lab import SCENES; print(SCENES)
for c in ({},{"share":.01},{"share":1},{"context":5}): r("07a_one_block_many_mixers","ContextLab",c,("error","floor","lines"))
from attnlib.course.live.denoiser import SCENES; print(SCENES)
for c in ({},{"steps":4},{"steps":4,"half":True},{"beta":3},{"beta":.8},{"beta":10},{"beta":6.25}): r("07b_one_step_or_many","Denoiser",c,("errors","bayes","ratio"))
for c in ({},{"steps":3},{"steps":8},{"network":1,"steps":3},{"network":1},{"tie":True},{"tie":True,"steps":3},{"beta":.5}): r("07c_collectives_of_spins","Walker",c,("right","answers","home","path","order","profile"))
