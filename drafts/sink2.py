import nbformat,glob,torch,matplotlib; matplotlib.use("agg")
nb=nbformat.read(glob.glob("/work/main/notebooks/08c_*")[0],4)
ns={}
import io,contextlib
for i,c in enumerate(nb.cells[:52]):
    if c.cell_type=="code" and "live" not in c.source:
        try:
            with contextlib.redirect_stdout(io.StringIO()): exec(c.source.replace("plt.show()","plt.close()"),ns)
        except Exception as e: print("ERR",i,str(e)[:100])
P=ns["P"]; sink=ns["sink"]; print(P.shape,P.dtype,float(P.sum(-1).mean()))
pi=torch.linalg.matrix_power(sink,200)[0]; print(float(pi.square().sum()*64),float(pi[0]),float(ns["wandering"](sink)/ns["slow"]), float(P[:,0].mean()*64))
