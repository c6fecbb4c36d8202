#!/bin/bash
# Keep run files, specimens and drafts in a side commit, merged with main's tree unchanged. W is what 34d8077 (or its heir) unpacked.
set -e
cd /work/main
test -z "$(git status --porcelain)"
export GIT_INDEX_FILE=/work/tmp/keep.index
rm -f $GIT_INDEX_FILE
W=/work/tmp/keepdir; rm -rf $W; mkdir -p $W
cp -r /work/tmp/experiments /work/tmp/drafts $W/
cp /tmp/collect_runs/*.json /tmp/collect_runs/timing.txt $W/experiments/collect_runs/
cp /work/tmp/*.py /work/tmp/*.sh $W/drafts/ 2>/dev/null || true
git --work-tree=$W add -A -f .
T=$(git write-tree)
C=$(git commit-tree $T -p $PARENT -m "Runs of collectives.py and specimens.py as far as they are, and drafts, kept beside the tree")
unset GIT_INDEX_FILE
H=$(git rev-parse HEAD)
M=$(git commit-tree HEAD^{tree} -p $H -p $C -m "Merge: what has been run so far is kept in the history, the tree stays as it was")
git update-ref refs/heads/main $M $H
echo kept $C merged $M
