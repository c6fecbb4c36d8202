import sys,pypdfium2,functools,threading,http.server
from playwright.sync_api import sync_playwright
h=functools.partial(http.server.SimpleHTTPRequestHandler,directory='/work/main/_build/html')
class Q(http.server.SimpleHTTPRequestHandler):
    def log_message(self,*a): pass
s=http.server.ThreadingHTTPServer(('127.0.0.1',0),functools.partial(Q,directory='/work/main/_build/html')); threading.Thread(target=s.serve_forever,daemon=True).start()
with sync_playwright() as p:
    import glob,shutil
    exe=shutil.which('chromium-headless-shell') or shutil.which('chromium')
    b=p.chromium.launch(executable_path=exe); pg=b.new_page(viewport={'width':390,'height':844},color_scheme='dark')
    pg.goto(f'http://127.0.0.1:{s.server_port}/{sys.argv[1]}'); pg.wait_for_load_state('networkidle'); pg.wait_for_timeout(4000)
    pdf=pg.pdf(format="A4", prefer_css_page_size=True, print_background=True)
open('/tmp/p.pdf','wb').write(pdf)
paper=pypdfium2.PdfDocument(pdf); W=paper.get_page_size(0)[0]
for k,sheet in enumerate(paper):
    t=sheet.get_textpage()
    for n in range(t.count_rects()):
        r=t.get_rect(n)
        if r[2]>W-28 and t.get_text_bounded(*r).strip(): print(k,[round(x) for x in r],repr(t.get_text_bounded(*r))[:100])
