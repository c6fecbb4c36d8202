exec(open("/work/tmp/figtimes.py").read().split("wrap(pt")[0].replace("acc=","acc_="))
f=sys.argv[1]; os.chdir(os.path.dirname(f))
sh=InteractiveShell.instance(); bi.configure_inline_support(sh,"inline"); bi._enable_matplotlib_integration()
code=[x for x in json.load(open(f))["cells"] if x["cell_type"]=="code"]
for i,x in enumerate(code):
    with capture_output(): r=sh.run_cell("".join(x["source"]), store_history=False)
