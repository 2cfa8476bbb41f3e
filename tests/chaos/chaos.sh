#!/usr/bin/env bash
# Real processes under random faults: a master that recovers, two workers on two hosts, a driver that runs random jobs
# with known answers (tests/apps/chaos.cpp). In each round some faults are dealt from a shuffled deck (faults.sh),
# then all is healed, and it must be seen that: no answer was wrong; further jobs end right; the application ends; the
# master has its workers and all cores back; no executor is left. The first breach ends the run and keeps the logs.
# MINUTES (60) bounds it; of 3 or more it fails too when a kind of fault has met nothing. SEED repeats its choices, though
# not the machine's timing. CHAOS_INSIDE=alone does without namespaces, and so without network faults and full disks.
set -uo pipefail
cd "$(dirname "$0")/../.."
export MINUTES=${MINUTES:-60} SEED=${SEED:-$((RANDOM << 15 | RANDOM))}

# A namespace of its own: nothing survives the run, ports are free, disks can be mounted, the hosts have a network
# between them that can be broken.
if [ -z "${CHAOS_INSIDE:-}" ]; then
  for rights in "" --map-root-user; do
    inside=(unshare $rights --net --mount --pid --fork --mount-proc --kill-child)
    why=$("${inside[@]}" true 2>&1) && CHAOS_INSIDE=namespaces exec "${inside[@]}" "$0"
  done
  echo "chaos needs namespaces of network, mounts and processes, which this user cannot make: $why"
  echo "CHAOS_INSIDE=alone does without them, and leaves out network faults and full disks"
  exit 1
fi

. tests/processes/checks.sh
CHAOS=$(realpath "${CHAOS:-build/tests/chaos}")
. tests/chaos/faults.sh
finish() {
  [ $failed = 0 ] || echo "seed $SEED; logs in $dir"
  heal_all > /dev/null 2>&1
  stop_cluster
  unmount_disks
  [ $failed != 0 ] || rm -rf "$dir"
}
trap finish EXIT
RANDOM=$((SEED % 32768))
started=$SECONDS
# Silence counts as loss after 5 to 6 s; retries are not what ends a job here.
master_conf=(--conf spark.worker.timeout=5 --conf spark.deploy.maxExecutorRetries=-1
  --conf spark.deploy.recoveryMode=FILESYSTEM --conf "spark.deploy.recoveryDirectory=$dir/recovery")
app_conf=(--conf spark.network.timeout=6s --conf spark.network.timeoutInterval=2s --conf spark.executor.heartbeatInterval=1s
  --conf spark.task.maxFailures=1000 --conf spark.stage.maxConsecutiveAttempts=1000 --conf spark.shuffle.io.retryWait=1s
  --conf spark.executor.memory=512m --conf "spark.local.dir=$dir/local" --conf spark.log.level=INFO)
[ "$CHAOS_INSIDE" = alone ] || app_conf+=(--conf spark.driver.port=${ports[driver]%-*} \
  --conf spark.driver.blockManager.port=${ports[driver-blocks]%-*} --conf spark.blockManager.port=${ports[blocks]%-*})

say() { printf '%4d s  %s\n' $((SECONDS - started)) "$*"; }
# until_true SECONDS COMMAND…
until_true() {
  local until=$((SECONDS + $1)); shift
  until "$@" > /dev/null 2>&1; do
    (( SECONDS < until )) || return 1
    read -rt 0.1 <> <(:) || true
  done
}

# ---- the application ----

# new_app: a way to run it, and settings, at random.
new_app() {
  : > "$dir/report"
  disk_was_full=
  rm -f "$dir/stop"
  choose mode client supervised
  round_conf=()
  choose value 0 8 32 128; round_conf+=(--conf "tinderbox.task.launchAhead=$value")
  choose value true false; round_conf+=(--conf "spark.speculation=$value")
  # In every other round outputs are files: a full disk meets little else.
  value=$((round % 2 ? 0 : 64))k; round_conf+=(--conf "tinderbox.shuffle.maxInMemoryOutput=$value")
  app_seed=$RANDOM
  say "round $round: $mode ${round_conf[*]//--conf /}, seed of the jobs $app_seed"
  start_app
}
start_app() {
  local how=()
  [ $mode = client ] || how=(--deploy-mode cluster --supervise --driver-memory 512m)
  local what=("$CHAOS" submit --master "$master_url" "${how[@]}" "${app_conf[@]}" "${round_conf[@]}" --class chaos "$CHAOS"
    "$app_seed" "$dir/report" "$dir/stop" "$dir/output")
  if [ $mode = client ]; then
    SPARK_LOCAL_IP=127.0.0.1 "${what[@]}" >> "$dir/driver.log" 2>&1 &
    driver=$!
  else
    SPARK_LOCAL_IP=127.0.0.1 timeout 60 "${what[@]}" >> "$dir/submit.log" 2>&1 || { echo "not submitted"; tail -5 "$dir/submit.log"; return 1; }
  fi
}
right() { grep -c ' right ' "$dir/report"; }
more_right() { [ "$(right)" -ge "$1" ]; }
# Want of disk is no excuse in a round without a full disk.
no_wrong() {
  local bad='WRONG|FAILED'
  [ -n "$disk_was_full" ] || bad+='| failed: '
  ! grep -E "$bad" "$dir/report"
}
# Only a driver that the master has replaced may be told to end.
count() { cat "${@:2}" | grep -c -- "$1"; }
cancelled_by_right() {
  cancelled=$((cancelled + $(count ' cancelled: ' "$dir/report")))
  local replaced; replaced=$(count '(RELAUNCHING)' "$dir"/master*.log)
  [ $cancelled -le "$replaced" ] || { echo "$cancelled drivers were told to end, $replaced replaced"; return 1; }
}
driver_runs() { # a client-mode driver that nobody killed
  [ $mode != client ] || [ -n "${busy[driver]:-}" ] || kill -0 "$driver" 2>/dev/null || { echo "the driver ended by itself"; tail -20 "$dir/driver.log"; return 1; }
}
app_ends() {
  touch "$dir/stop"
  if [ $mode = client ]; then
    until_true 60 driver_ended || { echo "the driver does not end"; return 1; }
    wait "$driver" || { echo "the driver ended with $?"; return 1; }
    driver=
  else
    until_true 90 grep -qx end "$dir/report" && until_true 30 no_driver || { echo "the driver does not end: $(driver_pids)"; return 1; }
  fi
}
driver_ended() { ! kill -0 "$driver" 2>/dev/null; }
no_driver() { [ -z "$(driver_pids)" ]; }
no_executor() { [ -z "$(executors)" ]; }
cluster_is_whole() {
  until_true 60 no_executor || { echo "executors left: $(executors)"; return 1; }
  json_is aliveworkers 2 60 > /dev/null && json_is coresused 0 30
}

# ---- a round ----

breach() { say "BREACH: $1"; failed=1; sed 's/^/  /' "$dir/check.log"; tail -5 "$dir/report" 2>/dev/null; exit 1; }
must() { # must WHAT COMMAND…
  local what=$1; shift
  "$@" > "$dir/check.log" 2>&1 || breach "$what"
}
run_round() {
  new_app > "$dir/check.log"; cat "$dir/check.log"
  must "the first job ends right within 60 s" until_true 60 more_right 1
  local i
  for ((i = 3 + RANDOM % 4; i > 0; --i)); do
    deal
    wait_a_little $((1 + RANDOM % 5))
    must "no answer is wrong" no_wrong
    must "the driver lives" driver_runs
  done
  faults_end
  local before; before=$(right)
  must "healed: two more jobs end right within 90 s" until_true 90 more_right $((before + 2))
  must "no answer is wrong" no_wrong
  must "the application ends when it is told to" app_ends
  must "no answer is wrong" no_wrong
  must "no driver is told to end but one in whose place another runs" cancelled_by_right
  must "the master has its workers and cores back, no executor is left" cluster_is_whole
  jobs=$((jobs + $(right))) excused=$((excused + $(grep -c ' failed: ' "$dir/report")))
}

jobs=0 excused=0 cancelled=0 round=0
say "seed $SEED, $MINUTES minutes, $CHAOS_INSIDE"
must "each host has a disk" make_disks
start_master "${master_conf[@]}"
must "the hosts have a network" make_network
start_worker_on 1
start_worker_on 2
must "both workers register" json_is aliveworkers 2 20
while (( SECONDS - started < MINUTES * 60 || round == 0 )); do
  round=$((round + 1))
  run_round
done
say "$round rounds, $jobs jobs right, $excused failed for want of disk"
say "faults, and what they met: $(for f in "${kinds[@]}"; do echo "$f ${dealt[$f]:-0} (${met[$f]:-0})"; done | paste -sd, | sed 's/,/, /g')"
(( MINUTES < 3 )) || check "each kind of fault has met something" every_kind_met
stop_cluster
end_network
check "no process is left" no_process_left
exit $failed
