"""Processor time of the main thread for each move of each figure."""
import json, statistics, sys, re, time
sys.path.insert(0, "tests")
from playwright.sync_api import sync_playwright
from helpers import figures, live
import tempfile, pathlib
FRAME="""async () => { await new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(d)))); }"""
def metrics(wire):
    m={e["name"]:e["value"] for e in wire.send("Performance.getMetrics")["metrics"]}
    return {k:1000*m[k] for k in ("TaskDuration","ScriptDuration","LayoutDuration","RecalcStyleDuration")}
MOVES = """(box) => {
  const root = box.firstChild.shadowRoot, moves = [];
  const name = (part) => (part.ariaLabel ?? part.labels?.[0]?.firstChild.textContent ?? part.textContent).slice(0, 40);
  [...root.querySelectorAll("input[type=range]")].forEach((part, i) => {
    const [low, high] = [Number(part.min), Number(part.max)];
    const was = part.value;
    for (let k = 0; k < 16; k += 1) moves.push(["slide", i, name(part), low + (high - low) * ((k * 7) % 16) / 15]);
    moves.push(["slide", i, "back", Number(was)]);
  });
  [...root.querySelectorAll("button")].forEach((part, i) => { if (!/Copy a link|Play|Run$|Recall|Descend|Reset|Take|Watch|Go/.test(name(part))) moves.push(["click", i, name(part), 0]); });
  [...root.querySelectorAll("[role=slider]:not(input), button.point, button.handle, .handle")].slice(0, 2).forEach((part, i) => {
    for (const key of ["ArrowLeft","ArrowUp","ArrowRight","ArrowDown"]) for (let k=0;k<4;k++) moves.push(["key", i, "key " + (part.ariaLabel||'').split(" at")[0], key]);
  });
  [...root.querySelectorAll("select")].forEach((part, i) => { for (let k = 0; k < Math.min(part.options.length, 6); k += 1) moves.push(["choose", i, "choose " + name(part), k]); });
  return moves;
}"""
DO = """async (box, [how, i, , what]) => {
  const root = box.firstChild.shadowRoot;
  if (how === "slide") { const part = root.querySelectorAll("input[type=range]")[i]; part.value = what; part.dispatchEvent(new Event("input", { bubbles: true })); }
  if (how === "click") root.querySelectorAll("button")[i]?.click();
  if (how === "key") root.querySelectorAll("[role=slider]:not(input), button.point, button.handle, .handle")[i].dispatchEvent(new KeyboardEvent("keydown", { key: what, bubbles: true }));
  if (how === "choose") { const part = root.querySelectorAll("select")[i]; part.selectedIndex = what; part.dispatchEvent(new Event("change", { bubbles: true })); }
  await new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(d))));
}"""
def measure(browser, row, state, folder, reps=1, width=1000):
    d=live.Desk(browser.new_context(viewport={"width":width,"height":900}, reduced_motion="reduce"), folder)
    shown=d.show(row, state)
    wire=d.context.new_cdp_session(d.page); wire.send("Performance.enable", {"timeDomain":"threadTicks"})
    box=shown.box
    d.page.evaluate(FRAME); d.page.wait_for_timeout(400)
    nothing=[]
    for _ in range(8):
        a=metrics(wire); box.evaluate(DO, ["none",0,"",0]); b=metrics(wire); nothing.append(b["TaskDuration"]-a["TaskDuration"])
    base=statistics.median(nothing)
    out=[]
    for _ in range(reps):
        moves=box.evaluate(MOVES)
        for m in moves:
            a=metrics(wire); box.evaluate(DO, m); b=metrics(wire)
            out.append((m[2] if m[0]!="click" else "click", m[2], {k:b[k]-a[k] for k in a}))
        box.evaluate("(box, s) => { for (const [k,v] of Object.entries(s)) box.figure.model.set(k, v); }", state)
    wrong=d.wrong; d.context.close()
    return base,out,wrong
if __name__=="__main__":
    names=sys.argv[1:]
    with sync_playwright() as p:
        b=p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
        for row in figures.TABLE:
            if names and row.name not in names: continue
            folder=pathlib.Path(tempfile.mkdtemp())
            for label,state in [("start",row.start)]+[(f"ext{i}",s) for i,s in enumerate(row.extremes[:1])]+([("draws",row.draws[0])] if row.draws else []):
                base,out,wrong=measure(b,row,state,folder,2 if label=="start" else 1)
                t=[o[2]["TaskDuration"]-base for o in out if o[1]!="back"]
                t2=sorted(t)
                by={}
                for g,n,m in out: by.setdefault(g if g!="click" else "click "+n,[]).append(m["TaskDuration"]-base)
                worst=sorted(((max(v),statistics.median(v),k) for k,v in by.items()),reverse=True)[:4]
                mean=lambda k: statistics.median(o[2][k] for o in out)
                print(f"{row.name:18} {label:6} n={len(t):4} median {statistics.median(t):6.1f} p95 {t2[int(.95*len(t))]:6.1f} worst {t2[-1]:6.1f} | script {mean('ScriptDuration'):.1f} layout {mean('LayoutDuration'):.1f} style {mean('RecalcStyleDuration'):.1f} base {base:.1f} |"," ; ".join(f"{k[:30]} {m:.0f}/{w:.0f}" for w,m,k in worst), wrong[:2], flush=True)
