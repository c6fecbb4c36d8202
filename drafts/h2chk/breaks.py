"""break data functions that 7c (or 7a) imports, one at a time"""
import sys, os, io, contextlib, nbformat, importlib, re
import matplotlib; matplotlib.use("Agg")
nbp=sys.argv[1]
nb=nbformat.read(nbp,4)
cells=[c.source for c in nb.cells if c.cell_type=="code" and "setup" not in c.metadata.get("tags",[]) and "check(" not in c.source]
import torch
from attnlib.course import plots
import attnlib.course.data.hops as H, attnlib.course.data.markov as M, attnlib.course.data.seeds as S, attnlib.course.data.collective_runs as C, attnlib.course.models.walkers as W, attnlib.course.data.spins as SP
from dataclasses import replace
def scaled(f,k=1.01): return lambda *a,**kw: f(*a,**kw)*k
B={}
def b(name,mod,attr,new): B[name]=(mod,attr,new)
if "07c" in nbp:
    b("informed_guess x1.01",H,"informed_guess",scaled(H.informed_guess))
    b("informed_guess ignores back",H,"informed_guess",lambda k,ahead=1,back=0,places=6,f=H.informed_guess: f(k,ahead=ahead,places=places))
    b("informed_guess ignores places",H,"informed_guess",lambda k,ahead=1,back=0,places=6,f=H.informed_guess: f(k,ahead=ahead,back=back))
    b("wrong_hops_score x1.01",H,"wrong_hops_score",scaled(H.wrong_hops_score))
    b("answer one hop too many",H.HopQuestions,"answer",lambda self,k,f=H.HopQuestions.answer: f(self,k+1))
    b("questions: image not a permutation",H,"hop_questions",lambda n,places=8,generator=None: H.HopQuestions(torch.randint(places,(n,places),generator=generator),torch.randint(places,(n,),generator=generator)))
    def g(ch,f=M.markov_guesses,**k): d=f(ch,**k); d["bigram"]=f(ch,concentration=.5)["bigram"]; return d
    b("markov_guesses bigram alpha .5",M,"markov_guesses",g)
    def g2(ch,f=M.markov_guesses,**k): d=f(ch,**k); d["unigram"]=d["uniform"]; return d
    b("markov_guesses unigram=uniform",M,"markov_guesses",g2)
    b("markov_costs x1.01",M,"markov_costs",lambda *a,f=M.markov_costs,**k:{n:v*1.01 for n,v in f(*a,**k).items()})
    b("markov_chains concentration 2",M,"markov_chains",lambda *a,f=M.markov_chains,**k: f(*a,**{**k,"concentration":2.0}))
    b("walk: weights x1.01",W.HopWalker,"walk",lambda self,a,s,f=W.HopWalker.walk: replace(f(self,a,s),weights=f(self,a,s).weights*1.1))
    b("walk: one step too many",W.HopWalker,"walk",lambda self,a,s,f=W.HopWalker.walk: (lambda r: replace(r,logits=r.logits[1:],weights=r.weights[:-1],scores=r.scores[:-1]))(f(self,a,s+1)))
    b("tie does nothing",W.HopWalker,"tie_values",lambda self: self)
    b("prepared: facts turned",W.HopWalker,"prepared",lambda self,a,f=W.HopWalker.prepared: (f(self,a)[0],f(self,a)[1].roll(16,-1)))
    b("walker call ignores steps",W.HopWalker,"forward",lambda self,a,steps=None,f=W.HopWalker.forward: f(self,a))
b("over_runs error /2",S,"over_runs",lambda v,f=S.over_runs: (lambda e: S.Estimate(e.mean,e.error/2,e.runs))(f(v)))
b("over_runs mean +1%",S,"over_runs",lambda v,f=S.over_runs: (lambda e: S.Estimate(e.mean*1.01,e.error,e.runs))(f(v)))
b("score of another condition/order",C.CollectiveRuns,"score",lambda self,*a,f=C.CollectiveRuns.score: f(self,*a)*1.3)
b("measured x1.05",C.CollectiveRuns,"measured",lambda self,*a,f=C.CollectiveRuns.measured,**k: f(self,*a,**k)*1.05)
if "07a" in nbp:
    b("blind_floor x1.1",SP,"blind_floor",lambda *a,f=SP.blind_floor,**k:(lambda e:S.Estimate(e.mean*1.1,e.error,e.runs))(f(*a,**k)))
    b("share x1.1",SP,"share",lambda p,w,f=SP.share:(lambda e:S.Estimate(e.mean*1.1,e.error,e.runs))(f(p,w)))
    b("context_couplings ignores context",SP,"context_couplings",lambda x,context,f=SP.context_couplings,**k:f(x,context=1.0,**k))
    b("context_couplings x1.05",SP,"context_couplings",lambda x,f=SP.context_couplings,**k:f(x,**k)*1.05)
    b("fixed_couplings x1.05",SP,"fixed_couplings",lambda *a,f=SP.fixed_couplings,**k:f(*a,**k)*1.05)
    b("loss_to x1.1",C.CollectiveRuns,"loss_to",lambda self,a,b_,c=None,f=C.CollectiveRuns.loss_to: (lambda e:S.Estimate(e.mean*1.1,e.error,e.runs))(f(self,a,b_,c)))
    b("loss_to sign",C.CollectiveRuns,"loss_to",lambda self,a,b_,c=None,f=C.CollectiveRuns.loss_to: (lambda e:S.Estimate(-e.mean,e.error,e.runs))(f(self,a,b_,c)))
    b("mean x1.1",C.CollectiveRuns,"mean",lambda self,a,c=None,f=C.CollectiveRuns.mean: (lambda e:S.Estimate(e.mean*1.1,e.error,e.runs))(f(self,a,c)))
import warnings; warnings.simplefilter("ignore")
only=sys.argv[2:]
for name,(mod,attr,new) in B.items():
    if only and not any(o in name for o in only): continue
    old=getattr(mod,attr); setattr(mod,attr,new)
    # modules that imported the name
    touched=[]
    for m in list(sys.modules.values()):
        if m and getattr(m,"__name__","").startswith("attnlib") and m is not mod and getattr(m,attr,None) is old: touched.append(m); setattr(m,attr,new)
    space={"__name__":"__main__","plots":plots}
    said="NOT NOTICED"
    torch.set_default_dtype(torch.float32)
    try:
        for src in cells:
            with contextlib.redirect_stdout(io.StringIO()): exec(compile(src,"nb","exec"),space)
            matplotlib.pyplot.close("all")
    except BaseException as e: said=(re.match(r"claim \S+(?=:)",str(e)) or [f"{type(e).__name__}: {e}"[:90]])[0]
    setattr(mod,attr,old)
    for m in touched: setattr(m,attr,old)
    print(f"{name}: {said}",flush=True)
