"""shot.py KIND [json state] -> png at 1280/390 light/dark"""
import sys, json, pathlib, tempfile
sys.path.insert(0,"tests")
from playwright.sync_api import sync_playwright
from helpers import figures, live
names=sys.argv[1].split(",")
out=pathlib.Path("/work/tmp/h3t/png"); out.mkdir(exist_ok=True)
state=json.loads(sys.argv[2]) if len(sys.argv)>2 and sys.argv[2] else None
more="more" in sys.argv[3:]
pre=sys.argv[4] if len(sys.argv)>4 else ""
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    for name in names:
        row=next(r for r in figures.TABLE if r.name==name)
        for w,scheme in ((1280,"light"),(390,"light"),(390,"dark")):
            c=b.new_context(viewport={"width":w,"height":1000},color_scheme=scheme,reduced_motion="reduce")
            d=live.Desk(c,pathlib.Path(tempfile.mkdtemp()))
            c.set_default_timeout(6000)
            s=d.show(row,row.start if state is None else state)
            s.page.wait_for_timeout(300)
            if d.wrong: print(name,d.wrong); sys.exit()
            if more:
                for m in s.button("More").all(): m.click()
                s.page.wait_for_timeout(300)
            s.box.locator(".card").screenshot(path=str(out/f"{pre}{name}-{w}-{scheme}.png"))
            if d.wrong: print(name,d.wrong)
            c.close()

    from PIL import Image
    for name in names:
        a=[Image.open(out/f"{pre}{name}-{x}.png") for x in ("1280-light","390-light","390-dark")]
        o=Image.new("RGB",(sum(i.width for i in a)+20,max(i.height for i in a)),"white"); x=0
        for i in a: o.paste(i,(x,0)); x+=i.width+10
        o.save(out/f"{pre}{name}.png")
