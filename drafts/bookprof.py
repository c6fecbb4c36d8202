import sys, cProfile, time
sys.modules["rfc3987_syntax"] = None
sys.argv=["jupyter-book","build","/work/main","-W","-n","--keep-going","--path-output","/work/tmp/bb"]
P=cProfile.Profile(time.process_time)
P.enable()
try:
    from jupyter_book.cli.main import main
    main()
except SystemExit as e: print("exit",e.code)
P.disable(); P.dump_stats("/work/tmp/prof/book.prof")
