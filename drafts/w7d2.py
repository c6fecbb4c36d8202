exec(open("/tmp/w7d.py").read().rsplit('open("/tmp/w7d.pkl"', 1)[0])
put("cell-17", """
keys = Language().draw(500, generator=rng).real.sum(-1)  # that each query of a string sees
few = (1 - 0.75 / keys) * (1 - 1 / 64)  # few keys, and few components of a query
scale = (keys * few * (2 * keys.log()) ** -0.5).sum() / keys.sum()
cosine = torch.stack([found.read("tied", "before", "states", step, "cosine")
                      for step in range(8)], 1)
start = found.read("tied", "before", "spread").mean(-1)
law = (1 - cosine).sqrt() / 3 * scale
claim("7.99", "Before training heads spread their scores by $\\\\sqrt{1 - c}/3$, c the mean "
      "cosine of tokens, within a tenth.", start / law, expected=torch.ones(5, 8), atol=0.1)
frozen = (found.at_mapper("tied", "spread") > 1).sum()
claim("7.100", "The mapper of most tied networks is frozen at its best step: of five, three "
      "or more are spread above the scale.", frozen, above=2.5)
condensed = found.at_mapper("tied", "participation") / found.at_mapper("tied", "participation_law")
claim("7.101", "The mapper of each tied network is more condensed than random scores of "
      "its spread, by a fifth or more.", condensed, above=1.2, key=True)
others = torch.ones(5, 8, dtype=torch.bool)
others[range(5), mappers] = False
off = ((Y2 / law_Y2).median(1).values - 1).abs()
near = ((off < 0.25) & others).sum(-1) / others.sum(-1)
claim("7.102", "At least half of the other heads of each tied network condense as random "
      "scores would, within a quarter.", near, above=0.5)
""")
put("cell-16", """
spread, Y2, law_Y2 = (found.read("tied", "after", key)
                      for key in ("spread", "participation", "participation_law"))
fig, (left, ax) = plt.subplots(1, 2, figsize=(7.2, 3.0))
left.plot(range(1, 9), spread.mean(-1).T, "C0", lw=1)
left.plot(range(1, 9), found.read("tied", "before", "spread").mean(-1).T, "C0--", lw=1)
left.axhline(1, color="k", lw=1)
left.set(xlabel="step", ylabel="spread / freezing scale", ylim=(0, 1.15))
ax.plot(law_Y2.flatten(), Y2.flatten(), "C0.", ms=3)
ax.plot(found.at_mapper("tied", "participation_law"),
        found.at_mapper("tied", "participation"), "C3o")
ax.plot([0, 0.7], [0, 0.7], "k", lw=1)
ax.set(xlabel="$Y_2$ of the random-energy law", ylabel="$Y_2$ measured")
plt.show()
""", cells["cell-16"][0].replace("Spread over the freezing scale, and Y2 beside what Gaussian scores of the same spread would give: every head at every step of five tied networks. Mappers are red.", "Spread over the freezing scale, mean over heads of each of five tied networks (left; dashed before training), and $Y_2$ beside what Gaussian scores of the same spread would give, every head at every step (right; mappers are red)."))
put("cell-18", """
The untrained stack draws its tokens together, from a mean cosine of .1 to .6 or .8 in eight steps, and scores of tokens that are alike are alike: that is the law of claim 7.99. Trained, all heads together heat up to step three and cool afterwards; the mapper is at its sharpest where it maps. Most heads obey the random-energy law of page 1 and are told by their spread alone. A mapper is not: one key stands apart from all others, and no Gaussian has that.

## 4. Which heads have an energy?

Scores $x_i^\\top W_Q^\\top W_K x_j$ come from an energy if the form is symmetric ([3.56](03b_attention_is_a_gradient_step.ipynb#eq-sym-energy)). Its share,

<a id="eq-symmetric-share"></a>

$$
\\rho_s = \\frac{|A + A^\\top|^2}{4 |A|^2}, \\qquad A = W_Q^\\top W_K, \\tag{7.16}
$$

is $\\frac12 + \\frac1{2d}$ for random maps. [M. Saponati and others (2025)](https://arxiv.org/abs/2502.10927) show that learning in both directions makes it larger, and learning the next token does not.
""")
sub("cell-19", ('[:, 0].mean(-1)', '.mean((1, 2))'))
put("cell-20-a", """
<details><summary>Answer</summary>

With the symmetric part in 93, with the antisymmetric part in 7: it maps by an energy. Turned round it is right in 79, for the token that a copy was made from is also the copy of its copy. In a network that says the next token it is the other way round, below: turned round, its mapper looks at what came before instead of what comes after, and is right in 3.

</details>
""")
put("cell-21", """
before = found.read("tied", "before", "symmetric_share")[:, 0]
error = before.std() / 40**0.5
claim("7.103", "Before training the symmetric share is 1/2 + 1/256, within four standard "
      "errors of forty heads.", (before.mean() - 0.5 - 1 / 256).abs() / error, below=4)
both, ahead = (found.read(name, "after", "symmetric_share").mean((1, 2))
               for name in ("tied", "causal"))
claim("7.104", "Heads that fill gaps have more of an energy than heads that say what comes "
      "next, in each pair of seeds.", both - ahead, above=0.0)
right, kept, skew = (found.read("tied", *path) for path in (("mapper", "right"),
                     ("rules", "mapper", "symmetric", 1), ("rules", "mapper", "antisymmetric", 1)))
claim("7.105", "With the symmetric part of its form alone the mapper of a tied network "
      "loses less than 15 points.", right - kept, below=0.15, key=True)
claim("7.106", "With the antisymmetric part alone the mapper of a tied network is right in "
      "less than 30 %.", skew, below=0.3)
turned = [found.read(name, "rules", "mapper", "transposed", 1) for name in ("tied", "causal")]
claim("7.107", "Turned round, a tied network's mapper is right in more rows than places "
      "alone allow, 47 %.", turned[0], above=0.47)
claim("7.108", "Turned round, the mapper of a network that says the next token is right in "
      "less than 30 %.", turned[1], below=0.3)
whole = found.read("tied", "rules", "all", "symmetric", 0) - found.read("tied", "loss")
claim("7.109", "With symmetric forms in all heads most tied networks lose over half a nat: "
      "not all of it is an energy.", whole.median(), above=0.5)
""")
put("cell-22", """
## 5. Store, walk, erase

What a head writes is $M = W_O W_V$ times what it reads. A positive part of $M$ writes the same again, which *stores*; a negative one *erases*; the rest carries elsewhere and *walks*. And what a head is worth is what the loss gains when its mean stands in its place. It was foreseen that the mapper stores, and costs most.
""")
put("cell-23", """
kept = found.read("tied", "after", "store")[:, 0] - found.read("tied", "after", "erase")[:, 0]
cost = found.read("tied", "rules", "silent") - found.read("tied", "loss")[:, None]
for seed, (signs, nats, head) in enumerate(zip(kept, cost, mappers), start=1):
    ranks = torch.stack([signs.argsort().argsort(), nats.argsort().argsort()]).double()
    print(f"seed {seed}: store less erase {signs.min():.2f} to {signs.max():.2f}, of the mapper"
          f" {signs[head]:.2f}; it costs {nats[head]:.2f} of at most {nats.max():.2f} nats;"
          f" rank correlation {ranks.corrcoef()[0, 1]:.2f}")
""")
add("cell-23", "cell-23-a", 'markdown cell-23-a {}', """
Nothing stores. Nearly all heads erase, and those that erase more cost more. The mapper is among those that erase least, and in four seeds of five the network hardly misses it.

Why should heads erase? Among the tokens that a head looks at broadly is what they have in common. [B. Geshkovski and others (2023)](https://arxiv.org/abs/2312.10794) prove that tokens of a tied stack without a feed-forward network come together when values store, and read with the sign turned they would be driven apart. So take it out: write $M$ in the eigenvectors of its symmetric part, and leave the negative eigenvalues away in all heads. This was foreseen before it was run (commit 6414241, "Heads that erase").
""")
add("cell-23-a", "cell-23-b", 'code cell-23-b {"mystnb": {"figure": {"caption": "Mean cosine between tokens of a string, step by step, mean over five seeds, with a part of every head\'s map of values taken out.", "name": "fig-erasing"}, "image": {"alt": "Three panels of lines over steps 0 to 8, tied, untied and causal. Whole networks stay near 0.1. Without the negative part lines rise to 0.4 to 0.8 at step eight. Without the positive part they stay near 0.1. Without the antisymmetric part they stay low when tied, rise to 0.35 when untied and to 0.8 when causal."}}, "tags": ["hide-input"]}', """
erasing = ExaminedSpecimens(recorded("erasing"))
lines = {"whole": "k", "negative": "C3", "half": "C3--", "positive": "C0", "antisymmetric": "C2:"}
fig, axes = plt.subplots(1, 3, figsize=(7.2, 2.8), sharey=True)
for ax, name in zip(axes, erasing.networks):
    for part, style in lines.items():
        label = {"whole": "whole", "half": "half of it"}.get(part, f"no {part}")
        ax.plot(erasing.read(name, "cosine", part).mean(0), style, lw=1.2, label=label)
    ax.set(title=name, xlabel="step", xticks=range(0, 9, 2))
axes[0].set(ylabel="mean cosine", ylim=(0, 1))
axes[0].legend(fontsize=7, loc="upper left")
plt.show()
""")
put("cell-24", """
signs = torch.stack([found.at_mapper(name, "store") - found.at_mapper(name, "erase")
                     for name in found.networks])
claim("7.110", "In none of fifteen networks does the mapper store: the trace of its map "
      "of values is below zero.", signs, below=0.0)
most = (cost.argmax(1) == mappers).sum()
claim("7.111", "In most of five tied networks another head than the mapper is the one whose "
      "mean in its place costs most.", most, below=2.5)
ranks = [torch.stack([a.argsort().argsort(), b.argsort().argsort()]).double().corrcoef()[0, 1]
         for a, b in zip(kept, cost)]
claim("7.112", "Heads of tied networks that erase more cost more: the rank correlation is "
      "below zero in five of five.", torch.stack(ranks), below=0.0)
ends = {part: torch.stack([erasing.read(name, "cosine", part)[:, -1]
                           for name in erasing.networks]) for part in lines}
claim("7.113", "Without what heads erase, tokens come together: their mean cosine ends "
      "above 0.3 in fifteen of fifteen.", ends["negative"], above=0.3, key=True)
claim("7.114", "Without what heads store, tokens stay apart: their mean cosine ends below "
      "0.2 in fifteen of fifteen.", ends["positive"], below=0.2)
claim("7.115", "With half of what heads erase, the cosine of tokens ends between that with "
      "all of it and that with none.", torch.stack([ends["half"] - ends["whole"],
      ends["negative"] - ends["half"]]), above=0.0)
claim("7.116", "Without the antisymmetric part of their maps tokens of a tied network stay "
      "apart, below 0.3.", ends["antisymmetric"][0], below=0.3)
""")
put("cell-25", """
So erasing keeps tokens apart: by intervention, in fifteen of fifteen networks, in the dose, and what is stored has no part in it. Where the control fails is a miss: in networks that say the next token the antisymmetric part is needed as well, and without it tokens come together, too (.58 to .93). Losses rise by whole nats without either, which tells nothing of a cause.

## 6. Is it on its way to rest?

A block that is applied again and again may be the iteration of a fixed point ([page 4b](04b_deep_implicit_attention.ipynb)). It was trained for eight steps. Let it go on to three hundred:
""")
sub("cell-26", ("§…§", "Left: lines on two logarithmic axes fall from 0.8 at step one to 0.2 at step eight, most of them below 0.03 at step 300, two down to nothing. Right: lines fall from 3 to 0.4 nats at step six, stay there until twelve, and rise to four and more; marks of solvers lie as high."),
   ("five tied networks", "five tied networks")) if False else None
h, b = cells["cell-26"]
cells["cell-26"] = (h.replace("§…§", "Left: lines on two logarithmic axes fall from 0.8 at step one to 0.2 at step eight; by step 300 some are at a hundredth and two near nothing. Right: lines fall from 3 to 0.4 nats at step six, stay there to step twelve, and rise to four and more; the marks lie as high."),
 """fig, (ax, loss) = plt.subplots(1, 2, figsize=(7.2, 2.9))
change = found.read("tied", "rest", "change")
ax.loglog(range(1, 301), change.T, "C0", lw=1)
ax.axvline(8, color="k", lw=1)
ax.set(xlabel="step", ylabel="change / length", ylim=(1e-4, 2))
read = (1, 2, 4, 6, 7, 8, 9, 10, 12, 16, 24, 50, 100, 300)
nats = torch.stack([found.read("tied", "rest", "loss", str(n)) for n in read])
loss.semilogx(read, nats, "C1", lw=1)
loss.axvline(8, color="k", lw=1)
for mark, solver in (("s", "damped"), ("^", "anderson")):
    loss.plot([300] * 5, found.read("tied", "rest", solver, "loss"), "C2" + mark, ms=4)
loss.set(xlabel="steps", ylabel="nats", ylim=(0, 6.5))
plt.show()
""")
add("cell-26", "cell-26-a", "markdown cell-26-a {}", """
**Predict, then run.** A tied network that says the next token settles: its exponent is below zero. What does it say at rest? Who guesses every word alike pays $\\ln$ of their number.
""")
add("cell-26-a", "cell-26-b", 'code cell-26-b {"tags": ["predict"]}', """
for n in ("8", "16", "300"):
    print(f"{n:>3} steps: {found.read('causal', 'rest', 'loss', n).mean():.2f} nats a token")
print(f"guessing: {math.log(Language().words):.2f}")
""")
add("cell-26-b", "cell-26-c", "markdown cell-26-c {}", """
<details><summary>Answer</summary>

Less than nothing: it is surer of wrong words than who guesses. The answer is passed on the way, at step eight, where it was trained to be read.

</details>
""")
put("cell-27", """
exponent = found.read("tied", "rest", "exponent").mean(-1)
claim("7.117", "The largest Lyapunov exponent of five tied networks that fill gaps lies "
      "within 0.1 of zero.", exponent, between=(-0.1, 0.1))
claim("7.118", "At step eight the state still changes by a tenth to a half of its length, in "
      "each tied network.", change[:, 7], between=(0.1, 0.5))
base = nats[5]
claim("7.119", "With six steps in place of eight a tied network that fills gaps loses less "
      "than 0.05 nats.", nats[3] - base, below=0.05)
claim("7.120", "With 16 steps a tied network loses over 0.1 nats, with 300 over one.",
      torch.stack([nats[9] - base - 0.1, nats[13] - base - 1]), above=0.0)
rest = found.read("causal", "rest", "exponent").mean(-1)
claim("7.121", "Tied networks that say the next token come to rest: their largest Lyapunov "
      "exponent is below zero.", rest, below=0.0)
lost = found.read("causal", "rest", "loss", "300")
claim("7.122", "At rest a network that says the next token pays more than who guesses all "
      "words alike.", lost - math.log(Language().words), above=0.0, key=True)
""")
put("cell-28", """
The answer is a place on an orbit, not the end of a descent. It is there from step six and is left after step twelve, though nothing in training said so. And none of the five depths of [page 4b](04b_deep_implicit_attention.ipynb) applies: what a solver would look for is known to be worthless.

## 7. Turned, cut, heated

What does the network lose when one thing is changed, at every step, in the mapper or in all heads?
""")
put("cell-30", """
limits = {"sparse": 0.1, "hard": 0.15, "two_half_steps": 0.3, "ghost": 0.05}
paid = torch.stack([(found.read("tied", "rules", "mapper", rule, 0) - base) / most
                    for rule, most in limits.items()])
claim("7.123", "In the mapper sparsemax costs under 0.1 nats, a hard choice 0.15, two half "
      "steps 0.3, a ghost key 0.05.", paid, below=1.0)
twice = found.read("tied", "rules", "all", "twice beta", 0) - base
claim("7.124", "Twice the inverse temperature in all heads costs a tied network 0.05 to "
      "0.6 nats.", twice, between=(0.05, 0.6))
placeless = found.read("tied", "rules", "places").mean(-1)
claim("7.125", "With places shuffled a tied network is worse than grammar and one side "
      "alone, 1.69 nats.", placeless, above=1.69, key=True)
""")
put("cell-31", """
Two half steps of an energy, where softmax takes one whole step, cost nothing in any head: the network stands where it stood. A hard choice in all heads costs three nats. So the small weights matter, all together, though no single one does; and in the mapper, where one key is meant, they do not.

## 8. Do tokens cluster?

Untrained they do, as was seen in section 3. After training the mean cosine ends at .1. Tokens of the product approach those that they come from, and are no copies of them:
""")
put("cell-32", """
print("a token and its origin:",
      [round(c.item(), 2) for c in found.read("tied", "origins").mean(0)])
far = [found.read("tied", "rest", "cosine", str(n)).mean().item() for n in (8, 300)]
print(f"two tokens of a string: {far[0]:.2f} after 8 steps, {far[1]:.2f} after 300")
""")
add("cell-32", "cell-32-a", 'code cell-32-a {"tags": ["proof"]}', """
ended, began = (found.read("tied", when, "states", 8, "cosine") for when in ("after", "before"))
claim("7.126", "Trained, the tokens of a tied network are less alike after eight steps than "
      "untrained, in each seed.", began - ended, above=0.0)
claim("7.127", "A token of the product is nearer to its origin than two tokens at random, by "
      "over 0.3, in each tied network.", found.read("tied", "origins")[:, -1] - ended, above=0.3)
later = [found.read("tied", "rest", "cosine", n) for n in ("8", "300")]
claim("7.128", "Tokens of a tied network are more alike after 300 steps than after eight, in "
      "each seed.", later[1] - later[0], above=0.0)
sinks = [found.read(name, "after", "first_token").amax((1, 2)) for name in found.networks]
claim("7.129", "No head of ten networks that fill gaps gives the first token 0.3 of its "
      "weight at any step.", torch.stack(sinks[:2]), below=0.3)
claim("7.130", "Some head of each network that says the next token gives the first over 0.3 "
      "of its weight at some step.", sinks[2], above=0.3)
""")
sub("cell-18", ("Scores $x_i^\\top W_Q^\\top W_K x_j$ come from an energy if the form is symmetric ([3.56](03b_attention_is_a_gradient_step.ipynb#eq-sym-energy)). Its share,", "A score $x_i^\\top W_Q^\\top W_K x_j$ is an energy of two tokens if it does not matter which of them asks, that is if the form is symmetric ([page 3b](03b_attention_is_a_gradient_step.ipynb)). Its share,"))
sub("cell-26-b", ("Language().words", "Language().size"))
sub("cell-27", ("Language().words", "Language().size"))
sub("cell-28", (" And none of the five depths of [page 4b](04b_deep_implicit_attention.ipynb) applies: what a solver would look for is known to be worthless.", " A solver would look for what is known to be worthless: the implicit layer of [page 4b](04b_deep_implicit_attention.ipynb) is another network, and would have to be trained as one."))
h, b = cells["cell-33"]
cells["cell-33"] = (h, """## 9. What was foreseen, and what was not

| prediction (medians of five seeds, where nothing else is said) | outcome |
|---|---|
| Learning: within .15 nats of the best, .05 when *causal* | hit: .01 to .03, .001; all fifteen learn |
| 1. Over 85 % at a step from 4 to 7, below 45 % at step one, back in over 70 % | hit |
| 2. $U$ from .6 to .95, one at 1.1 to 2.5 times its beta, no loss there | hit, at 2.0 to 2.8 times |
| 3. Spread of .13 ± .03 before training | hit at step one, missed later: tokens come together |
| 3. The mapper freezes, at 1 to 2.5; others obey the law | hit: 1.2; four of five seeds |
| 4. Symmetric share of *tied* .60 to .80, its mapper's above .65 | missed: .56 and .63; above *causal* in every seed, hit |
| 4. The mapper maps by its symmetric part, not by the other | hit; turned round it loses 16 points, missed by one |
| 5. The mapper stores, and costs most | missed, both: it erases a little, and another costs most |
| 5. Store goes with cost | missed: erasing does |
| 6. Not on its way to rest; eight steps are needed | change and exponent hit; six steps do, missed |
| 6. At 300 steps most strings still move; solvers find half | missed: few move, solvers find none when *tied* |
| 7. Half the beta costs over .5 nats, twice .05 to .6 | missed, .15; hit, .11 |
| 7. In the mapper no rule costs much; places do | hit |
| 8. No clusters; tokens join their origins above .7 | hit; missed: .52 |
| 9. A sink in every network | missed: in *causal* alone |
| Erasing: without it tokens come together | hit, and in the dose; a control failed for *causal* |

What the misses of 5 have in common is a picture that was wrong: a head as a memory that writes what it found. These heads tell tokens apart.

*Untied* learns as well, with five to seven heads that map instead of three or four. *Causal* differs in what it is trained for and in nothing else, and almost everything is turned: its mapper runs one way, has $U$ near one (.965 to 1.007), sinks, and comes to rest.

## 10. Your own transformer

`examine` asks for a model with three parts and some tokens; `load` makes one of a folder in which GPT-2, BERT or ALBERT was saved with `save_pretrained`, from a file of weights by the safetensors library or torch's own format without code. The course looks for no weights anywhere; here is a network that it trained.
""")
sub("cell-35", ("*Instruments read, interventions tell.* §…§", "*Instruments read, interventions tell.* The mapper's reading was right and its worth was not: it maps best, and the network hardly needs it."))
cells["cell-34"] = ('code cell-34 {"mystnb": {"figure": {"caption": "Everything that the instruments read in a tied network with 12 strings, head by head and step by step.", "name": "fig-examination"}, "image": {"alt": "Eleven maps of eight steps by eight heads, and the change and the cosine of states by step. Three heads, 5 to 7, stand out: wide spread and large Y2 at steps three and four, symmetric share above 0.6, walk near 0.9; most others erase by about 0.6."}}}', cells["cell-34"][1])
h, b = cells["cell-6"]
cells["cell-6"] = (h, """*Tied* is one block eight times, *untied* has eight blocks of its own, *causal* is tied and says the next token. Below is a mapper of a tied one at its best step. The product stands under its parts; a line is a weight, blue and whole where it points at a copy, orange and broken where it does not. Three hidden tokens of this product can be found, and it finds all three. Turn *Step* <span data-sets="Mapper" data-to='{"step": 1}'>to one</span> and it finds none of three, <span data-sets="Mapper" data-to='{"step": 8}'>to eight</span>, and it finds two. Then at its best step <span data-sets="Mapper" data-to='{"beta": 0.25, "step": 5}'>heat it</span>, and the string's $U$ is 0.41; <span data-sets="Mapper" data-to='{"beta": 4, "step": 5}'>cool it</span>, and it is 1.00. Where is the head as sure as it is right on a thousand other strings?
""")
add("cell-34", "cell-34-a", 'code cell-34-a {"tags": ["proof"]}', """
then = {name: found.read("tied", "after", name)[0]
        for name in ("symmetric_share", "erase", "spread")}
off = [(seen.grid(name) - then[name]).abs() for name in ("symmetric_share", "erase")]
claim("7.131", "The network that ships has the symmetric shares and the traces of its "
      "record, to half precision.", torch.stack(off), below=0.003)
claim("7.132", "Read on 12 fresh strings, each head at each step spreads its scores as the "
      "record says, within a tenth.", seen.grid("spread") / then["spread"],
      expected=torch.ones(8, 8), atol=0.1)
head, step = (int(found.read("tied", "mapper", key)[0]) - 1 for key in ("head", "step"))
z = []
for name in ("symmetric", "antisymmetric", "transposed"):
    turned = watched(model, shown, strings.real, getattr(interventions, name), head=head)
    share, was = mapped(turned.weights, keys, rows)[step, head], then_right[name]
    z.append((share - was) / (was * (1 - was) / rows.sum()).sqrt())
claim("7.133", "On them its mapper, with half of its form or turned round, is right as often "
      "as in the record, within four errors.", torch.stack(z).abs(), below=4)
""".replace("then_right[name]", 'found.read("tied", "rules", "mapper", name, 1)[0]'))
sub("cell-15", ("It would be right in fewer bits if it were colder by a factor of two or more, and nothing drives it there: the loss does not notice.", "The right key would cost half as many nats if the head were two to three times as cold, and nothing drives it there: the loss does not notice."))
sub("cell-18", ("Trained, all heads together heat up to step three and cool afterwards; the mapper is at its sharpest where it maps.", "Trained, heads together sharpen up to step three and melt afterwards."))
sub("cell-20-a", ("In a network that says the next token it is the other way round, below: turned round, its mapper looks at what came before instead of what comes after, and is right in 3.", "In a network that says the next token the relation runs one way, and so does the form: turned round, its mapper is right in 3."))
sub("cell-31", ("So the small weights matter, all together, though no single one does; and in the mapper, where one key is meant, they do not.", "So small weights matter, all together; in the mapper, where one key is meant, they do not."))
sub("cell-8", ("Nothing of it has been changed; half of it failed, and section 9 says which.", "Nothing of it has been changed. Much of it failed, and section 9 says what."))
sub("cell-35", ("*One language.* Random", "*One language, one size, five seeds.* Random"))
sub("cell-34-a", ("    share, was = mapped(turned.weights, keys, rows)[step, head], found.read(\"tied\", \"rules\", \"mapper\", name, 1)[0]\n", "    share = mapped(turned.weights, keys, rows)[step, head]\n    was = found.read(\"tied\", \"rules\", \"mapper\", name, 1)[0]\n"))
h, b = cells["cell-60"]
cells["cell-60"] = (h, """## Summary

A head's calibration is Nishimori's ratio ([eq. 7.15](#eq-nishimori-head)), and its energy the symmetric share of its form ([eq. 7.16](#eq-symmetric-share)). In networks that learn to fill gaps several heads know where a copy stands. They freeze as they get there, too hot by a factor of two that costs nothing, by forms whose symmetric part does the work. Nearly all heads erase, and that keeps tokens apart. The block is no descent: it passes its answer at step six to twelve and goes on. To say the next token takes forms that run one way, and a tied network that does comes to rest, where it knows nothing.

| in the language of | the same object is |
|---|---|
| machine learning | an alignment head; its calibration; the copying score of a head; a loop of blocks, unrolled too far |
| physics | a spin system on the Nishimori line; reciprocal couplings; repulsion; a transient of a driven map |
| `attnlib` | `examine(model, tokens, right_keys)`, `watched(model, tokens, real, rule)` |

**References.** P. Schwaller et al., *Extraction of organic chemistry grammar from unsupervised learning of chemical reactions* (2021), who found such a head. M. Saponati et al., *The underlying structures of self-attention* (2025), on the symmetry of forms. B. Geshkovski et al., *A mathematical perspective on transformers* (2023), on clusters. N. Elhage et al., *A Mathematical Framework for Transformer Circuits* (2021), for the copying score. H. Nishimori (1980), for the thermometer. Full entries are in the [bibliography](../book/bibliography.md).
""")
sub("cell-8", ("At these gaps the best that anybody could do, who knows the language by heart, is .32 ± .02 nats. With the grammar and one side alone it is 1.69.", "The language can be summed over exactly (`attnlib.course.data.joining_bounds`). On the 1,000 strings by which networks were judged, who knows all of it pays .290 nats a gap, and 1.68 if only the token's own side of the arrow may be looked at; who says whole strings pays 1.031 a token."))
put("cell-9", """
record = recorded("specimens")
finals = [run for run in record["runs"] if run["stage"] == "final"]
trained = ExaminedSpecimens(record | {"runs": finals})
_, mappers = found.mappers("tied")
exact = {name: record["bounds"]["causal" if name == "causal" else "best"][0]
         for name in found.networks}
for name in found.networks:
    excess = trained.read(name, "loss") - exact[name]
    right, step = (found.read(name, "mapper", key) for key in ("right", "step"))
    print(f"{name:7} {excess.mean():.3f} nats above exact, mapper right in {right.mean():.2f}"
          f" at steps {step.int().tolist()}")
""")
put("cell-11", """
right = torch.stack([found.read(name, "mapper", "right") for name in found.networks])
claim("7.91", "In each of fifteen networks some head has its largest weight on the right "
      "key in over 85 % of hidden or coming rows.", right, above=0.85, key=True)
first = torch.stack([found.read(name, "mapping")[:, 0].amax(-1) for name in found.networks])
claim("7.92", "At step one no head of fifteen networks is right in as many rows as places "
      "alone allow, 47 %.", first, below=0.47)
excess = torch.stack([trained.read(name, "loss") - exact[name] for name in found.networks])
claim("7.93", "Networks that fill gaps end within 0.15 nats of exact inference, those that "
      "say the next token within 0.05.", excess / torch.tensor([[0.15], [0.15], [0.05]]), below=1)
back = trained.read("tied", "mapping", "back").amax(1)
claim("7.94", "The head that maps to the parts maps back to the product in over 70 % of "
      "rows, in each tied network.", back[range(5), mappers], above=0.7)
""")
h, b = cells["cell-13"]
cells["cell-13"] = (h.replace("§Two panels against beta on a logarithmic axis …§", "Two panels against beta on a logarithmic axis, five lines each. Left: U rises from 0.4 through dots at 0.84 to 0.93, and passes one at two to three times the heads' own beta. Right: the cost of the right key has its minimum there."), """fig, (ratio, cost) = plt.subplots(1, 2, figsize=(7.2, 2.9))
curves = found.read("tied", "temperature", "curve")  # [seeds, betas, (beta, U, cost)]
own = found.read("tied", "temperature", "own")
for curve in curves:
    ratio.semilogx(curve[:, 0], curve[:, 1], "C0", lw=1)
    cost.loglog(curve[:, 0], curve[:, 2], "C1", lw=1)
ratio.plot([1] * 5, own[:, 0], "C0o", ms=4)
cost.plot([1] * 5, own[:, 1], "C1o", ms=4)
ratio.axhline(1, color="k", lw=1)
for ax, what in ((ratio, "U"), (cost, "nats of the right key")):
    ax.set(xlabel="β, in units of its own", ylabel=what, xticks=(0.25, 1, 4),
           xticklabels=("¼", "1", "4"))
    ax.minorticks_off()
plt.show()
""")

def fig(key, body, *pairs):
    h, _ = cells[key]
    for old, new in pairs:
        assert old in h, (key, old)
        h = h.replace(old, new)
    cells[key] = (h, body.strip("\n") + "\n")
fig("cell-5", """
found = ExaminedSpecimens(recorded("examinations"))
fig, axes = plots.panels("step", *["heads, best first"] * 3, height=2.0)
for ax, name in zip(axes, found.networks):
    shares = found.read(name, "mapping")  # [seeds, steps, heads]
    order = shares.amax(1).argsort(-1, descending=True)
    ranked = shares.gather(2, order[:, None].expand_as(shares)).mean(0)
    shown = ax.imshow(ranked.T, vmin=0, vmax=1, cmap="Blues", aspect="auto",
                      extent=(0.5, 8.5, 8.5, 0.5))
    ax.set(title=name, xticks=range(1, 9), yticks=(1, 4, 8))
    ax.grid(visible=False)
fig.colorbar(shown, ax=axes, label="right rows")
plt.show()
""", ("by head (across, the best one first) and step (down)", "by head (down, the best one first) and step (across)"),
("Three maps of eight heads by eight steps. Tied: three bright columns from step three on. Untied: bright fields at steps four to eight, in most heads. Causal: one bright column and two paler ones from step two on.", "Three maps of eight heads by eight steps. Tied: three dark rows from step three on. Untied: dark fields from step four to eight in six or seven rows, one step each for most. Causal: one dark row from step two to four and two paler ones."))
fig("cell-13", """
fig, (ratio, cost) = plots.panels("β, in units of its own", "U", "nats of the right key")
curves = found.read("tied", "temperature", "curve")  # [seeds, betas, (beta, U, cost)]
own = found.read("tied", "temperature", "own")
for curve in curves:
    ratio.semilogx(curve[:, 0], curve[:, 1], "C0", lw=1)
    cost.loglog(curve[:, 0], curve[:, 2], "C1", lw=1)
ratio.plot([1] * 5, own[:, 0], "C0o", ms=4)
cost.plot([1] * 5, own[:, 1], "C1o", ms=4)
ratio.axhline(1, color="k", lw=1)
plots.ticks(cost, x=(0.125, 0.25, 0.5, 1, 2, 4, 8, 16), y=(0.1, 0.3, 1, 3))
plt.show()
""", ("(left)", "(above)"), ("(right)", "(below)"), ("Left: U", "Above: U"), ("Right: the cost", "Below: the cost"))
fig("cell-16", """
spread, Y2, law_Y2 = (found.read("tied", "after", key)
                      for key in ("spread", "participation", "participation_law"))
fig, (heat, ax) = plots.panels("", "spread / scale", "$Y_2$ measured", sharex=False, height=2.7)
heat.plot(range(1, 9), spread.mean(-1).T, "C0", lw=1)
heat.plot(range(1, 9), found.read("tied", "before", "spread").mean(-1).T, "C0--", lw=1)
heat.axhline(1, color="k", lw=1)
heat.set(xlabel="step", ylim=(0, 1.15))
ax.plot(law_Y2.flatten(), Y2.flatten(), "C0.", ms=3)
ax.plot(found.at_mapper("tied", "participation_law"),
        found.at_mapper("tied", "participation"), "C1o")
ax.plot([0, 0.7], [0, 0.7], "k", lw=1)
ax.set(xlabel="$Y_2$ of random energies")
plt.show()
""", ("(left; dashed before training)", "(above; dashed before training)"), ("(right; mappers are red)", "(below; mappers are large dots)"), ("Left: lines", "Above: lines"), ("Right: dots along the diagonal, the red ones above it.", "Below: dots along the diagonal, five large ones above it."))
fig("cell-23-b", """
erasing = ExaminedSpecimens(recorded("erasing"))
lines = {"whole": "k", "negative": "C1", "half": "C1--", "positive": "C0",
         "antisymmetric": "C2:"}
names = {"whole": "as they are", "half": "half the negative part"}
fig, axes = plots.panels("step", *["mean cosine"] * 3, height=2.0, sharey=True)
for ax, name in zip(axes, erasing.networks):
    for part, style in lines.items():
        ax.plot(erasing.read(name, "cosine", part).mean(0), style, lw=1.3,
                label=names.get(part, f"without the {part} part"))
    ax.set(title=name, xticks=range(9), ylim=(0, 1))
axes[0].legend(loc="upper left")
plt.show()
""")
fig("cell-26", """
fig, (ax, loss) = plots.panels("step", "change / length", "nats a gap")
change = found.read("tied", "rest", "change")
ax.loglog(range(1, 301), change.T, "C0", lw=1)
ax.set(ylim=(1e-4, 2))
read = (1, 2, 4, 6, 7, 8, 9, 10, 12, 16, 24, 50, 100, 300)
nats = torch.stack([found.read("tied", "rest", "loss", str(n)) for n in read])
loss.semilogx(read, nats, "C1", lw=1)
for each in (ax, loss):
    each.axvline(8, color="k", lw=1)
for mark, solver in (("s", "damped"), ("^", "anderson")):
    loss.plot([300] * 5, found.read("tied", "rest", solver, "loss"), "C2" + mark, ms=4)
loss.set(ylim=(0, 6.5))
plots.ticks(loss, x=(1, 2, 4, 8, 16, 50, 100, 300))
plt.show()
""", ("Left: change", "Above: change"), ("Right: loss", "Below: loss"), ("Left: lines", "Above: lines"), ("Right: lines", "Below: lines"))
out = "\n".join(f"#%%== {cells[k][0]}\n{cells[k][1].rstrip()}" for k in order) + "\n"
open("/work/tmp/07d.txt", "w").write(out)
print("left §:", out.count("§"), [k for k in order if "§" in cells[k][0] + cells[k][1]])
