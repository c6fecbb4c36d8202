from playwright.sync_api import sync_playwright
from pathlib import Path
site=Path("/work/h2/_build/html")
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    for w,s,page in ((1280,"light","04b_deep_implicit_attention"),(390,"dark","04a_mean_field_tap"),(390,"light","05a_vector_spin_free_energy")):
        pg=b.new_page(viewport={"width":w,"height":844},color_scheme=s)
        pg.goto((site/"notebooks"/f"{page}.html").as_uri(),wait_until="load"); pg.wait_for_timeout(1500)
        pg.locator("button.sets").nth(1 if w==390 else 0).evaluate("b=>b.scrollIntoView({block:'center',behavior:'instant'})"); pg.wait_for_timeout(500)
        pg.screenshot(path=f"/work/tmp/brief/h2fig/page-{w}-{page[:3]}.png")
    b.close()
