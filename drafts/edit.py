import json,sys
def edit(page, pairs):
    import glob
    f=glob.glob(f'/work/main/notebooks/{page}*.ipynb')[0]
    nb=json.load(open(f))
    for old,new in pairs:
        hit=0
        for c in nb['cells']:
            s=''.join(c['source'])
            if old in s:
                assert s.count(old)==1
                s=s.replace(old,new); c['source']=s.splitlines(keepends=True); hit+=1
        assert hit==1,(hit,old[:60])
    json.dump(nb,open(f,'w'),indent=1,ensure_ascii=False); open(f,'a').write('\n')
