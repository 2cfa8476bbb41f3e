#!/bin/bash
# K31: executors' pods deleted while decommissioning is on: what they hold goes to the others, and nothing is computed
# again; a task that does not end is not waited for longer than a key says.
set -uo pipefail
. tests/kubernetes/checks.sh
trap end_case EXIT
make_namespace
strip -o "$dir/pods" build/tests/pods
moving=(--conf spark.decommission.enabled=true --conf spark.storage.decommission.enabled=true
  --conf spark.storage.decommission.rddBlocks.enabled=true --conf spark.storage.decommission.shuffleBlocks.enabled=true)

# without_first SECONDS KIND OPTIONS…: the application, whose first executor's pod is deleted after a round.
without_first() {
  local seconds=$1 kind=$2
  shift 2
  submit --name pods --num-executors 3 "$@" "$dir/pods" "$seconds" "$kind" >"$dir/submit.log" 2>&1 &
  local submitter=$!
  until_true 40 eval 'driver_log | grep "^round 1"' && kubectl delete pods -l spark-exec-id=1 --wait=false || { kill $submitter; return 1; }
  wait $submitter
  driver_log >"$dir/driver.log"
  grep 'all rounds: right results' "$dir/driver.log" && grep '^gone 1: ' "$dir/driver.log" || { tail -n 20 "$dir/driver.log" "$dir/submit.log"; return 1; }
}
computed_again() { without_first 8 kept && grep '^cached [0-9]*, shuffled [0-9]*$' "$dir/driver.log" && ! grep -c '^cached 6000, shuffled 6000$' "$dir/driver.log"; }
check "an executor's pod deleted without decommissioning: what it held is computed again" computed_again
check "nothing stays" forget_driver
moved() { without_first 8 kept "${moving[@]}" && grep '^gone 1: .*decommission' "$dir/driver.log" && grep '^cached 6000, shuffled 6000$' "$dir/driver.log"; }
check "K31 with it: cached partitions and map outputs are moved, nothing is computed again" moved
check "nothing stays" forget_driver
forced() {
  local start=$SECONDS
  without_first 1 stuck "${moving[@]}" --conf spark.executor.decommission.forceKillTimeout=3s &&
    grep 'Executor 1 did not finish decommissioning in time' "$dir/driver.log" && [ $((SECONDS - start)) -lt 25 ]
}
check "K31 forced by a timeout: its task, which would take two minutes, runs elsewhere" forced
check "nothing stays" forget_driver
exit $failed
