#!/bin/bash
# Keep run files, specimens' runs, weights and drafts in a side commit, merged with main's tree unchanged.
set -e
cd /work/main
export GIT_INDEX_FILE=/work/tmp/keep.index
rm -f $GIT_INDEX_FILE
W=/work/tmp/keepdir; rm -rf $W; mkdir -p $W/experiments/collect_runs $W/experiments/specimens $W/experiments/spec_runs $W/drafts
cp /tmp/collect_runs/timing.txt $W/experiments/collect_runs/ 2>/dev/null || true
cp /tmp/collect_runs/*.json $W/experiments/collect_runs/
cp /work/tmp/experiments/collect_runs/walkers -r $W/experiments/collect_runs/ 2>/dev/null || true
cp /work/tmp/spec_runs/*.json $W/experiments/spec_runs/ 2>/dev/null || true
for f in /work/tmp/specimens/*.pt; do case $f in *half.pt) ;; *) cp $f $W/experiments/specimens/;; esac; done
for j in $W/experiments/spec_runs/*.json; do b=$(basename $j .json); b=${b#*-}; rm -f $W/experiments/specimens/$b-checkpoint.pt; done
cp -r /work/tmp/drafts/* $W/drafts/ 2>/dev/null || true
cp -r /work/tmp/brief/* $W/drafts/ 2>/dev/null || true; cp /work/tmp/more_hops.json $W/experiments/; cp /work/tmp/examinations*.json /work/tmp/driven_specimens.json /work/tmp/erasing.json /work/tmp/driven_causes.json /work/tmp/more_hops.json $W/experiments/ 2>/dev/null || true
cp /work/tmp/*.py /work/tmp/*.sh $W/drafts/ 2>/dev/null || true
git --work-tree=$W add -A -f .
T=$(git write-tree)
C=$(git commit-tree $T -p ${PARENT:-2214d8a} -m "Runs of collectives.py and specimens.py as far as they are, and drafts, kept beside the tree")
unset GIT_INDEX_FILE
H=$(git rev-parse HEAD)
M=$(git commit-tree HEAD^{tree} -p $H -p $C -m "Merge: what has been run so far is kept in the history, the tree stays as it was")
git update-ref refs/heads/main $M $H
echo kept $C merged $M
