from attnlib.course.live.factor_lab import FactorLab, SCENES
for g in ("triangle","ring","everyone"):
    for J in (-1.5,-1,-.7,.3,.5,.7,1,1.5):
        for d in (0,.5): 
            r=FactorLab(g,coupling=J,sweeps=60,damping=d).readout
            print(g,J,d,round(r["error"],3),f"{r['change']:.1e}")
