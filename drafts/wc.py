import sys,json,re
sys.path.insert(0,'/work/main/tools')
import course,glob,pathlib
nb=course.read(pathlib.Path(glob.glob(f'/work/main/notebooks/{sys.argv[1]}*.ipynb')[0]))
out=[]
for c in nb.cells:
    if c.cell_type=="markdown" and not course.has_tag(c,"generated"):
        n=len(re.findall(r"[^\W\d_][\w'\u2019-]*", course._TAG_OR_TARGET.sub(" ", course._MATH_OR_CODE.sub(" ", c.source))))
        if n>40: out.append((c.id,n))
print(out)
