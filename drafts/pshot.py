"""pshot.py PAGE OUT WIDTH SCHEME TEXT [dy]: a viewport around the element that holds TEXT"""
import sys
from playwright.sync_api import sync_playwright
page,out,w,scheme,text=sys.argv[1:6]; dy=int(sys.argv[6]) if len(sys.argv)>6 else -150
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    c=b.new_context(viewport={"width":int(w),"height":1000},color_scheme=scheme)
    pg=c.new_page(); pg.goto(f"file:///work/main/_build/html/{page}.html"); pg.wait_for_timeout(1500)
    e=pg.get_by_text(text).first; y=e.evaluate("e=>e.getBoundingClientRect().top+scrollY")
    pg.evaluate(f"window.scrollTo(0,{y}+({dy}))"); pg.wait_for_timeout(400)
    pg.screenshot(path=out); b.close()
