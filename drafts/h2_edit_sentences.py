import sys, json, glob
sys.path[:0]=["/work/h2","/work/h2/tools"]
import course, nbformat
from pathlib import Path
R=Path("/work/h2")
def b(fig, words, **to): return f"<span data-sets=\"{fig}\" data-to='{json.dumps(to, ensure_ascii=False)}'>{words}</span>"
F3=[[0,1],[0,2],[1,2],[2,3],[3,4],[4,5]]
EV=[[i,j] for i in range(6) for j in range(i+1,6)]
T,L,A,H,D,B,FL,SP,IT,CF,SA,TF,G,FA,C,DN,W=("SoftmaxThermometer","ScoreLab","AlignmentFilm","HopLab","DigitRecall","BallAndBound","Flatland","SpinLab","Iteration","CouplingsFilm","SaddleExplorer","TokensAsFields","GraphLab","FactorLab","ContextLab","Denoiser","Walker")
P0="183c262626242c18"
E={
"01":[("Turn it yourself. Drag the bars, or give one the focus and use the arrow keys; turn $\\beta$; add keys. Drag the *lowest* of the four scores down: their spread grows and the weights do not move. Then draw 128 Gaussian scores and turn $\\beta$, which is now their spread, through 3.1, the dotted line above.",
 "Drag the bars, or give one the focus and use the arrow keys. "+b(T,"Turn β to 1",beta=1)+": 3.4 keys share the weight. "+b(T,"Turn β to 10",beta=10)+": 1.3 do. There "+b(T,"drag the lowest score down",logits=[1.0,0.8,0.3,-1.5])+": the spread doubles, the weights do not move. Then draw 128 Gaussian scores and turn $\\beta$, now their spread, through 3.1, the dotted line above.")],
"02a":[("Widen the vectors, switch the division on and off, then turn up the correlation of one marked key with the query.",
 b(L,"Widen the vectors to 512",dimension=512)+": one key has a weight of 1.000. "+b(L,"Divide by √512",dimension=512,scaled=True)+", and the largest weight is 0.167. Then "+b(L,"let a marked key agree by 0.3",dimension=512,scaled=True,correlation=0.3)+", the correlation of its entries with those of the query: it takes 0.891.")],
"02b":[("rings are found one by one, and at four of eight the run stops: its learning rate has fallen to zero. Now choose the same seed with 2,000 steps. It freezes too, falls back in the same way, and has time to find all eight. Then choose the scaled dot product, which never freezes.",
 "rings are found one by one, and "+b(A,"at step 400",step=400)+" the run stops at four of eight: its learning rate has fallen to zero. "+b(A,"With 2,000 steps",run=2,step=2000)+" the same seed freezes too, falls back in the same way, and has time to find all eight. "+b(A,"The scaled dot product",run=4,step=2000)+" never freezes.")],
"02c":[("**Try it**: take away the tick of the fact that is framed in the column *hop 2*. The colour no longer follows from the facts in sight, and the network says the same one as before. Now choose the network that was told the facts. Its frames are filled; and without that fact it says another colour.",
 "**Try it**: "+b(H,"hide the fact framed in hop 2",hidden=[1])+". The colour no longer follows from the facts in sight, and the network says pink, as before. Now take "+b(H,"the network that was told the facts",network=0)+". Its frames are filled; and "+b(H,"without that fact",network=0,hidden=[1])+" it says green.")],
"03a":[("Try *pairs* with three pictures stored and start from one of them, then store a fourth: it spoils all four, though none was touched.",
 "Reward by *pairs* with "+b(D,"three pictures stored",degree=2,stored=3,digit=0,cue=P0,visits=64)+" and start from the first: no pixel turns. Then "+b(D,"store a fourth",degree=2,stored=4,digit=0,cue=P0,visits=64)+": eight of its pixels end wrong. The fourth spoils all four, though none was touched.")],
"03b":[("let the ball take its steps, change the length of a step, cool the landscape by turning $\\beta$ up.",
 b(B,"let the ball take a step",steps=1)+", and where 0.082 was guaranteed it falls by 0.186; "+b(B,"make a step 2.5 long",step_size=2.5)+", and the guarantee allows a climb of 0.103, but it falls by 0.352; cool the landscape by turning $\\beta$ up.")],
"03c":[("Turn $\\beta$ down, past the mark on its slider, and watch the valleys merge into one. Turn it up and watch which memories get a valley of their own.",
 "Turn $\\beta$ down and watch the valleys merge: the six queries end in three places, "+b(FL,"at β = 2",beta=2)+" in two, and "+b(FL,"at β = 1",beta=1)+", past the mark on the slider, in one that all ten memories share. Turn it up and watch which memories get a valley of their own.")],
"03d":[("Now set the slider *Steps* to ten. Five of the six walks",
 "Now "+b(FL,"set the steps to ten",steps=10)+". Five of the six walks")],
"04a":[("Turn the couplings up yourself: push *strength* from 0.6 to 2, and watch the marks leave the bars.",
 "Turn the couplings up yourself: "+b(SP,"push the strength to 2",strength=2)+", and naive mean field, off by 0.13 at 0.6, is off by 0.68."),
 ("Set it to *rivals*, where every triangle of spins is frustrated. Adaptive TAP is right to three digits at any strength, while TAP at strength 1.2 is worse than no correction at all. Then *friends*, where nothing is frustrated, and turn them up to 2: everybody is wrong.",
 "Set it to *rivals*, where every triangle of spins is frustrated. Adaptive TAP is right to three digits at any strength, while TAP "+b(SP,"at strength 1.2",kind="rivals",strength=1.2)+" is worse than no correction at all: off by 0.15, where naive mean field is off by 0.11. Then "+b(SP,"friends at strength 2",kind="friends",strength=2)+", where nothing is frustrated: everybody is wrong by 0.53.")],
"04b":[("Turn the *scale* up from 0.8 to 1 and watch the dots on the right: one of them nears the edge of the shaded window, and the residual on the left takes ever longer to fall. Then lengthen the *step*: the window closes from the left.",
 "Turn the *scale* up from 0.8 to 1 and watch the dots on the right: one of them nears the edge of the shaded window, and the residual on the left takes ever longer to fall. "+b(IT,"Turn it to 1.02",scale=1.02)+", and in the end each step multiplies the residual by 1.020. Or, at 0.8, "+b(IT,"lengthen the step to 1.5",step=1.5)+": the window closes from the left, and the largest factor is 1.370."),
 ],
"05c":[("Drag two tokens towards each other and turn up the strength: the answers leave the circle, the means stay inside. Choose *fixed numbers*: the second terms are gone. Then a strength of $-2$, the lowest temperature, and tokens near the middle: the reading of the Neumann series passes 1.",
 b(TF,"Turn the strength up to 2",strength=2)+": all three answers leave the circle, whose radius is 1.41, the longest to 1.86; the means stay inside. Make the couplings "+b(TF,"fixed numbers",couplings="fixed")+": the second terms are gone. Then "+b(TF,"a strength of −2, cold",strength=-2,beta=4)+": the reading of the Neumann series is 1.34, above 1.")],
"06a":[("Press *as they are*: one arrow takes all. Press *unit variance*, $\\beta = 0.011 = 1/89$ (section 3 says why), and the neighbours share. Now move $\\beta$ up from there, and see one of them take over.",
 b(G,"Take the scores as they are",beta=1)+": one arrow takes all. "+b(G,"Give them unit variance",beta=20**-1.5)+", $\\beta = 0.011 = 1/89$ (section 3 says why), and the neighbours share: 0.51 for one. "+b(G,"Move β up to 0.1",beta=0.1)+", and it takes 0.88.")],
"06b":[("On the *row* press *Step* five times: the bars stop at the exact marks. Press *triangle*, step on, and see them pass the marks. Then press *everyone* and pull the coupling to its negative end: undamped, the beliefs swing and never come to rest.",
 b(FA,"Five sweeps on the row",sweeps=5)+": the bars stop at the exact marks. "+b(FA,"Sixty on the triangle",edges=F3,sweeps=60)+": they pass them, by up to 0.17. "+b(FA,"Couple everyone by −1.5",edges=EV,coupling=-1.5,sweeps=20)+" and step on: undamped, the beliefs swing and never come to rest.")],
"07a":[("Press *λ = 0.01: the blind are ahead.* (of those that read once), then *λ = 1: two thirds are out of their sight.*: beside each mean stands the best answer of someone who sees all fields and no content.",
 "Beside each mean stands the best answer of someone who sees all fields and no content. "+b(C,"At λ = 0.01",share=0.01)+" it misses 0.5 % of the means' square, and the blind are ahead of those that read once; "+b(C,"at λ = 1",share=1)+" it misses 68 %.")],
"07b":[("Press *Four steps go too far.*, then *Four half steps lose less.* Then press *More* and *Hide σ*:",
 "After one step that is 0.319; "+b(DN,"four steps go too far",steps=4)+", to 0.387; "+b(DN,"four half steps lose less",steps=4,half=True)+": 0.327. Then press *More* and *Hide σ*:")],
"07c":[("Turn *Steps T* to three, then to eight, and press *Play*. Press *More*: choose the other *Walker*, which is never wrong at two hops either; then the first again, and *tie values to keys*.",
 "Turn *Steps T* "+b(W,"to three",steps=3)+", then "+b(W,"to eight",steps=8)+", and press *Play*. "+b(W,"The other walker",network=1,more=True)+" is never wrong at two hops either; "+b(W,"at three",network=1,steps=3,more=True)+" none of eight is right. Then "+b(W,"tie values to keys",tie=True,more=True)+".")],
"04c":[("Here they are, of a classifier with sixteen smaller pieces, recorded while it learns; the dot above the square is the class spin. Press *play*, then take the slider back to step 20: one mode holds most of what is left, and three digits of ten are read. Go on to step 100, where the class spin has chosen whom it listens to.",
 "Here they are, of a classifier with sixteen smaller pieces, recorded while it learns. The square is a digit in its pieces, dark where the class spin, the dot above it, listens. Press *Play*. "+b(CF,"Back at step 20",step=20)+" one mode holds 84 % of what is left, and 32 % of the digits are read. "+b(CF,"At step 100",step=100)+" it holds 38 %, the class spin has chosen whom it listens to, and 80 % are read.")],
"05a":[("On the dashed line both $z$ are one number, and the ring is the best point on it. Press *Equal fields*: now ring and dot are one. Press *Cold, no fields*: the minimum moves towards the border,",
 b(SA,"Put it back at the start",taken=0)+": there both $z$ are too large and the spins, 0.49 and 0.78 long, too short. Five steps down they end on their circles. With "+b(SA,"equal fields",fields=[1.0,1.0])+" the spins are alike, and so are their $z$, 2.146. "+b(SA,"Cold, without fields",fields=[0.0,0.0],beta=4.0)+", the minimum moves towards the border,"),
 ("The live figure shows the same with two spins. Set $\\beta = 4$, $J = 1.5$, fields 2 and $-2$, the start at $(5, 3)$: the exact Hessian takes 7 steps, and the printed one is not there after 40.",
 "The live figure shows the same with two spins, at $\\beta = 4$, $J = 1.5$, fields 2 and $-2$: "+b(SA,"the exact Hessian",beta=4.0,coupling=1.5,fields=[2.0,-2.0])+" takes 7 steps, and "+b(SA,"the printed one",beta=4.0,coupling=1.5,fields=[2.0,-2.0],rule="printed")+" is not there after 40: its spins are 0.85 and 0.47 long.")],
"05b":[("and the border of what is allowed is the curve $z_1 z_2 = J^2$.",
 "and the border of what is allowed is the curve $z_1 z_2 = J^2$. Cold, they come to 0.836, where the corner of the border is at 0.7. "+b(SA,"Warm them to β = 1",beta=1.0)+", and they walk away from it, to 1.360. "+b(SA,"Give the second a field of 1",fields=[0.0,1.0])+", cold: its $z$ goes to 1.719, that of the other stays at 0.836.")],
}
META={
"04c":("live-film",None,"An interactive figure. Sixteen patches in a square, dark where the class spin above them is strongly coupled; beside it two curves over the steps of training, of digits read and of what one mode holds, and bars for the mean strengths of three kinds of pairs."),
"05a":("cell-7","Every line of equal height is convex, there is one minimum, and nothing beyond the grey border. On each dashed line one of the spins has its length; at the minimum the lines cross, and both have. Drag the start and let go: Newton's method halves a step that would leave the domain, and both spins end on their circles.","An interactive figure. Two axes for the numbers z of two spins, with a forbidden region along both, closed lines of equal height, and two dashed lines that cross at the minimum, where a path of a few steps ends; beside it two spins as arrows that end on a circle."),
"05b":("live",None,"An interactive figure. Two axes for the numbers z of two spins, with a forbidden region along both whose border is a hyperbola, lines of equal height, and a minimum close to the border on the diagonal; beside it two spins as arrows that end on a circle."),
}
M={
"hour":[("Turn $\\beta$ up until the first weight is .9. Then ask for 128 random scores, and watch how many keys still count as you pass the mark.",
 "Turn $\\beta$ up until the first weight is 0.9: "+b(T,"at β = 10",beta=10)+" it is 0.880. Then ask for 128 random scores, and watch how many keys still count as you pass the mark."),
 ("Drag the query across a border between two colours. Then turn $\\beta$ down until one colour is left.",
 "Drag the query across a border between two colours. Then turn $\\beta$ down until one colour is left: "+b(FL,"at β = 0.4",beta=0.4)+" all four memories share a valley."),
 ("Drag a token and see who answers. Make the couplings *fixed numbers*: the second term is gone.",
 "Drag a token and see who answers. Make the couplings "+b(TF,"fixed numbers",couplings="fixed")+": the second term is gone."),
 ("Take four steps instead of one, and read the error. Then go back to one step and find the $\\beta$ at which $U$ is one.",
 b(DN,"Take four steps",steps=4)+" instead of one: the error rises from 0.319 to 0.387. Then go back to one step and find the $\\beta$ at which $U$ is one; "+b(DN,"with twice as much",beta=3.125)+" it is 1.16."),
 ("Turn the steps to three, then to eight: it walks as many arrows as it takes steps, none of which it was trained on. Behind *More* waits a second block, trained in the same way and as good at two steps, that walks no other number; and a switch that ties what is read to what was asked, which makes the first one stand still.",
 "Turn the steps "+b(W,"to three",steps=3)+", then "+b(W,"to eight",steps=8)+": it walks as many arrows as it takes steps, none of which it was trained on, and has eight of eight places right. Behind *More* waits "+b(W,"a second block",network=1,steps=3,more=True)+", trained in the same way and as good at two steps, that walks no other number; and a switch that "+b(W,"ties what is read",tie=True,more=True)+" to what was asked, which makes the first one stand still.")],
"index":[("Turn the inverse temperature down, past the mark, and one valley is left: whatever you ask, you get the same answer, an average.",
 b(FL,"Turn the inverse temperature to 0.4",beta=0.4)+", past the mark, and one valley is left, which all four memories share: whatever you ask, you get the same answer, an average."),
 ("Turn its steps to three, or to eight, and it walks as many hops, none of which it has learned; behind *More* waits a second one, trained in the same way and never wrong at two hops either, that walks no other number.",
 "Turn its steps "+b(W,"to three",steps=3)+", or "+b(W,"to eight",steps=8)+", and it walks as many hops, none of which it has learned; behind *More* waits "+b(W,"a second one",network=1,steps=3,more=True)+", trained in the same way and never wrong at two hops either, that walks no other number.")],
}
if __name__=="__main__":
    only=sys.argv[1:]
    for k,reps in E.items():
        if only and k not in only: continue
        (path,)=R.glob(f"notebooks/{k}_*.ipynb")
        nb=course.read(path); before=course.words(nb)
        for old,new in reps:
            hit=[c for c in nb.cells if c.cell_type=="markdown" and old in c.source]
            if not hit and any(new in c.source for c in nb.cells): continue
            assert len(hit)==1,(k,old[:60],len(hit))
            hit[0].source=hit[0].source.replace(old,new)
        if k in META:
            cid,cap,alt=META[k]
            (cell,)=[c for c in nb.cells if c.id==cid]
            if cap: cell.metadata["mystnb"]["figure"]["caption"]=cap
            cell.metadata["mystnb"]["image"]["alt"]=alt
        path.write_text(course.text(nb),encoding="utf-8")
        print(k,before,course.words(nb))
    for k,reps in M.items():
        if only and k not in only: continue
        path=R/f"book/{k}.md"; t=path.read_text()
        for old,new in reps:
            if old not in t and new in t: continue
            assert t.count(old)==1,(k,old[:50]); t=t.replace(old,new)
        path.write_text(t)
