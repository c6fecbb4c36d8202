import subprocess,sys,os,re,collections
p=sys.argv[1]; cell=sys.argv[2]
raw=f'/tmp/{p}.raw'
subprocess.run(['/work/tmp/pyspy/bin/py-spy','record','-r','100','-f','raw','-o',raw,'--','/work/main/.venv/bin/python','/work/tmp/runpage.py',__import__('glob').glob(f'/work/main/notebooks/{p}*')[0]],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL)
incl=collections.Counter(); leaf=collections.Counter(); tot=0
for line in open(raw):
    s,n=line.rsplit(" ",1); n=int(n); fr=s.split(";")
    if not any('run_cell' in x for x in fr): continue
    tot+=n
    names=[re.sub(r":\d+\)",")",re.sub(r".*site-packages/","",f)) for f in fr]
    for x in set(names): incl[x]+=n
    leaf[names[-1]]+=n
print(p,tot/100)
for x,n in incl.most_common(150):
    if 0.03*tot<n<.7*tot and ("attnlib" in x or 'print_figure' in x or 'ipython-input' in x or '_find_and_load (' in x or 'matplotlib' in x): print("  %5.2f %s"%(n/100,x))
print("  leaf", [(x[:60],n/100) for x,n in leaf.most_common(12)])
