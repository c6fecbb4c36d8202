import sys, tempfile, pathlib
sys.path.insert(0,"tests")
from playwright.sync_api import sync_playwright
from helpers import figures, live
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    c=b.new_context(viewport={"width":800,"height":900},reduced_motion="reduce"); c.set_default_timeout(20000)
    d=live.Desk(c,pathlib.Path(tempfile.mkdtemp()))
    for row in figures.TABLE:
        try:
            s=d.show(row,row.start,row.extremes[0]); s.is_right(); s.next().is_right()
            tab=tuple(n[:len(t)] if t.endswith(",") else n for n,t in zip(s.reached(len(row.tab)),row.tab))
            print(row.name,"right",tab==row.tab or [x for x in zip(tab,row.tab) if x[0]!=x[1]][:3],s.sticking_out()[:2],d.wrong[:2],flush=True)
        except Exception as e: print(row.name,"FAIL",type(e).__name__,str(e)[:300],d.wrong[:3],flush=True)
        d.wrong.clear()
