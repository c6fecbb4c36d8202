from attnlib.course import recorded
from attnlib.course.live import HopLab
rec=recorded("memory_networks")
for st in range(len(rec["stories"])):
  for net in range(len(rec["networks"])):
    s=rec["stories"][st]
    f=HopLab(rec,network=net,**s); r=f.readout; ch=r["follows"]
    hid=[]
    for h in range(len(s["facts"])):
        g=HopLab(rec,network=net,**s,hidden=[h]).readout
        if not g["follows"]: hid.append((h,"same" if g["answer"]==r["answer"] else "other"))
        if len(g["follows"])==1 and g["follows"][0][0]!=g["answer"]: hid.append((h,"wrong!"))
    print(st,net,f.name,ch,r["answer"]==ch[0][0],hid)
