import json,glob,sys,re
p,pat=sys.argv[1:3]
nb=json.load(open(glob.glob(f"notebooks/{p}*")[0]))
for i,c in enumerate(nb["cells"]):
    s="".join(c["source"])
    if re.search(pat,s) or c["id"]==pat:
        print("=====",p,i,c["id"],c["metadata"].get("tags")); print(s)
        for o in c.get("outputs",[]):
            if o["output_type"]=="stream": print("--->","".join(o["text"]))
            elif "text/plain" in o.get("data",{}): print("--->","".join(o["data"]["text/plain"])[:300])
