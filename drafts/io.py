import sys, tempfile, pathlib
sys.path.insert(0,"tests")
from playwright.sync_api import sync_playwright
from helpers import figures, live
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    for row in figures.TABLE:
        c=b.new_context(viewport={"width":800,"height":900}); c.set_default_timeout(8000)
        d=live.Desk(c,pathlib.Path(tempfile.mkdtemp()))
        try:
            s=d.stopped(row,**row.start)
            s.page.wait_for_timeout(300)
            pics=[]
            for w in (400,6000,1000):
                s.page.clock.run_for(w); pics.append(s.box.locator(".card").screenshot())
            tasks=s.box.locator(".tasks .done").count()
            vis=s.box.locator("input[type=range]").evaluate_all("r=>r.filter(x=>x.checkVisibility()).length")
            print(row.name,"moves",pics[0]!=pics[1],"rests",pics[1]==pics[2],"done at start",tasks,"sliders",vis,"tasks",s.box.locator(".tasks, .task").count(),d.wrong[:2],flush=True)
        except Exception as e: print(row.name,str(e)[:150],d.wrong[:3],flush=True)
        c.close()
