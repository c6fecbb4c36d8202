"""shot2.py PAGE OUT [width] [dark|light] [root] [full]"""
import sys
from playwright.sync_api import sync_playwright
page, out = sys.argv[1:3]
width = int(sys.argv[3]) if len(sys.argv) > 3 else 1280
theme = sys.argv[4] if len(sys.argv) > 4 else "light"
root = sys.argv[5] if len(sys.argv) > 5 else "/tmp/site"
with sync_playwright() as p:
    b = p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    g = b.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    g.goto(f"file://{root}/{page}.html"); g.wait_for_timeout(2500)
    h = g.evaluate("document.documentElement.scrollHeight")
    for y in range(0, h, 700): g.evaluate(f"scrollTo(0,{y})"); g.wait_for_timeout(120)
    g.evaluate("scrollTo(0,0)"); g.wait_for_timeout(300)
    g.screenshot(path=out, full_page=True); print(h)
