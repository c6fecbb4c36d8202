p='/work/tmp/h1x_08c.txt'; s=open(p).read()
def r(a,b,n=1):
    global s
    assert s.count(a)==n,(s.count(a),a[:90])
    s=s.replace(a,b)
r("$Y_2$ keeps its size, and the arrow falls to a sixth.","$Y_2$ keeps its size, and the arrow falls to a fifth.")
r("stays near 0.15 for four steps and then falls to 0.04.","stays near 0.15 for four steps and then falls to 0.03.")
r("It is 0.043 ± 0.001 and falls. Dealt by chance (dashed) it would be 0.109 ± 0.004: heads become nearly reversible since what a token looks at looks back, and only from step 5 on since weights spread. The head that maps gives back most: for its $Y_2$ its arrow is half of its neighbours'. Nor does the normalisation make most of it: symmetric scores leave 0.31 ± 0.03.",
  "It is 0.043 ± 0.001 and falls. Causes were sought afterwards. Dealt by chance (dashed) it is 0.109 ± 0.004, and as large at step 4 as at step 1: up to there it falls since what a token looks at looks back, later since weights spread, too. The mapper gives more back: for its $Y_2$ its arrow is half of its neighbours'. Symmetric scores leave 0.31 ± 0.03.")
r("At $\\sigma = 1$ films from two strings meet and their law forgets the string (claim 8.139h); at 0.03 neither happens within 300 steps.",
  "At $\\sigma = 1$ their law forgets the string (claim 8.139h), and films from two strings meet, in one seed 80 % of them; at 0.03 neither happens within 300 steps.")
r("**The epsilon of trained norms** is 1e-5 of the variance $k$ beside it: no temperature, no fluctuations. Raised to a share $e$ of the mean $\\bar k$, it costs 0.05 nats at $e$ = 0.40.",
  "**The epsilon of trained norms** is 5e-6 to 1e-5 of the variance $k$ beside it: no temperature, no fluctuations. Raised to a share $e$ of the mean $\\bar k$, it costs `tied` 0.05 nats at $e$ = 0.40.")
r("What it is for a mean token, given to all, costs up to six times as much in `tied` (“one for all”), where the square of $e$ hides it.",
  "For a mean token that is $e + e^2/2 + \\dots$ of $\\bar k$, more than $e$. Given to all (“one for all”) it costs `tied` 1.7 to 6 times as much as the temperature: two differences cancel there.")
r("On eight tokens weak weights of a trained block produce what lowest order says, even \"\n      \"ones with even sums nothing: exact sums.",
  "Exact sums over eight tokens: weak weights produce what lowest order says, symmetric ones \"\n      \"whose rows and columns sum to one nothing.")
open(p,'w').write(s)
