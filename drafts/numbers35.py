import sys,glob,json,re; sys.path.insert(0,"/work/tmp/t35")
from prose import prose
dry="dry" in sys.argv
def show(f,a,b):
    for x,y in zip(a.splitlines(),b.splitlines()):
        if x!=y:
            ws=[(p,q) for p,q in zip(re.split(r"(?<=[ \n])",x),re.split(r"(?<=[ \n])",y)) if p!=q]
            import difflib
            sm=difflib.SequenceMatcher(None,x,y,autojunk=False)
            for tag,i1,i2,j1,j2 in sm.get_opcodes():
                if tag!="equal": print(f, "...",x[max(0,i1-15):i2+10].replace("\n"," "),"=>",y[max(0,j1-15):j2+10])
for f in sorted(glob.glob("notebooks/*.ipynb")):
    nb=json.load(open(f,encoding="utf-8"))
    for c in nb["cells"]:
        if "generated" in c["metadata"].get("tags",[]): continue
        s="".join(c["source"])
        if c["cell_type"]=="markdown":
            n=prose(s)
        else:
            # strings of claims only
            def one(m):
                q=m[0]
                if "{" in q: return q
                return q[0]+prose(q[1:-1])+q[-1]
            n=s
            for m in list(re.finditer(r"claim\(\"[\d.]+\w?\",\s*(?:r?\"(?:[^\"\\]|\\.)*\"\s*)+",s)):
                old=m[0]; head=re.match(r"claim\(\"[\d.]+\w?\",\s*",old)[0]
                new=head+re.sub(r"\"(?:[^\"\\]|\\.)*\"",lambda q:'"'+prose(q[0][1:-1])+'"',old[len(head):])
                n=n.replace(old,new)
        if n!=s:
            show(f[10:13],s,n); c["source"]=n.splitlines(keepends=True)
        my=c["metadata"].get("mystnb",{})
        for a,b in (("figure","caption"),("image","alt")):
            if b in my.get(a,{}):
                n=prose(my[a][b])
                if n!=my[a][b]: show(f[10:13]+b,my[a][b],n); my[a][b]=n
    if not dry: open(f,"w",encoding="utf-8").write(json.dumps(nb,indent=1,ensure_ascii=False)+"\n")
for f in sorted(glob.glob("book/*.md"))+["README.md","CHANGELOG.md","CONTRIBUTING.md"]:
    if "claims.md" in f: continue
    s=open(f,encoding="utf-8").read(); n=prose(s)
    if n!=s:
        show(f,s,n)
        if not dry: open(f,"w",encoding="utf-8").write(n)
