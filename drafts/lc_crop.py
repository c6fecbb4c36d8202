import sys
from PIL import Image
# lc_crop.py out scale  file x0 y0 x1 y1 [file ...]
out=sys.argv[1]; sc=float(sys.argv[2]); a=sys.argv[3:]
ims=[]
for i in range(0,len(a),5):
    im=Image.open('/work/tmp/tiles/'+a[i]+'.png').crop(tuple(int(v) for v in a[i+1:i+5]))
    ims.append(im.resize((int(im.width*sc),int(im.height*sc)),Image.LANCZOS))
W=sum(i.width+10 for i in ims);H=max(i.height for i in ims)
o=Image.new('RGB',(W,H),(200,0,200));x=0
for i in ims: o.paste(i,(x,0)); x+=i.width+10
o.save(out)
