import glob,io,time,json,base64
from PIL import Image
ims=[]
for f in sorted(glob.glob('/work/main/notebooks/*.ipynb'))[::4]:
    for c in json.load(open(f))['cells']:
        for o in c.get('outputs',[]):
            d=o.get('data',{}).get('image/png')
            if d: ims.append(base64.b64decode(d))
print(len(ims), sum(map(len,ims)))
for q,m in ((75,2),(75,1),(75,0),(50,1),(50,0),(30,1),(25,2),(20,0),(0,0),(0,1)):
    t=time.process_time(); n=0
    for b in ims:
        im=Image.open(io.BytesIO(b)); o=io.BytesIO(); im.save(o,'WEBP',lossless=True,quality=q,method=m,exact=True); n+=len(o.getvalue())
    print(q,m,round(time.process_time()-t,2),n)
