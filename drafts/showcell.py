import json,glob,sys
for a in sys.argv[1:]:
    p,i=a.split(":"); f=glob.glob(f"/work/main/notebooks/{p}*")[0]
    c=[x for x in json.load(open(f))["cells"] if x["cell_type"]=="code"][int(i)]
    print(f"#### {a}"); print("".join(c["source"])); 
    for o in c["outputs"]:
        t=o.get("text") or o.get("data",{}).get("text/plain") or ""
        print(">>>","".join(t)[:600])
