p='/work/tmp/h1x_07d.txt'; s=open(p).read()
def r(a,b,n=1):
    global s
    assert s.count(a)==n,(s.count(a),a[:90])
    s=s.replace(a,b)
r("hit; turned round it loses 16 points, missed by one |","hit; turned round it loses 16 points, missed by one point |")
r("of heads that do not map it says five and more.","of heads that do not map it says anything, 5 in the median.")
r("and every head its spread in that unit.","and every head its spread in that unit; $Y_2 = \\sum_j p_j^2$ is how far its weights have condensed.")
r("It was trained for eight steps. Let it go on to three hundred:",
  "It was trained for eight steps. Let it go on to three hundred, and measure its exponent $\\lambda$, the rate in nats a step at which a small difference grows along the way:")
r("its exponent is below zero. What does it say at rest?","$\\lambda$ is below zero. What does it say at rest?")
r("What does the network lose when one thing is changed, at every step, in the mapper or in all heads?",
  "What does the network lose when one thing is changed, at every step, in the mapper or in all heads? Beta, halved or doubled; sparsemax, which gives far keys nothing; a hard choice; two half steps of the query down its energy ([page 7b](07b_one_step_or_many.ipynb)); a ghost, one more key of score zero and without a value.")
r("| 9. A sink in every network | missed: in *causal* alone |","| 9. A sink in every network: a head that gives the first token 0.3 of its weight | missed: in *causal* alone |")
r("some head sinks, and the block comes to rest.","some head rests on the first token (claim 7.130), and the block comes to rest.")
r("This was foreseen before it was run (\"Heads that erase\", commit `6414241`), and so were two controls, later:",
  "What that would do was predicted before it was run (\"Heads that erase\", commit `6414241`), and so were two controls that were added later:")
open(p,'w').write(s)
