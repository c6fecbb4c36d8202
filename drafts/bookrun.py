import sys
sys.modules["rfc3987_syntax"] = None
sys.argv=["jupyter-book","build","/work/main","-W","-n","--keep-going","--path-output","/work/tmp/bb"]
from jupyter_book.cli.main import main
main()
