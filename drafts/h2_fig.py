"""shots of one figure: NAME expr-args"""
import sys
sys.path[:0]=["/work/h2","/work/h2/tests","/work/h2/tools"]
import attnlib.course.live as L
from attnlib.course import recorded
from playwright.sync_api import sync_playwright
name,expr,pre=sys.argv[1:4]; acts=sys.argv[4:]
fig=eval(expr,{**vars(L),"recorded":recorded})
html=f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"></head><body style="background:light-dark(#fff,#121212);color-scheme:light dark">{fig.page()}</body></html>'
open("/work/tmp/brief/h2fig/p.html","w").write(html)
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    for w,h,s in ((800,900,"light"),(390,844,"dark")):
        pg=b.new_page(viewport={"width":w,"height":h},color_scheme=s,reduced_motion="reduce")
        pg.on("pageerror",lambda e:print("ERR",e)); pg.on("console",lambda m:print("CON",m.text))
        pg.goto("file:///work/tmp/brief/h2fig/p.html"); pg.wait_for_timeout(600)
        for a in acts: pg.evaluate(a); 
        pg.wait_for_timeout(400)
        pg.locator("[data-live]").screenshot(path=f"/work/tmp/brief/h2fig/{pre}-{w}.png")
        pg.close()
    pg=b.new_page(viewport={"width":760,"height":460},java_script_enabled=False); pg.goto("file:///work/tmp/brief/h2fig/p.html"); pg.screenshot(path=f"/work/tmp/brief/h2fig/{pre}-still.png")
    b.close()
