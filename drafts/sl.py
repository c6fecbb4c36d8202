from attnlib.course.live import SpinLab
for k in ("friends","ring","rivals","glass"):
    for g in (.8,1.2,1.6,2.0): print(k,g,[round(e,3) for e in SpinLab(strength=g,kind=k).readout["errors"]], SpinLab(strength=g,kind=k).readout["frustrated"])
