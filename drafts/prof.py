"""prof.py NB: processor time of each code cell, in one process."""
import sys, time, os, io, contextlib
import nbformat
os.environ.setdefault("MPLBACKEND","Agg")
import matplotlib; matplotlib.use("Agg")
nb=nbformat.read(sys.argv[1],4)
space={"__name__":"__main__"}
tot=0; rows=[]
os.chdir(os.path.dirname(os.path.abspath(sys.argv[1])))
for c in nb.cells:
    if c.cell_type!="code": continue
    src=c.source
    src="\n".join(l.replace("%pip","pass #") for l in src.splitlines())
    t=time.process_time(); out=io.StringIO()
    err=None
    with contextlib.redirect_stdout(out):
        try: exec(compile(src,c.id,"exec"),space)
        except Exception as e: err=repr(e)
    d=time.process_time()-t; tot+=d
    rows.append((d,c.id))
    print(f"{d:7.2f} {c.id} {err or ''}",flush=True)
    if "-v" in sys.argv: print(out.getvalue())
print(f"total {tot:.1f}")
