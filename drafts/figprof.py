exec(open("/work/tmp/figtimes.py").read().split("f=sys.argv[1]")[0])
import cProfile,pstats,pickle
f=sys.argv[1]; os.chdir(os.path.dirname(f))
sh=InteractiveShell.instance(); bi.configure_inline_support(sh,"inline"); bi._enable_matplotlib_integration()
P=cProfile.Profile()
g=pt.print_figure
def h(*a,**k):
    P.enable()
    try: return g(*a,**k)
    finally: P.disable()
pt.print_figure=h; bi._enable_matplotlib_integration()
from IPython.core.pylabtools import select_figure_formats
select_figure_formats(sh,["png"])
code=[x for x in json.load(open(f))["cells"] if x["cell_type"]=="code"]
for i,x in enumerate(code):
    with capture_output(): r=sh.run_cell("".join(x["source"]), store_history=False)
pstats.Stats(P).sort_stats("cumtime").print_stats(60)
