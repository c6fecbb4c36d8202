import glob, sys
from playwright.sync_api import sync_playwright
JS="""() => [...document.querySelectorAll('article [data-live]')].map(figure => {
  const drawings=[...figure.querySelectorAll('svg, canvas')].filter(d=>d.checkVisibility()&&d.getBoundingClientRect().width>60);
  const texts=[...figure.querySelectorAll('*')].filter(e=>!e.closest('svg')&&!e.querySelector('svg,canvas')&&e.checkVisibility()&&[...e.childNodes].some(n=>n.nodeType===3&&n.data.trim()));
  const hits=[];
  for(const d of drawings){const a=d.getBoundingClientRect();
    for(const t of texts){ const r=document.createRange(); r.selectNodeContents(t); const b=r.getBoundingClientRect();
      const w=Math.min(a.right,b.right)-Math.max(a.left,b.left), h=Math.min(a.bottom,b.bottom)-Math.max(a.top,b.top);
      if(w>2&&h>2) hits.push(t.textContent.trim().slice(0,40)+' '+Math.round(w)+'x'+Math.round(h)); } }
  const edge=figure.getBoundingClientRect().right; const wide=drawings.filter(d=>d.getBoundingClientRect().right>edge+1).length;
  return [figure.dataset.live, drawings.length, texts.length, hits, wide]; })"""
root=sys.argv[1]
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell"); g=b.new_page(viewport={"width":1280,"height":900})
    for f in sorted(glob.glob(root+"/notebooks/*.html"))+[root+"/book/index.html"]:
        g.set_viewport_size({"width":1280,"height":900}); g.emulate_media(media="screen")
        g.goto("file://"+f); g.wait_for_timeout(800)
        for y in range(0,6000,800): g.evaluate(f"scrollTo(0,{y})"); g.wait_for_timeout(60)
        screen=g.evaluate(JS)
        g.emulate_media(media="print"); g.set_viewport_size({"width":690,"height":900}); g.evaluate("dispatchEvent(new Event('beforeprint'))"); g.wait_for_timeout(400)
        out=g.evaluate(JS)
        for s,o in zip(screen,out): print(f.split('/')[-1][:12], o[0], o[1:3], "PRINT:", o[3][:6], "wide",o[4], "| screen:", s[3][:3])
