cd ./experiments && export OMP_NUM_THREADS=1
if [ -n "$1" ]; then while kill -0 $1 2>/dev/null; do sleep 3; done; fi
N="nice -n 19 ../.venv/bin/python"
ONE="free|random, 0.5|random, 2|random, 5|random, 10|random, 15|random, 25|random, 40|random, 80|random, 160|random, as learned"
SIX="softmax attention, six heads|free, six heads|tanh, six heads|free, six heads, one z"
EQ="equilibrium block, one step|equilibrium block, eight steps|equilibrium block, held"
CORE="binary, none|softmax block, 16 wide|softmax block, 10 wide|no mixer: 64 pixels|gaussian"
dv() { local names=$1; shift; IFS='|' read -ra only <<< "$names"; $N digit_verdicts.py --only "${only[@]}" --steps "$@"; }
dv "$ONE" 300 1000
dv "$SIX" 300 1000
$N graph_verdicts.py
dv "$EQ" 300 1000
dv "$CORE" 300 1000
dv "$SIX|$CORE" 3000
$N digit_verdicts.py
echo finished
