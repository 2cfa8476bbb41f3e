#!/usr/bin/env bash
# A cluster among strangers: tests/apps/hostile.cpp sends nonsense, thousands of times, to every port on which master,
# worker, driver and executors listen. Without authentication a lie that is well formed can succeed; what must hold
# all the same: every process lives, its memory is bounded, a job that nobody lied about ends right, later jobs work,
# peers that broke the rules are dropped, and the log is not flooded. HOSTILE_SEED and HOSTILE_ROUNDS repeat a run.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/checks.sh
export SPARK_LOCAL_IP=127.0.0.1
HOSTILE=$(realpath "${HOSTILE:-build/tests/hostile}")
seed=${HOSTILE_SEED:-$RANDOM} rounds=${HOSTILE_ROUNDS:-400}
most_growth_kb=$((64 << 10)) most_peak_kb=$((384 << 10)) most_log_bytes=$((2 << 20))
echo "seed $seed, $rounds rounds, logs in $dir"

# ports_of PID: the TCP ports on which it listens.
ports_of() {
  local inodes port
  inodes=$(find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null | tr -dc '0-9\n')
  for port in $(awk -v inodes="$inodes" 'BEGIN { n = split(inodes, a); for (i = 1; i <= n; i++) own[a[i]] = 1 }
      $4 == "0A" && $10 in own { sub(/.*:/, "", $2); print $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null); do
    echo $((16#$port))
  done
}
cpu_seconds() { awk -v hz="$(getconf CLK_TCK)" '{ printf "%.1f", ($14 + $15) / hz }' "/proc/$1/stat"; }
memory_of() { awk -v f="$2:" '$1 == f { print $2 }' "/proc/$1/status"; }
# submit_long NAME: the driver in the background, its executors at work until $dir/NAME.enough is there. Sets $driver,
# $app, $driver_port.
submit_long() {
  "$FAULTS" submit --master "$master_url" --class faults "$FAULTS" long 600 "$dir/$1.enough" \
    > "$dir/$1.out" 2> "$dir/$1.log" &
  driver=$!
  app= driver_port=
  local tries=400 line
  until line=$(pgrep -f -a -- "$dir/.*--driver-url spark://.*--app-id" | head -1) && [ -n "$line" ]; do
    (( tries-- > 0 )) || return 1
    read -rt 0.05 <> <(:) || true
  done
  app=$(sed 's/.*--app-id \([^ ]*\).*/\1/' <<< "$line")
  driver_port=$(sed 's/.*--driver-url [^ ]*:\([0-9]*\).*/\1/' <<< "$line")
  wait_for_ports
}
wait_for_ports() { # until each executor listens
  local tries=400 pid
  for pid in $(executors "$app "); do
    until [ -n "$(ports_of "$pid")" ]; do
      (( tries-- > 0 )) || return 1
      read -rt 0.05 <> <(:) || true
    done
  done
}
# find_ports: KIND:PORT of every process, in $targets.
find_ports() {
  targets=()
  local port pid
  for port in $(ports_of "$master_pid"); do
    [ "$port" = "${master_ui##*:}" ] && targets+=("page:$port") || targets+=("master:$port")
  done
  for port in $(ports_of "$worker_pid"); do
    [ "$port" = "$worker_page" ] && targets+=("page:$port") || targets+=("worker:$port")
  done
  for port in $(ports_of "$driver"); do
    [ "$port" = "$driver_port" ] && targets+=("driver:$port") || targets+=("blocks:$port")
  done
  for pid in $(executors "$app "); do
    for port in $(ports_of "$pid"); do targets+=("blocks:$port"); done
  done
  echo "targets: ${targets[*]}"
  [ ${#targets[@]} -ge 7 ]
}
# hostile MODE ROUNDS…: its output is shown when it fails.
hostile() {
  local mode=$1; shift
  timeout 120 "$HOSTILE" submit --master 'local[1]' --conf spark.log.level=ERROR --class hostile "$HOSTILE" "$mode" "$seed" "$@" \
    > "$dir/hostile-$mode.out" 2>&1
  local status=$?
  sed 's/^/  /' "$dir/hostile-$mode.out"
  return $status
}
remember() { before=(); local p; for p in "$@"; do before+=("$p $(memory_of "$p" VmRSS)"); echo 5 > "/proc/$p/clear_refs"; done; }
alive_and_small() {
  local entry pid was now peak ok=0
  for entry in "${before[@]}"; do
    read -r pid was <<< "$entry"
    [ -d "/proc/$pid" ] || { echo "process $pid is gone"; ok=1; continue; }
    now=$(memory_of "$pid" VmRSS) peak=$(memory_of "$pid" VmHWM)
    echo "  process $pid: $was kB before, $now kB after, $peak kB at most, $(cpu_seconds "$pid") s of CPU"
    (( now - was <= most_growth_kb && peak - was <= most_peak_kb )) || ok=1
  done
  return $ok
}
new_job() {
  timeout 60 "$FAULTS" submit --master "$master_url" --class faults "$FAULTS" long 1 > "$dir/later.out" 2> "$dir/later.log" \
    && grep -q 'right result' "$dir/later.out" || { tail -20 "$dir/later.log"; return 1; }
}
logs_are_bounded() {
  local f ok=0 lines
  for f in "$dir/master.log" "$dir/worker.log" "$dir/driver.log"; do
    lines=$(grep -c 'dropped a peer' "$f")
    echo "  $f: $(stat -c %s "$f") bytes, $(wc -l < "$f") lines, $lines of dropped peers: $(grep -o '([0-9]* so far)' "$f" | tail -1)"
    (( $(stat -c %s "$f") <= most_log_bytes && lines >= 1 && lines <= 100 )) || ok=1
  done
  return $ok
}

start_master
start_daemon worker worker --host 127.0.0.1 --port 0 --webui-port 0 --work-dir "$dir/worker" --cores 2 --memory 2g "$master_url"
worker_pid=$pid
wait_line "$dir/worker.log" 'registered with master' > /dev/null
worker_page=$(wait_line "$dir/worker.log" 'WorkerWebUI' | grep -oE '[0-9]+$')

check "a long job runs" submit_long driver
check "every process listens" find_ports
processes=("$master_pid" "$worker_pid" "$driver" $(executors "$app "))
remember "${processes[@]}"
hostile half 1 "${targets[@]}" > "$dir/half.out" &
half=$!
check "garbage: who breaks the rules is dropped, no file is given away" hostile garbage "$rounds" "${targets[@]}"
check "garbage: all processes live and stay small" alive_and_small
check "floods: questions whose answers nobody reads" hostile flood 300 "${targets[@]}"
check "floods: all processes live and stay small" alive_and_small
ended_by_deadline() { wait "$half"; local status=$?; cat "$dir/half.out"; return $status; }
check "connections that never come to a message end by their deadline" ended_by_deadline
check "the long job was still running" kill -0 "$driver"
long_job() {
  touch "$dir/driver.enough"
  wait "$driver" && grep -q 'right result' "$dir/driver.out" || { cat "$dir/driver.out"; tail -20 "$dir/driver.log"; return 1; }
}
check "the long job ends with the right result" long_job
check "dropped peers are counted, the logs are not flooded" logs_are_bounded
check "a new job works" new_job

check "a second long job runs" submit_long second
find_ports > /dev/null
remember "$master_pid" "$worker_pid"
worker_id=$(http_get "$master_ui/json/" | grep -oE 'worker-[0-9]+-127\.0\.0\.1-[0-9]+' | head -1)
check "lies are told" hostile lies 1 "${targets[@]}" "$app" "$worker_id" "$master_url"
check "lies: master and worker live and stay small" alive_and_small
kill -9 "$driver" 2>/dev/null; wait "$driver" 2>/dev/null; driver=
check "lies: a new job works" new_job
stop_cluster
check "no process is left" no_process_left
exit $failed
