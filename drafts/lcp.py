"""Largest paint on the slow-4G profile on every page, at 390."""
import sys, json, pathlib, threading, functools, http.server, gzip, re
sys.path.insert(0,"/work/main/tests"); sys.path.insert(0,"/work/main/tools")
import os; os.chdir("/work/main")
from playwright.sync_api import sync_playwright
from helpers.slow_line import LATENCY, RATE
print("latency",LATENCY,"rate",RATE)
H=pathlib.Path("/work/fresh/_build/html")
class Q(http.server.SimpleHTTPRequestHandler):
    protocol_version="HTTP/1.1"
    def __init__(self,*a,**k): super().__init__(*a,directory=str(H),**k)
    def log_message(self,*a): pass
    def do_GET(self):
        f=pathlib.Path(self.translate_path(self.path)); 
        if f.is_dir(): f=f/"index.html"
        st=200 if f.is_file() else 404
        d=f.read_bytes() if st==200 else b""
        k=self.guess_type(str(f)); self.send_response(st); self.send_header("Content-Type",k)
        if re.search(r"text|script|json|svg",k): d=gzip.compress(d,6); self.send_header("Content-Encoding","gzip")
        self.send_header("Content-Length",str(len(d))); self.end_headers(); self.wfile.write(d)
srv=http.server.ThreadingHTTPServer(("127.0.0.1",0),Q); threading.Thread(target=srv.serve_forever,daemon=True).start()
base=f"http://127.0.0.1:{srv.server_port}/"
pages=sorted(p.relative_to(H) for p in list((H/"notebooks").glob("*.html"))+list((H/"book").glob("*.html")))
with sync_playwright() as p:
    b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
    for page in pages:
        c=b.new_context(viewport={"width":390,"height":844}); t=c.new_page()
        t.add_init_script("window.lcp=[]; new PerformanceObserver(l=>{for(const e of l.getEntries()) window.lcp.push([e.startTime,e.size,e.element?e.element.tagName+'.'+e.element.className:'?'])}).observe({type:'largest-contentful-paint',buffered:true})")
        line=c.new_cdp_session(t); line.send("Network.enable"); line.send("Network.setCacheDisabled",{"cacheDisabled":True})
        line.send("Network.emulateNetworkConditions",{"offline":False,"downloadThroughput":RATE,"uploadThroughput":84375,"latency":1000*LATENCY})
        t.goto(base+str(page),wait_until="load"); t.wait_for_timeout(2500)
        l=t.evaluate("window.lcp"); fcp=t.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        print(page, round(fcp/1000,2), [(round(a/1000,2),s,e[:30]) for a,s,e in l][-2:], flush=True)
        c.close()
