exec(open('/work/tmp/brief/h2_try.py').read())
p="notebooks/"
def r(page,fig,c,keep=None):
    f=S.led_to(S.Sentence(page if "/" in page else p+page,fig,json.dumps(c),"","",0)).readout
    print(page[:4],c,{k:show(v,3) for k,v in f.items() if keep is None or k in keep})
for b in (8,4,2,1.5,1.2,1.1,1.05,1,.9,.5): r("03c_flatland","Flatland",{"beta":b},("rest","sharing"))
for b in (1.2,1,.6,.5,.4,.3,.25,.2): r("book/hour","Flatland",{"beta":b},("rest","sharing"))
for c in ({},{"steps":10}): r("03d_energy_attention","Flatland",c,("sharing","outputs","rest"))
for c in ({},{"strength":2},{"strength":1.2},{"strength":1.6},{"kind":"rivals","strength":1.2},{"kind":"friends","strength":2},{"kind":"rivals","strength":2}): r("04a_mean_field_tap","SpinLab",c,("errors","exact"))
for c in ({},{"scale":0.95},{"scale":1},{"scale":1.02},{"step":1.5},{"scale":1.02,"step":.5},{"step":0.5}): r("04b_deep_implicit_attention","Iteration",c,("rate","measured","longest","evaluations"))
for s in (0,2,6,10,20,30,40,60,100,200,300,1000): r("04c_one_spin_reads_digits","CouplingsFilm",{"step":s},("right","mode","class","near","far","strongest"))
