import json,sys,subprocess,glob,difflib
rev=sys.argv[1]
for p in sys.argv[2:]:
    f=glob.glob(f'/work/main/notebooks/{p}*.ipynb')[0]
    old=json.loads(subprocess.run(['git','-C','/work/main','show',f'{rev}:notebooks/'+f.split('/')[-1]],capture_output=True,text=True).stdout)
    new=json.load(open(f))
    t=lambda nb:[l for c in nb['cells'] for l in (['#### '+c['id']]+''.join(c['source']).split('\n'))]
    for l in difflib.unified_diff(t(old),t(new),n=1,lineterm=''): print(l[:700])
