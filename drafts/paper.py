import sys, tempfile, pathlib, re
sys.path.insert(0,"tests")
from playwright.sync_api import sync_playwright
from helpers import figures, live
src=open("tests/live/test_every_figure.py").read(); COVERED=re.search(r'COVERED = """(.*?)"""',src,re.S)[1]
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    c=b.new_context(viewport={"width":1280,"height":900}); c.set_default_timeout(20000)
    d=live.Desk(c,pathlib.Path(tempfile.mkdtemp()))
    for row in figures.TABLE:
        try:
            d.page.emulate_media(media="screen"); d.page.set_viewport_size({"width":1280,"height":900})
            s=d.show(row,row.start); d.page.evaluate(live.NEXT_FRAME)
            a=s.box.evaluate(COVERED, row.beyond)
            d.page.evaluate("window.requestAnimationFrame = () => 0"); d.page.emulate_media(media="print"); d.page.set_viewport_size({"width":690,"height":900})
            z=s.box.evaluate(COVERED, row.beyond)
            print(row.name,"screen",a[0],a[1][:2],"paper",z[0],z[1][:3],d.wrong[:1],flush=True)
        except Exception as e: print(row.name,str(e)[:300],flush=True)
