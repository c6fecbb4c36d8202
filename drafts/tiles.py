"""Screenshots of every page, whole, cut into tiles that can be looked at: tiles.py [part of a name]"""
import sys, pathlib, math
from PIL import Image
from playwright.sync_api import sync_playwright
Image.MAX_IMAGE_PIXELS=None
H=pathlib.Path("/work/fresh/_build/html"); OUT=pathlib.Path("/work/tmp/tiles")
MODES=((390,"dark"),(1280,"light")) if "second" not in sys.argv else ((390,"light"),(1280,"dark"))
skip=("claims.html","genindex","search","_static","404")
pages=sorted(p for p in H.rglob("*.html") if not any(s in str(p) for s in skip) and p!=H/"index.html")
want=[a for a in sys.argv[1:] if a!="second"] 
pages=[p for p in pages if not want or any(w in p.name for w in want)]
import http.server, threading, functools
class Q(http.server.SimpleHTTPRequestHandler):
    def log_message(self,*a): pass
srv=http.server.ThreadingHTTPServer(("127.0.0.1",0),functools.partial(Q,directory=str(H)))
threading.Thread(target=srv.serve_forever,daemon=True).start()
base=f"http://127.0.0.1:{srv.server_port}/"
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    for page in pages:
        for w,scheme in MODES:
            stem=f"{page.stem}-{w}-{scheme}"
            if list(OUT.glob(stem+"-*.png")): continue
            c=b.new_context(viewport={"width":w,"height":900},color_scheme=scheme,reduced_motion="reduce")
            t=c.new_page(); t.goto(base+str(page.relative_to(H)),wait_until="load")
            t.wait_for_timeout(1500)
            h=t.evaluate("document.documentElement.scrollHeight")
            for y in range(0,h,800):
                t.evaluate(f"scrollTo(0,{y})"); t.wait_for_timeout(60)
            t.wait_for_timeout(1200)
            h=t.evaluate("document.documentElement.scrollHeight")
            shots=[]
            step=7800 if w==390 else 5000
            # tall pictures in pieces, by a viewport as high as the piece
            t.set_viewport_size({"width":w,"height":900})
            t.evaluate("scrollTo(0,0)")
            f=OUT/"whole.png"
            t.add_style_tag(content="*{transition:none!important}"); t.wait_for_timeout(800); t.screenshot(path=str(f),full_page=True,timeout=200000)
            im=Image.open(f).convert("RGB")
            if w==390: cols,ch,sc=4,1560,1
            else: cols,ch,sc=2,2400,.61
            n=math.ceil(im.height/ch)
            for k in range(0,n,cols):
                parts=[im.crop((0,(k+i)*ch,w,min(im.height,(k+i+1)*ch))) for i in range(cols) if (k+i)*ch<im.height]
                o=Image.new("RGB",(len(parts)*(w+8),ch),(200,0,200))
                for i,q in enumerate(parts): o.paste(q,(i*(w+8),0))
                if sc!=1: o=o.resize((int(o.width*sc),int(o.height*sc)),Image.LANCZOS)
                o.save(OUT/f"{stem}-{k//cols:02d}.png")
            c.close()
        print(page.stem,flush=True)
