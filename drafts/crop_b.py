import sys
from PIL import Image
# args: out then name,x0,y0,x1,y1 scale
out=sys.argv[1]; ims=[]
for a in sys.argv[2:]:
    n,x0,y0,x1,y1,s=a.split(','); s=float(s)
    im=Image.open(f'/work/tmp/tiles/{n}.png').convert('RGB').crop((int(x0),int(y0),int(x1),int(y1)))
    ims.append(im.resize((int(im.width*s),int(im.height*s)),Image.LANCZOS))
W=sum(i.width for i in ims)+10*(len(ims)-1);H=max(i.height for i in ims)
o=Image.new('RGB',(W,H),(200,0,200));x=0
for i in ims:o.paste(i,(x,0));x+=i.width+10
o.save(out)
