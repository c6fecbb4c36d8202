import json,collections,sys
sys.argv=['x']
import digit_verdicts as d
r=json.load(open(sys.argv[1] if len(sys.argv)>1 else d.RESULTS))
runs=r['runs']
c=collections.Counter((x['name'],x['steps'],x['stage']) for x in runs)
for n,s in d.PLAN:
    print(s,n,'search',c[(n,s,'search')],'final',c[(n,s,'final')])
