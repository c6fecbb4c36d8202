exec(open("/work/tmp/figtimes.py").read().split("f=sys.argv[1]")[0])
import cProfile
f=sys.argv[1]; os.chdir(os.path.dirname(f))
sh=InteractiveShell.instance(); bi.configure_inline_support(sh,"inline"); bi._enable_matplotlib_integration()
P=cProfile.Profile(time.process_time)
code=[x for x in json.load(open(f))["cells"] if x["cell_type"]=="code"]
P.enable()
for i,x in enumerate(code):
    with capture_output(): r=sh.run_cell("".join(x["source"]), store_history=False)
P.disable()
P.dump_stats("/work/tmp/prof/"+os.path.basename(f)[:3]+".prof")
print(os.path.basename(f), {k:round(v,2) for k,v in acc.items()})
