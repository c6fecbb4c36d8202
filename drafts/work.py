import sys, tempfile, pathlib, re
sys.path.insert(0,"tests")
from playwright.sync_api import sync_playwright
from helpers import figures, live
src=open("tests/live/test_every_figure.py").read(); WORK=re.search(r'WORK = """(.*?)"""',src,re.S)[1]
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    c=b.new_context(viewport={"width":800,"height":900}); c.set_default_timeout(20000)
    d=live.Desk(c,pathlib.Path(tempfile.mkdtemp()))
    for row in figures.TABLE:
        s=d.show(row,row.start); print(row.name,s.box.evaluate(WORK),d.wrong[:1],flush=True)
