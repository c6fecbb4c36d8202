"""split8c.py TXT: the proof of 8c's whole transformers in two cells of at most 25 lines"""
import sys
p=sys.argv[1]; s=open(p).read()
a=s.index('claim("8.139d"'); a=s.rindex('arrow, chance = lines',0,a)
b=s.index('#%%== code cell-37-e-p1')
moved=s[a:b]; s=s[:a]+s[b:]
h='#%%== code cell-37-e-p1 {"tags": ["proof"]}\n'
assert h in s
s=s.replace(h,h+moved)
open(p,'w').write(s)
