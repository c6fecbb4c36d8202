"""Write book/summary.md: equations with links to pages and claims. Run in a checkout."""
import re
rows = [
("1. Softmax", [
 (r"p_i = e^{\beta s_i} / Z, \quad Z = \sum_j e^{\beta s_j}", "Softmax is a Boltzmann distribution; energies are minus the scores.", "eq-softmax-weights", "1.6"),
 (r"\tfrac1\beta \ln Z = \max_p \big[ \sum_i p_i s_i + \tfrac1\beta H(p) \big]", "Of all weights it has the best sum of mean score and entropy.", "eq-softmax-free-energy", "1.4"),
 (r"\sigma_c = \sqrt{2 \ln K}", "$K$ random scores freeze onto a few when their spread passes this.", "eq-softmax-freezing", "1.30"),
 (r"\mathbb E\, Y_2 \to 1 - \sigma_c / \sigma", "Participation beyond freezing; below it none of many keys counts.", "eq-softmax-phases", "1.28"),
 (r"w = 1 / (1 + e^{\ln Z - b})", "A sink of score $b$ is one more term in $Z$.", "eq-softmax-sink", "1.43"),
]),
("2. The scaled dot product", [
 (r"\mathrm{Var}\, q \cdot k = d", "The spread of a score is the square root of the width.", "eq-scores-moments", "2.7"),
 (r"\mathrm{out}_i = \sum_j p_{ij} v_j, \quad p_{ij} \propto e^{q_i \cdot k_j / \sqrt d}", "Attention. Over $\\sqrt d$, scores of entries of variance one have spread one.", "eq-scores-attend", "2.14"),
 (r"p = \tfrac12 \ \text{at}\ \ln N = \sqrt d - \tfrac12", "Among how many others a match keeps half of the weight.", "eq-scores-retrieval", "2.17"),
 (r"\beta_{1/2} = 1 - \sqrt{1 - 2 \ln N / d}", "The inverse temperature that a search needs.", "eq-scores-needed", "2.25"),
 (r"q^{t+1} = q^t + R^t o^t", "Hops: what was read moves the next question.", "eq-hops", "2.107"),
]),
("3. Hopfield energies", [
 (r"E(\xi) = \tfrac12 |\xi|^2 - \tfrac1\beta \ln \sum_i e^{\beta x_i \cdot \xi}", "The energy whose valleys are memories.", "eq-energy", "3.41"),
 (r"\nabla E = \xi - \sum_i p_i x_i", "Its slope: state less attention.", "eq-gradient", "3.41"),
 (r"\xi' = (1 - \gamma)\, \xi + \gamma \sum_i p_i x_i", "Attention is the step of size one, a residual connection a half step.", "eq-step", "3.72"),
 (r"E(\xi') \le E(\xi) - \gamma \big(1 - \tfrac\gamma2\big) |\nabla E|^2", "Every step up to size two leads down.", "eq-descent", "3.44"),
 (r"\ln N \lesssim \tfrac12 d", "How many random memories can be told apart when cold, $\\beta \\ge 1$.", "eq-capacity", "3.52"),
 (r"\partial_X \sum_i E(x_i; X) = X - P X - P^\top X", "Among tokens attention lacks the transposed part: no energy of all.", "eq-self", "3.54"),
 (r"m = \tanh K m, \quad K = \beta |x|^2", "Two opposite memories are a magnet: hot attention averages.", "eq-flatland-magnet", "3.82"),
]),
("4. Mean field and TAP", [
 (r"m_i = -\partial F / \partial h_i", "A mean is a slope of the free energy.", "eq-tap-free", "4.2"),
 (r"m_i = \tanh \beta \big( \sum_j J_{ij} m_j + h_i \big)", "Naive mean field: spins answer the means of the others.", "eq-tap-naive", "4.5"),
 (r"- V_i m_i, \quad V_i = \beta^2 \sum_j J_{ij}^2 (1 - m_j^2)", "Onsager's reaction: a spin does not hear its own echo.", "eq-tap-onsager", "4.11"),
 (r"\chi_{ii} = 1 - m_i^2", "Adaptive TAP: the reaction at which response and variance agree.", "eq-tap-consistency", "4.14"),
 (r"(\Sigma^{-1} - J)\, m = h", "For Gaussian spins the reaction cancels, and the layer is linear.", "eq-theorem", "4.71"),
 (r"\frac{dz}{d\theta} = \Big( 1 - \frac{\partial f}{\partial z} \Big)^{-1} \frac{\partial f}{\partial \theta}", "A layer at rest is differentiated without its steps.", "eq-implicit", "4.69"),
]),
("5. Spin free energies", [
 (r"\varphi(z) = \tfrac\beta2 \sum_i z_i - \tfrac12 \ln\det V + \tfrac\beta{2D} \mathrm{Tr}\, H^\top V^{-1} H", "Vector spins, exact as their components grow: a minimum over $z$.", "eq-vec-phi", "5.30"),
 (r"\langle s_i \rangle = (V^{-1} H)_i, \quad V = \mathrm{diag}(z) - J", "What they answer: one linear solve.", "eq-vec-response", "5.22"),
 (r"-\frac{dF}{dh_i} = \langle s_i \rangle + \tfrac12 \sum_{mn} \langle s_m \cdot s_n \rangle \frac{\partial J_{mn}}{\partial h_i}", "Where couplings follow the tokens, a second term: attention again.", "eq-resp-two", "5.83"),
]),
("6. Message passing", [
 (r"\mathrm{out}_i = \sum_{j \to i} p_{ji} v_j", "Attention on a graph: gather along edges.", "eq-gather", "6.14"),
 (r"u_{i \to j} = \mathrm{artanh}\big( \tanh J_{ij} \tanh( h_i + \sum_{k \ne j} u_{k \to i} ) \big)", "A belief is passed on without what came from there.", "eq-spin-message", "6.57"),
 (r"P(j \mid q) \propto e^{q \cdot k_j / \sigma^2}", "A row of weights is the posterior of which key made the query.", "eq-posterior", "6.80"),
 (r"z^{t+1} = y - A x^{t+1} + \tfrac nm \langle \eta' \rangle z^t", "Many weak messages: means with a memory, Onsager's again.", "eq-amp-signal", "6.105"),
]),
("7. Transformers as collectives", [
 (r"\mathbb E |m - f(h)|^2 \ge \mathbb E\, \mathrm{Var}(m \mid h)", "No mixer that does not read the tokens gets below this.", "eq-floor", "7.3"),
 (r"\mathbb E |g - x|^2 = \mathbb E |\hat x - x|^2 + \mathbb E |g - \hat x|^2", "One step at $\\beta = 1/\\sigma^2$ is Bayes' answer $\\hat x$; what moves on pays.", "eq-pythagoras", "7.36"),
 (r"U = \mathbb E \sum_j p_j^2 \,\big/\, \mathbb E\, p_{\mathrm{right}} = 1", "The thermometer: as sure as right.", "eq-thermometer", "7.39"),
 (r"x_{t+1} = \mathrm{LN} \sum_h W_O^h W_V^h \sum_a p^h_a(x_t)\, c_a", "A walk: what was read is what is asked next; no energy does this.", "eq-walk", "7.70"),
]),
]
import json, glob, nbformat
where = {}
eqs = {}
for f in sorted(glob.glob("notebooks/*.ipynb")):
    stem = f.split("/")[1][:-6]
    text = "\n".join(c.source for c in nbformat.read(f, 4).cells)
    for name, n in re.findall(r'<a id="(eq-[^"]+)"></a>.*?\\tag\{([^}]*)\}', text, re.S):
        eqs.setdefault(name, (stem, n))
claims = dict(re.findall(r'notebooks/(\S+?)\.html#claim-([\d]+-[\da-z]+)"', open("book/claims.md").read()) and [(c.replace("-", ".", 1), p) for p, c in re.findall(r'notebooks/(\S+?)\.html#claim-([\d]+-[\da-z]+)"', open("book/claims.md").read())])
sent = {m[0]: m[1] for m in re.findall(r'>([\d]+\.[\da-z]+)</a>[^|]*\| (.*?) \|', open("book/claims.md").read())}

pages = {}
for f in sorted(glob.glob("notebooks/*.ipynb")):
    stem = f.split("/")[1][:-6]
    pages[stem] = nbformat.read(f, 4).cells[0].source.splitlines()[0][2:].split(".")[0]
out = ["""# The course on two sheets

The equations that matter, in one notation, each with the page that derives it and a claim that checks it. Printed, they fit on two sheets of A4.

::::{div} sheet
"""]
for title, items in rows:
    out.append(f"## {title}\n\n| equation | what it says | where |\n|---|---|---|")
    for f, words, eq, claim in items:
        page = claims[claim.replace(".", "-", 1)] if False else dict((c.replace("-", "."), p) for p, c in re.findall(r'notebooks/(\S+?)\.html#claim-([\d]+-[\da-z]+)"', open("book/claims.md").read()))[claim]
        math = f.replace("|", "\\vert ") if "|" in f else f
        out.append(f"| ${math}$ | {words} | [eq. {eqs[eq][1]}](#{eq}), <a href=\"../notebooks/{page}.html#claim-{claim.replace('.', '-')}\">claim {claim}</a> |")
    out.append("")
out.append("""## Symbols

| symbol | in physics | in machine learning | symbol | in physics | in machine learning |
|---|---|---|---|---|---|
| $\\beta$ | inverse temperature | scale of the scores | $J$ | couplings | who attends to whom |
| $s_{ij}$ | minus an energy | score, logit | $h$ | external field | token |
| $p_{ij}$ | Boltzmann weight | attention weight | $m$ | magnetisation | output of a layer |
| $Z$, $F$ | partition sum, free energy | log-sum-exp | $\\chi$ | response, covariance | Jacobian |
| $H$ | entropy | uncertainty | $V$ | Onsager's reaction | correction of a token |
| $Y_2$ | participation | two draws agree | $z$ | multiplier of a length | normaliser |
| $\\sigma$, $\\sigma_c$ | spread, where it freezes | spread of the scores | $u_{i \\to j}$ | cavity field | message |
| $\\xi$ | state | query | $U$ | Nishimori's ratio | calibration |
| $x_i$ | memory | key and value | $\\lambda$ | share of couplings from a context | how much must be read |
| $\\gamma$ | time step | residual weight | $T$ | time | number of tied layers |

All of them, with names in the code: [notation](notation.md). What is explained and what is not: [what physics explains](what_physics_explains.md).
::::
""")
open("book/summary.md", "w").write("\n".join(out))
