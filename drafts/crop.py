"""crop.py PAGE WIDTH SCHEME SELECTOR OUT"""
import sys; from playwright.sync_api import sync_playwright
page,w,scheme,sel,out=sys.argv[1:6]
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    c=b.new_context(viewport={"width":int(w),"height":900},color_scheme=scheme,reduced_motion="reduce")
    t=c.new_page(); t.goto("file:///work/fresh/_build/html/"+page); t.wait_for_timeout(2500)
    t.locator(sel).first.scroll_into_view_if_needed(); t.wait_for_timeout(500); t.screenshot(path=out)
    print(t.evaluate("document.documentElement.scrollWidth"))
