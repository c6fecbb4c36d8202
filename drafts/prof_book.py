import cProfile,pstats,sys
sys.argv=["jupyter-book","build",".","-W","-n","--keep-going","--path-output","/work/tmp/bprof","-q"]
from jupyter_book.cli.main import main
p=cProfile.Profile(); p.enable()
try: main()
except SystemExit as e: print(e)
p.disable(); p.dump_stats("/work/tmp/book.prof")
