#!/bin/bash
# long translators, in the order of what key claims rest on
cd .; export OMP_NUM_THREADS=1 PYTHONPATH=.
P=.venv/bin/python; O="--output ./translation_scores.json"
$P experiments/translation_scores.py --blocks final --widths 128 32 64 $O
$P experiments/translation_scores.py --blocks final --widths 256 $O
$P experiments/translation_scores.py --blocks heat layers --widths 128 $O
echo through
