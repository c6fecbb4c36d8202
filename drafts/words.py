import sys,glob
sys.path.insert(0,'/work/main/tools'); sys.path.insert(0,'/work/main')
import course
for p in sorted(glob.glob(sys.argv[2] if len(sys.argv)>2 else 'notebooks/'+sys.argv[1]+'*.ipynb')): print(p[-30:], course.words(course.read(__import__('pathlib').Path(p))))
