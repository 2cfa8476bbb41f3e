#!/usr/bin/env bash
# Executors of a standalone cluster that come and go while the application runs: dynamic allocation, decommissioning by
# signal and of a whole worker, and why an executor ended. The application tests/apps/scaling.cpp checks the events.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/checks.sh
SCALING=$(realpath "${SCALING:-build/tests/scaling}")
ALLOCATION=(--conf spark.dynamicAllocation.enabled=true --conf spark.dynamicAllocation.maxExecutors=3
  --conf spark.dynamicAllocation.initialExecutors=1 --conf spark.dynamicAllocation.executorIdleTimeout=2s)
# run_case NAME [OPTIONS…]
run_case() {
  local name=$1
  shift
  timeout 100 "$SCALING" submit --master "$master_url" --conf spark.log.level=WARN --executor-cores 1 \
    --executor-memory 256m "$@" --class scaling "$SCALING" "$name" > "$dir/$name.out" 2>&1 \
    && grep -q 'right result' "$dir/$name.out" || { cat "$dir/$name.out"; false; }
}

start_master
start_worker worker1 --cores 2 --memory 2g
start_worker worker2 --cores 2 --memory 2g
check "executors come with the load, go when idle, and come back" run_case grow "${ALLOCATION[@]}"
check "idle executors are decommissioned when that is enabled" \
  run_case idle "${ALLOCATION[@]}" --conf spark.decommission.enabled=true
check "an executor that gets SIGPWR finishes its task and goes; nothing fails" \
  run_case decommission --conf spark.decommission.enabled=true
check "an executor that is killed: the reason names the signal" run_case signal
settings_refused() {
  ! run_case grow "${ALLOCATION[@]}" --conf spark.dynamicAllocation.minExecutors=9 > /dev/null \
    && grep -q 'minExecutors (9) must be less than or equal to .*maxExecutors (3)' "$dir/grow.out"
}
check "settings that cannot work are refused" settings_refused
stop_cluster

start_master
start_worker worker3 --cores 1 --memory 2g --conf spark.decommission.enabled=true
start_worker worker4 --cores 1 --memory 2g --conf spark.decommission.enabled=true
check "a worker that gets SIGPWR: its executor finishes and goes, the other goes on; nothing fails" run_case worker
stop_cluster
check "no process is left" no_process_left
exit $failed
