P="/work/tmp/brief/h2_07c.txt"
t=open(P).read()
def sub(a,b,n=1):
    global t
    assert t.count(a)==n,(t.count(a),a[:90])
    t=t.replace(a,b)
sub("And where each symbol went on its way from a softmax to a block:","And where each symbol went:")
sub("(numbers 34 to 36, in commit a82972a of 26 November 2026, before the runs)","(numbers 34 to 36, commit a82972a, before the runs)")
sub("its rows drawn flat; to say the next state one must learn the law from the text.","its rows drawn flat; the text must tell the law.")
sub("Turned to three steps, how often does it say where three hops lead? Where two do? And one?","Turned to three steps, how often does it say where three hops lead? Two? And one?")
sub("Without maps a score compares first halves of tokens with first halves, so that","Without maps first halves of tokens are compared with first halves, so that")
sub("One trial of half steps, four times as long, reads them all (seed 11); five seeds have not been run.","One trial of half steps, four times as long, reads all (seed 11); five seeds have not been run.")
sub("which of these","which of these",0)
sub("that all had (section 9 has one that had more).","that all had (but see section 9).")
open(P,"w").write(t)
