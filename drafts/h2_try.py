"""try PAGE '{"trait":..}' : readout of the page's figure with changes"""
import sys, json
sys.path[:0]=["/work/h2","/work/h2/tests","/work/h2/tools"]
from helpers import sentences as S
def show(v, d=4):
    if isinstance(v,float): return round(v,d)
    if isinstance(v,(list,tuple)): return [show(x,d) for x in v][:24]
    return v
def go(name, fig, *changes):
    for c in changes:
        f=S.led_to(S.Sentence(name,fig,json.dumps(c),"","",0))
        print(name,fig,c)
        for k,v in f.readout.items(): print("   ",k,show(v))
