import sys
from pathlib import Path
from playwright.sync_api import sync_playwright
page_name, pre = sys.argv[1:3]
site=Path("/work/h2/_build/html")
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    for w,h in ((1280,900),(390,844)):
        pg=b.new_page(viewport={"width":w,"height":h},color_scheme="light")
        pg.goto((site/"notebooks"/page_name).as_uri(),wait_until="load"); pg.wait_for_timeout(1500)
        pg.screenshot(path=f"/work/tmp/brief/h2fig/{pre}-{w}-top.png")
        n=pg.evaluate("document.querySelectorAll('.bd-article figure').length"); print(w,"figures",n, "overflow",pg.evaluate("document.documentElement.scrollWidth"))
        for i in range(n):
            try:
                f=pg.locator(".bd-article figure").nth(i); f.scroll_into_view_if_needed(timeout=4000); pg.wait_for_timeout(300)
                f.screenshot(path=f"/work/tmp/brief/h2fig/{pre}-{w}-f{i}.png",timeout=8000)
            except Exception as e: print(i,str(e)[:80])
        wide=pg.evaluate("""()=>[...document.querySelectorAll('.bd-article table, .bd-article pre, .bd-article .math')].filter(e=>e.scrollWidth>e.clientWidth+2).map(e=>[e.tagName,e.scrollWidth,e.clientWidth,e.textContent.slice(0,40)])""")
        print(w,"scrolls:",wide)
        pg.close()
    b.close()
