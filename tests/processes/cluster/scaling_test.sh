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
check "so does one that gets the signal that is configured, from a preStop hook, which ends after it" \
  run_case hook --conf spark.decommission.enabled=true --conf spark.executor.decommission.signal=USR2
check "an executor that is killed: the reason names the signal" run_case signal
check "outputs and cached partitions of a decommissioned executor move to others; nothing is computed again" \
  run_case migrate --conf spark.decommission.enabled=true --conf spark.storage.decommission.enabled=true
check "an executor whose task does not heed its kill ends, and is replaced" \
  run_case reap --conf spark.task.reaper.enabled=true --conf spark.task.reaper.pollingInterval=100ms \
  --conf spark.task.reaper.killTimeout=500ms
check "the application kills an executor, which is not replaced, and asks for more; nothing fails" run_case will
check "executors are rolled: one after the other is replaced; nothing fails" \
  run_case roll --conf spark.decommission.enabled=true --conf spark.kubernetes.executor.rollInterval=2s \
  --conf spark.executorEnv.ROLLED=yes
waits_for_share() { # CORES KEY [OPTIONS…]
  local cores=$1 key=$2
  shift 2
  timeout 60 "$TINDERBOX" run-example --master "$master_url" --executor-cores 1 --executor-memory 256m \
    --conf spark.log.level=INFO --conf "spark.cores.max=$cores" --conf spark.scheduler.minRegisteredResourcesRatio=1 \
    "$@" pi 2 > "$dir/share.out" 2>&1 &&
    grep -q "Ready for scheduling after reaching spark.scheduler.$key" "$dir/share.out"
}
share_or_time() {
  waits_for_share 4 minRegisteredResourcesRatio &&
    waits_for_share 99 maxRegisteredResourcesWaitingTime --conf spark.scheduler.maxRegisteredResourcesWaitingTime=1s
}
check "an application waits for its share of executors, but not for ever" share_or_time
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

USR2=(--conf spark.worker.decommission.signal=USR2)
start_master
start_worker worker5 --cores 1 --memory 2g --conf spark.decommission.enabled=true "${USR2[@]}"
start_worker worker6 --cores 1 --memory 2g --conf spark.decommission.enabled=true "${USR2[@]}"
check "so does one that gets the signal that is configured for workers" run_case worker "${USR2[@]}"
stop_cluster
check "no process is left" no_process_left
exit $failed
