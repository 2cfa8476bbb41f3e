#!/usr/bin/env bash
# Faults on real processes of a standalone cluster: kill -9 of executors, of a worker, of a holder of map outputs, of
# the driver, of the master with and without recovery, of holders of cached partitions, of who writes an output. The
# applications tests/apps/faults.cpp and copies.cpp check results and scheduler events; this script checks what only the
# outside sees.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/checks.sh
COPIES=$(realpath "${COPIES:-build/tests/copies}") STORES=$(realpath "${STORES:-build/tests/stores}")
# submit_long OUT: in the background until the file OUT.enough is there; $driver is the driver's own process, which
# `submit` becomes.
submit_long() {
  "$FAULTS" submit --master "$master_url" --conf spark.log.level=ERROR --class faults "$FAULTS" long 600 "$1.enough" > "$1" 2>&1 &
  driver=$!
}
run_fault() { timeout 60 "$FAULTS" submit --master "${on:-$master_url}" --conf spark.log.level=ERROR --class faults "$FAULTS" "$@" > "$dir/$1.out" 2>&1 \
  && grep -q 'right result' "$dir/$1.out" || { cat "$dir/$1.out"; false; }; }

copies() {
  timeout 120 "$COPIES" submit --master 'local-cluster[3,1,512]' --conf spark.log.level=ERROR --conf spark.executor.memory=512m \
    --conf spark.scheduler.minRegisteredResourcesRatio=1 --conf spark.local.dir="$dir/copies" --class copies "$COPIES" "$dir/checkpoints" > "$dir/copies.out" 2>&1 \
    && grep -q 'right results' "$dir/copies.out" || { cat "$dir/copies.out"; false; }
}
check "holders of cached partitions are killed: copies serve and are made again, without copies only what was lost is computed again; checkpoints outlive writers, local ones do not" copies

start_master
start_worker worker1 --cores 1 --memory 2g
start_worker worker2 --cores 1 --memory 2g

check "an executor is killed while it runs tasks" run_fault executor
check "the holder of map outputs is killed between the stages" run_fault map-output
check "a task ends its process: the job fails after 4 attempts, the next one works" run_fault exit
check "a task crashes at its first record: it is the one that is blamed" run_fault crash
check "a task ends its process with exit code 0: the same" run_fault exit-0
check "a segmentation fault, a division by zero: four attempts, and the error names the signal" run_fault fault
check "a task runs out of memory: its executor ends with it" run_fault memory
check "a user function throws: the job fails after 4 attempts with the message" run_fault throw
in_local_cluster() { on='local-cluster[2,1,1024]' run_fault "$1"; }
for what in throw memory fault; do check "the same in local-cluster: $what" in_local_cluster $what; done
in_local() { # WHAT STATUS PATTERN
  timeout 60 "$FAULTS" submit --master 'local[2]' --conf spark.log.level=ERROR --class faults "$FAULTS" "$1" > "$dir/local-$1.out" 2>&1
  [ $? = "$2" ] && [ "$(grep -c '^Error: ' "$dir/local-$1.out")" = $(($2 == 1)) ] && { [ -z "$3" ] || grep "$3" "$dir/local-$1.out"; } || { cat "$dir/local-$1.out"; false; }
}
check "in local mode a throw fails the job at once" in_local throw 1 'failed 1 times, .*record 2 is bad'
check "in local mode so does memory that cannot be had" in_local memory 1 'failed 1 times, .*std::bad_alloc'
check "in local mode a segmentation fault is the end of the process" in_local fault 139 ''
check "a worker is killed while its executor runs tasks" run_fault worker
start_worker worker3 --cores 1 --memory 2g

driver_killed() {
  submit_long "$dir/driver.out"
  json_is coresused 2 && kill -9 $driver && json_is coresused 0 5
}
check "the driver is killed: the master has the cores back within 5 s" driver_killed


# The master has their cores back before they have ended.
no_executors() {
  local tries=200
  until [ -z "$(executors)" ]; do
    (( tries-- > 0 )) || { echo "executors left: $(executors)"; return 1; }
    read -rt 0.05 <> <(:) || true
  done
}
two_executors() {
  local tries=200
  until [ "$(executors | wc -w)" = 2 ]; do
    (( tries-- > 0 )) || { echo "executors: $(executors)"; return 1; }
    read -rt 0.05 <> <(:) || true
  done
}
# others_run PIDS: those have ended while their application runs on, and two others are there.
others_run() {
  local tries=400 p
  until [ "$(executors | wc -w)" = 2 ] && for p in $1; do [ ! -e "/proc/$p" ] || break; done && [ ! -e "/proc/$p" ]; do
    (( tries-- > 0 )) || { echo "executors before: $1 now: $(executors)"; return 1; }
    read -rt 0.05 <> <(:) || true
  done
}
# The master stands still, so that it has nobody killed: executors learn of the driver's end by themselves, and go
# although their tasks look at no record.
driver_lost() {
  local app ok=0
  "$FAULTS" submit --master "$master_url" --conf spark.log.level=ERROR --class faults "$FAULTS" compute > "$dir/lost.out" 2>&1 &
  driver=$!
  json_is coresused 2 && two_executors || return 1
  app=$(sed -n 's/.*Asked to launch executor \(app-[^/]*\).*/\1/p' "$dir/worker3.log" | tail -1)
  kill -STOP "$master_pid"
  kill -9 $driver
  no_executors && [ "$(cat "$dir"/worker?.log | grep -c "Executor $app/. finished with state EXITED message Command exited with code 1$")" = 2 ] || ok=1
  kill -CONT "$master_pid"
  json_is coresused 0 && return $ok
}
check "the driver is lost: executors whose tasks compute end by themselves with code 1" driver_lost
fail_beside() {
  timeout 20 "$FAULTS" submit --master 'local[2]' --conf spark.local.dir="$dir/local" --class faults "$FAULTS" fail-beside > "$dir/beside.out" 2>&1 \
    && grep 'fail-beside: right result' "$dir/beside.out" && [ -z "$(ls "$dir/local")" ]
}
check "a local application whose job failed ends although a task of it computes" fail_beside
exit_in_main() {
  local status=0
  timeout 20 "$FAULTS" submit --master "$1" --conf spark.local.dir="$dir/local" --class faults "$FAULTS" leave || status=$?
  [ $status = 7 ] && [ -z "$(ls "$dir/local")" ]
}
for m in 'local[2]' 'local-cluster[1,2,1024]' "$master_url"; do
  check "an application that calls exit() in its main ends as one that returns, $m" exit_in_main "$m"
done
deaf_main() {
  local status=0
  : > "$dir/deaf.out"  # not what the one before said
  "$FAULTS" submit --master "$1" --conf spark.local.dir="$dir/local" --class faults "$FAULTS" deaf >> "$dir/deaf.out" 2>&1 &
  driver=$!
  wait_line "$dir/deaf.out" '^deaf$' > /dev/null && kill -TERM $driver || return 1
  timeout 20 tail --pid=$driver -f /dev/null || { cat "$dir/deaf.out"; ls -l "$dir/local"; kill -9 $driver; return 1; }
  wait $driver || status=$?
  echo "status $status, left: $(ls "$dir/local")"
  [ $status = 143 ] && [ -z "$(ls "$dir/local")" ] && no_executors
}
for m in 'local[2]' 'local-cluster[1,2,1024]' "$master_url"; do
  check "one SIGTERM ends an application whose main asks for nothing any more, $m" deaf_main "$m"
done

# start_slow_web: /slow.txt at $web, a byte each half second for 6 s.
start_slow_web() {
  perl -e 'use IO::Socket::INET; $| = 1; alarm 120; $SIG{PIPE} = $SIG{CHLD} = "IGNORE";
    my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die; print $s->sockport, "\n";
    while (my $c = $s->accept) {
      next if fork; alarm 60; $c->autoflush(1);
      while (defined(my $line = <$c>)) { last if $line =~ /^\r?\n$/ }
      print $c "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\n";
      for (1 .. 12) { select(undef, undef, undef, 0.5); print $c "x" }
      exit;
    }' > "$dir/slow.out" 2> "$dir/slow.log" &
  pids+=("$!")
  web=http://127.0.0.1:$(wait_line "$dir/slow.out" '^[0-9]+$')
}
slow_file() {
  start_slow_web
  timeout 60 "$FAULTS" submit --master 'local-cluster[2,1,512]' --conf spark.executor.memory=512m \
    --conf spark.network.timeout=2s --conf spark.network.timeoutInterval=500ms --conf spark.executor.heartbeatInterval=300ms \
    --class faults "$FAULTS" slow-file "$web/slow.txt" > "$dir/slow-file.out" 2>&1 &&
    ! grep 'heartbeat timed out' "$dir/slow-file.out" || { cat "$dir/slow-file.out"; return 1; }
}
check "a shipped file that comes slower than executors may be silent costs none of them" slow_file
impatient() { # impatient ARGUMENTS…: gives slow.txt up before it is there
  local status=0
  timeout 5 "$TINDERBOX" submit --conf spark.files.fetchTimeout=100ms "$@" > "$dir/impatient.out" 2>&1 || status=$?
  cat "$dir/impatient.out"
  [ $status = 1 ] && grep -q "^Error: .*$web/slow.txt" "$dir/impatient.out"
}
for m in 'local[2]' 'local-cluster[1,1,1024]'; do
  check "the driver waits no longer for a file than spark.files.fetchTimeout, $m" impatient --master "$m" --files "$web/slow.txt" --class pi "$TINDERBOX" 1
done
check "nor does submit for the application" impatient --master 'local[2]' --class pi "$web/slow.txt"
# stopped_in_fetch SIGNAL CODE FOLDER COMMAND…: a signal while it fetches slow.txt below FOLDER ends it before the server
# is done, and nothing is left there.
stopped_in_fetch() {
  local signal=$1 code=$2 folder=$3 tries=400 status=0
  shift 3
  mkdir -p "$folder"
  "$@" > "$dir/fetch.out" 2>&1 &
  driver=$!
  until [ -n "$(find "$folder" -name '.fetch-slow.txt.*')" ]; do
    (( tries-- > 0 )) || { cat "$dir/fetch.out"; return 1; }
    read -rt 0.05 <> <(:) || true
  done
  kill -"$signal" $driver
  timeout 4 tail --pid=$driver -f /dev/null || { cat "$dir/fetch.out"; return 1; }
  wait $driver || status=$?
  cat "$dir/fetch.out"
  [ $status = "$code" ] && grep -q "^Error: .* received signal" "$dir/fetch.out" && [ -z "$(ls -A "$folder")" ]
}
for m in 'local[2]' 'local-cluster[1,1,1024]'; do
  check "SIGTERM while the driver tries whether a file can be fetched, $m" stopped_in_fetch TERM 143 "$dir/tried" \
    "$TINDERBOX" submit --master "$m" --conf spark.local.dir="$dir/tried" --files "$web/slow.txt" --class pi "$TINDERBOX" 1
done
check "SIGINT while submit fetches the application" stopped_in_fetch INT 130 "$dir/fetched" \
  env TMPDIR="$dir/fetched" "$TINDERBOX" submit --master 'local[2]' --class pi "$web/slow.txt"
stop_cluster

# saves MASTER [OPTIONS…] STEP: tests/apps/stores.cpp writes into $out.
out=$dir/saved
saves() {
  rm -rf "$out"
  timeout 60 "$STORES" submit --master "$1" --conf spark.log.level=ERROR "${@:2:$#-2}" --class stores "$STORES" "${@: -1}" "file:$out"
}
disturbed() { # MASTER [OPTIONS…] STEP: there is what an undisturbed run writes, and nothing else
  saves "$@" && cmp <(cat "$out"/part-*) <(seq -f '%.0f and filling so' 2000000) &&
    [ "$(ls -A "$out" | tr '\n' ' ')" = '_SUCCESS part-00000 part-00001 ' ] || { ls -AR "$out"; return 1; }
}
whole_kinds() { # MASTER [OPTIONS…] STEP: what it saved is read whole by itself, and nothing else is there
  local kind
  saves "$@" || return 1
  for kind in objects sequence; do
    [ "$(ls -A "$out/$kind" | tr '\n' ' ')" = '_SUCCESS part-00000 part-00001 ' ] || { ls -AR "$out"; return 1; }
  done
}
failed_save() {
  ! saves "$1" always-throws > "$dir/failed.out" 2>&1 && grep '^Error: Job aborted .*every attempt fails' "$dir/failed.out" &&
    [ -d "$out" ] && ! ls -A "$out" | grep -vx part-00000 || { tail -n 5 "$dir/failed.out"; return 1; }
}
start_master
start_worker here --cores 1 --memory 1g
start_worker there --cores 1 --memory 1g --host 127.0.0.2  # a copy of a task runs on another host
for m in 'local-cluster[2,1,1024]' "$master_url"; do
  check "an attempt that fails while it writes its part leaves nothing, $m" disturbed "$m" throws
  check "so does one whose process is killed, $m" disturbed "$m" dies
  check "a save that fails leaves no _SUCCESS and no part of who failed, $m" failed_save "$m"
  for step in kinds-throw kinds-die; do check "objects, keys with values: $step, $m" whole_kinds "$m" $step; done
done
check "a task that runs twice writes once" disturbed "$master_url" "${speculation[@]}" lingers
check "so it does with objects, keys with values" whole_kinds "$master_url" "${speculation[@]}" kinds-linger
rm -rf "$out"
stop_cluster

# A second master with the first one's log would take it away.
log_is_taken() {
  "$TINDERBOX" master --host 127.0.0.1 --port 0 --webui-port 0 --conf spark.deploy.recoveryMode=FILESYSTEM \
    --conf spark.deploy.recoveryDirectory="$dir/recovery-FILESYSTEM" > "$dir/second.log" 2>&1 && return 1
  grep 'another master uses it' "$dir/second.log"
}
# master_restart MODE: kills the master in the middle of a job and starts another one at the same address.
master_restart() {
  local mode=$1 before after
  start_master --conf spark.deploy.recoveryMode="$mode" --conf spark.deploy.recoveryDirectory="$dir/recovery-$mode"
  start_worker "$mode-1" --cores 1 --memory 2g
  start_worker "$mode-2" --cores 1 --memory 2g
  submit_long "$dir/$mode.out"
  json_is coresused 2 && two_executors || return 1
  before=$(executors)
  [ "$mode" = NONE ] || log_is_taken || return 1
  kill -9 "$master_pid"
  wait "$master_pid" 2>/dev/null
  start_daemon "master-$mode" master --host 127.0.0.1 --port "${master_url##*:}" --webui-port "${master_ui##*:}" \
    --conf spark.deploy.recoveryMode="$mode" --conf spark.deploy.recoveryDirectory="$dir/recovery-$mode"
  json_is aliveworkers 2 40 || return 1
  if [ "$mode" = FILESYSTEM ]; then
    json_is status '"ALIVE"' 20 && json_is coresused 2 10 || return 1
    after=$(executors)
    [ "$before" = "$after" ] || { echo "executors before: $before after: $after"; return 1; }
  else
    others_run "$before" || return 1
  fi
  touch "$dir/$mode.out.enough"
  wait $driver || { cat "$dir/$mode.out"; return 1; }
  grep -q 'right result' "$dir/$mode.out" && json_is coresused 0 10 && no_executors
}
check "FILESYSTEM recovery: workers and application come back, no executor is doubled" master_restart FILESYSTEM
stop_cluster
check "NONE: what the new master does not know is ended, nothing is left over" master_restart NONE
stop_cluster
check "no process is left" no_process_left
exit $failed
