#!/usr/bin/env bash
# What users do wrong, and what breaks around them: each gets the right exit code and one line on stderr that says what
# was asked, what was found and what to do. Warnings and the synopsis of a role's usage may stand beside it.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/checks.sh
export SPARK_LOCAL_IP=127.0.0.1
chmod 755 "$dir"
T=$TINDERBOX
err=$dir/stderr out=$dir/stdout

fail() { echo "FAILED - $name: $1"; sed 's/^/    /' "$err" | head -20; failed=1; }
# Lines of stderr beside warnings of submit, usage, and, where $warns is set, what the driver logs of attempts that fail.
warns=
log_at_warn='|[0-9]{2}/[0-9]{2}/[0-9]{2} [0-9:.]+ WARN '
error_lines() { grep -vE "^(Warning:|Usage:|Roles:|  |\$${warns:+$log_at_warn})" "$err"; }
# bad NAME CODE PATTERN… -- COMMAND…: the command ends with CODE, and its one error line has all PATTERNs (ERE).
bad() {
  local name=$1 code=$2 patterns=() pattern status
  shift 2
  while [ "$1" != -- ]; do patterns+=("$1"); shift; done
  shift
  timeout -k 5 60 "$@" > "$out" 2> "$err" < /dev/null
  status=$?
  [ $status = "$code" ] || { fail "exit code $status, wanted $code"; return; }
  [ "$(error_lines | wc -l)" = 1 ] || { fail "$(error_lines | wc -l) error lines, wanted 1"; return; }
  for pattern in "${patterns[@]}"; do
    grep -qE -- "$pattern" <(error_lines) || { fail "not said: $pattern"; return; }
  done
  [ ! -s "$out" ] || { fail "something on stdout: $(head -1 "$out")"; return; }
  echo "ok - $name"
}
submit() { # submit NAME CODE PATTERN… -- OPTIONS AND ARGUMENTS…: the same for `submit --master local[2]`
  local before=()
  while [ "$1" != -- ]; do before+=("$1"); shift; done
  shift
  bad "${before[@]}" -- "$T" submit --master 'local[2]' "$@"
}
# In front of a command: permissions bind root too.
as_nobody=(env TMPDIR=/tmp)
[ "$(id -u)" != 0 ] || as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups "${as_nobody[@]}")
# ---- files -------------------------------------------------------------------------------------------

echo "a b a" > "$dir/in.txt"
submit "a missing input path" 1 "Input path does not exist" "$dir/nothing" -- --class wordcount "$T" "$dir/nothing"
submit "a pattern that matches nothing" 1 "$dir/no\*" "matches 0 files" -- --class wordcount "$T" "$dir/no*"
cp "$dir/in.txt" "$dir/in.bz2" && mkfifo "$dir/pipe"
submit "an input compressed in another way" 1 "$dir/in.bz2" "uncompress it first" -- --class wordcount "$T" "$dir/in.bz2"
submit "a pipe as input" 1 "$dir/pipe" "not a regular file" -- --class wordcount "$T" "$dir/pipe"
printf 'a b\n\nalone\n' > "$dir/edges"
submit "a line of pagerank's input that is no edge" 1 "alone" "FROM TO" -- --conf spark.log.level=FATAL --class pagerank "$T" "$dir/edges" 2
mkdir "$dir/full" && touch "$dir/full/x"
submit "an output directory that exists" 1 "$dir/full already exists" -- --class wordcount "$T" "$dir/in.txt" "$dir/full"
cp "$dir/in.txt" "$dir/secret.txt" && chmod 000 "$dir/secret.txt" && install -m 755 "$T" "$dir/app"
bad "an unreadable input" 1 "$dir/secret.txt" "[Pp]ermission denied" -- \
  "${as_nobody[@]}" "$dir/app" submit --master 'local[2]' --class wordcount "$dir/app" "$dir/secret.txt"
bad "an unreadable input on a cluster" 1 "$dir/secret.txt" "[Pp]ermission denied" -- \
  "${as_nobody[@]}" "$dir/app" submit --master 'local-cluster[1,1,1024]' --class wordcount "$dir/app" "$dir/secret.txt"
bad "an output where nobody may write" 1 "$dir/out" "[Pp]ermission denied" -- \
  "${as_nobody[@]}" "$dir/app" submit --master 'local[2]' --class wordcount "$dir/app" "$dir/in.txt" "$dir/out"
submit "no such properties file" 1 "$dir/no.conf" "not exist" -- --properties-file "$dir/no.conf" --class pi "$T"

cluster() { local name=$1; shift; bad "$name" 1 "$@" --class pi "$T" 1; }
on_cluster=("$T" submit --master 'local-cluster[1,1,1024]')
cluster "a folder for executors" "$dir/full" "is a directory" -- "${on_cluster[@]}" --files "$dir/full"
cluster "an archive of no known kind for executors" "in.txt" "\.tar\.gz" -- "${on_cluster[@]}" --archives "$dir/in.txt"
bad "a file for executors that may not be read" 1 "$dir/secret.txt" "cannot be read" "[Pp]ermission denied" -- \
  "${as_nobody[@]}" "$dir/app" submit --master 'local-cluster[1,1,1024]' --files "$dir/secret.txt" --class pi "$dir/app" 1
cluster "a file for executors that no server gives" "http://127.0.0.1:1/none" "cannot be fetched" -- \
  "${on_cluster[@]}" --files http://127.0.0.1:1/none
for key in spark.driver.port spark.blockManager.port spark.driver.blockManager.port; do
  for port in 99999 80 -1; do
    cluster "$key=$port" "$key is $port" "between 1024 and 65535" -- "${on_cluster[@]}" --conf "$key=$port"
  done
done
cluster "a host of the driver that nobody knows" "spark.driver.host" "nohost.invalid" "cannot be resolved" -- \
  "${on_cluster[@]}" --conf spark.driver.host=nohost.invalid
for role in "worker spark://127.0.0.1:1" master; do
  bad "no time for a worker to answer: $role" 1 "spark.worker.timeout must be positive, but is 0" -- \
    env -C "$dir" "$T" $role --conf spark.worker.timeout=0
done
bad "no cores for an application" 1 "spark.deploy.defaultCores must be positive, but is 0" -- \
  "$T" master --conf spark.deploy.defaultCores=0
submit "a file for executors that is not there" 1 "$dir/nothing" "does not exist" -- --files "$dir/nothing" --class pi "$T" 1
submit "an archive that is not there" 1 "$dir/nothing.tgz" "does not exist" -- --archives "$dir/nothing.tgz" --class pi "$T" 1
while read -r setting be; do
  submit "$setting" 1 "${setting%=*} must be $be, but is ${setting#*=}" -- --conf "$setting" --class pi "$T" 1
done <<'END'
spark.rpc.message.maxSize=0 positive
spark.rpc.message.maxSize=99999 at most 2047 MiB
spark.task.maxFailures=0 positive
spark.memory.fraction=-1 above 0 and at most 1
spark.memory.fraction=2 above 0 and at most 1
spark.memory.storageFraction=1 at least 0 and below 1
spark.broadcast.blockSize=0 positive
spark.reducer.maxSizeInFlight=0 positive
spark.reducer.maxReqsInFlight=0 positive
spark.reducer.maxBlocksInFlightPerAddress=0 positive
spark.default.parallelism=-3 positive
tinderbox.task.launchAhead=-1 at least 0
END
submit "no heartbeat" 1 "spark.executor.heartbeatInterval must be positive, but is -1s" -- \
  --conf spark.executor.heartbeatInterval=-1s --class pi "$T"
submit "no directory for blocks" 53 "spark.local.dir" "/proc/none" -- --conf spark.local.dir=/proc/none --class pi "$T"
cp "$dir/in.txt" "$dir/damaged.tgz"
why_executors_end() {
  local ok
  "${on_cluster[@]}" --archives "$dir/damaged.tgz" --class pi "$T" 1 > "$dir/damaged.log" 2>&1 < /dev/null &
  driver=$!
  wait_line "$dir/damaged.log" 'WARN .*Lost executor 0 .*cannot unpack.*damaged.tgz'
  ok=$?
  kill $driver && wait $driver
  driver=
  return $ok
}
check "an archive that executors cannot unpack: the driver says so" why_executors_end

# ---- the application's file ------------------------------------------------------------------------------

submit "an unknown class" 101 "Failed to load class nope" "pagerank, pi, sort, wordcount" -- --class nope "$T"
printf '#!/bin/sh\necho hi\n' > "$dir/script.sh" && chmod +x "$dir/script.sh"
submit "a script in place of an application" 1 "script.sh" "not an ELF" -- --class pi "$dir/script.sh"
submit "a text in place of an application" 1 "in.txt" "not an ELF" -- --class pi "$dir/in.txt"
submit "a folder in place of an application" 1 "$dir/full" -- --class pi "$dir/full"
echo 'int main() {}' > "$dir/none.cpp"
"${CXX:-g++}" -static -Wl,--build-id=none "$dir/none.cpp" -o "$dir/none"
submit "a program that is no tinderbox application" 1 "$dir/none" "libtinderbox" -- --class pi "$dir/none"
objcopy --remove-section .note.gnu.build-id "$T" "$dir/no_id"
submit "an application without a build id" 1 "$dir/no_id" "no build id" "--build-id" -- --class pi "$dir/no_id"
bad "an application without a build id that submits itself" 1 "$dir/no_id" "no build id" -- \
  "$dir/no_id" submit --master 'local[2]' --class pi "$dir/no_id"
install -m 644 "$T" "$dir/not_executable"
submit "an application that may not be run" 1 "chmod \+x" -- --class pi "$dir/not_executable"
bad "run-example of what is not there" 101 "nope" "pagerank, pi, sort, wordcount" -- "$T" run-example --master 'local[1]' nope

# An application that a web server hands out: nothing of it is left on this disk, whatever happens.
mkdir "$dir/web" "$dir/tmp" && ln -s "$(realpath "$FAULTS")" "$dir/web/faults" && cp "$dir/in.txt" "$dir/web"
start_web "$dir/web"
from_web() { # from_web NAME CODE PATTERN… -- MASTER OPTIONS…: as bad(), and the folder for temporary files stays empty
  local before=() master
  while [ "$1" != -- ]; do before+=("$1"); shift; done
  master=$2
  shift 2
  bad "${before[@]}" -- env TMPDIR="$dir/tmp" "$T" submit --master "$master" "$@"
  check "$(echo "${before[0]}: nothing is left")" test -z "$(ls -A "$dir/tmp")"
}
from_web "a URL's unknown class" 101 "Failed to load class nope" -- 'local[1]' --class nope "$web/faults"
from_web "a URL of no application" 1 "not an ELF" -- 'local[1]' --class pi "$web/in.txt"
from_web "a URL of nothing" 1 "404" -- 'local[1]' --class pi "$web/nothing"
from_web "a URL's main throws" 1 "which fault" -- 'local[1]' --class faults "$web/faults"
from_web "a URL's main throws what is no exception" 1 "no std::exception" -- 'local[1]' --class faults "$web/faults" throw-number
runs_from_web() {
  TMPDIR=$dir/tmp timeout 60 "$T" submit --master "$1" --class faults "$web/faults" throw > "$out" 2> "$err" &&
    grep -q 'right result' "$out" && [ -z "$(ls -A "$dir/tmp")" ]
}
check "a URL's application in local-cluster: it runs, nothing is left" runs_from_web 'local-cluster[1,1,1024]'

# ---- settings --------------------------------------------------------------------------------------------

submit "a setting that is no number" 1 "spark.task.cpus" "abc" -- --conf spark.task.cpus=abc --class pi "$T"
submit "more cores for a task than local threads" 1 "cores per executor \(=2\)" "cpus per task = 3" -- --master 'local[2]' --conf spark.task.cpus=3 --class pi "$T"
# Stacks of 1 GiB, so that a few threads have all addresses that the process may use.
warns=1
bad "more task threads than there can be" 1 "cannot start 100 task threads: .*local\[N\]" -- \
  bash -c 'ulimit -s 1048576 && ulimit -v 20971520 && exec "$0" submit --master "local[100]" --class pi "$0" 1' "$T"
warns=
submit "a setting that is no size" 1 "spark.executor.memory|xecutor memory" "12q" -- --conf spark.executor.memory=12q --class pi "$T"
submit "a setting that is no time" 1 "spark.network.timeout" "12parsecs" -- --conf spark.network.timeout=12parsecs --class pi "$T"
submit "a setting that is no boolean" 1 "spark.shuffle.compress" "perhaps" -- --conf spark.shuffle.compress=perhaps --class pi "$T"
submit "a setting without a value" 1 "--conf" "nothing" -- --conf nothing --class pi "$T"
submit "a log level that is none" 1 "loud" "WARN" -- --conf spark.log.level=loud --class pi "$T"
bad "a variable that is no number" 1 "SPARK_MASTER_PORT should be int, but was abc" -- env SPARK_MASTER_PORT=abc "$T" master
bad "a benchmark's setting that is no number" 1 "spark.task.cpus" -- "$T" bench --conf spark.task.cpus=abc startup_ms
for option in --executor-memory --driver-memory --total-executor-cores --executor-cores --num-executors --driver-cores; do
  submit "$option without a number" 1 "many" -- "$option" many --class pi "$T"
done
unknown_key() {
  "$T" submit --master 'local[1]' --conf spark.executor.memroy=1g --class pi "$T" 1 > "$out" 2> "$err" < /dev/null &&
    [ "$(cat "$err")" = "Warning: Unknown config property: spark.executor.memroy (--conf); did you mean spark.executor.memory?" ]
}
check "an unknown setting: one warning with the nearest known one" unknown_key
unknown_key_of_driver() {
  "$T" driver --conf spark.master='local[1]' --conf spark.executor.memroy=1g --class pi -- 1 > "$out" 2> "$err" < /dev/null &&
    [ "$(cat "$err")" = "Warning: Unknown config property: spark.executor.memroy (--conf); did you mean spark.executor.memory?" ]
}
check "a driver that was started by hand says so itself" unknown_key_of_driver

# ---- masters -----------------------------------------------------------------------------------------------

quick=(--conf tinderbox.registration.timeout=1s --conf tinderbox.registration.attempts=3)
master() { local name=$1 url=$2; shift 2; bad "$name" "$@" -- "$T" submit --master "$url" "${quick[@]}" --class pi "$T" 1; }
master "spark:// without a port" spark://localhost 1 "spark://localhost" "host:port"
master "spark:// with a port that is none" spark://localhost:x 1 "spark://localhost:x"
master "local-cluster with too little memory" 'local-cluster[1,1,10]' 1 "10 MiB/worker" "1024 MiB/executor"
master "local-cluster with a part missing" 'local-cluster[1,1]' 1 "local-cluster\[1,1\]" "local-cluster\[W,C,M\]"
master "local[0]" 'local[0]' 1 "0 threads"
master "an unknown kind of master" bogus://h 1 "spark, k8s, or local, but was bogus://h; .*tinderbox://host:port"
warns=1  # of each try
master "a host that has no address" spark://no-such-host.invalid:7077 1 "no-such-host.invalid"
master "no master there" spark://127.0.0.1:1 1 "All masters are unresponsive" "spark://127.0.0.1:1" "3 tries of 1 s"
warns=
three_tries() { [ "$(grep -c 'WARN.*Failed to connect to master spark://127.0.0.1:1' "$err")" = 3 ]; }
check "no master there: it was tried three times" three_tries
bad "cluster mode, no master there" 1 "127.0.0.1:1" "master" -- \
  "$T" submit --master spark://127.0.0.1:1 --deploy-mode cluster --class pi "$T" 1
bad "--status, no master there" 1 "127.0.0.1:1" -- "$T" submit --master spark://127.0.0.1:1 --status driver-1

# ---- roles ---------------------------------------------------------------------------------------------------

bad "an unknown role" 2 "bogus" "not a role" -- "$T" bogus
bad "an unknown SPARK_K8S_CMD" 1 "SPARK_K8S_CMD" "bogus" -- env SPARK_K8S_CMD=bogus "$T"
bad "SPARK_K8S_CMD with options: the role's own error" 1 "is required; tinderbox executor" -- env SPARK_K8S_CMD=executor "$T" --driver-url x
bad "SPARK_K8S_CMD=init with a file that is not there" 1 "$dir/nothing" "does not exist" -- env SPARK_K8S_CMD=init "$T" "$dir/nothing"
bad "SPARK_K8S_CMD=worker with a URL: the role's own error" 1 "host:port" -- env SPARK_K8S_CMD=worker "$T" spark://127.0.0.1
bad "the first argument beats SPARK_K8S_CMD" 1 "nothing to fetch" -- env SPARK_K8S_CMD=master "$T" init
bad "the program's name beats SPARK_K8S_CMD" 1 "nothing to fetch" -- env SPARK_K8S_CMD=master bash -c "exec -a tinderbox-init '$T'"
bad "an empty SPARK_K8S_CMD is none" 2 "'text.txt' is not a role" -- env SPARK_K8S_CMD= "$T" text.txt
named_role() {
  SPARK_K8S_CMD=run-example timeout 60 "$T" --master 'local[2]' pi 2 | grep '^Pi is roughly' &&
    SPARK_K8S_CMD=driver timeout 60 "$FAULTS" --conf spark.master='local[2,4]' --class faults -- throw | grep 'right result' &&
    SPARK_K8S_CMD=driver "$T" --help 2>&1 | grep -e --properties-file &&
    SPARK_K8S_CMD= "$T" --help 2>&1 | grep '^Usage: tinderbox ROLE'
}
check "SPARK_K8S_CMD names the role, all arguments are its own, also in an application's binary" named_role
in_a_container() {
  mkdir -p "$dir/container/a book" "$dir/container/conf"
  echo 'spark.master local[2]' >"$dir/container/conf/spark-defaults.conf"
  echo 'to be or not to be' >"$dir/container/a book/text"
  local variables=(SPARK_CONF_DIR="$dir/container/conf" SPARK_DRIVER_BIND_ADDRESS=127.0.0.1 SPARK_DRIVER_CLASS=wordcount
    SPARK_DRIVER_ARGS="'$dir/container/a book/text' $dir/container/words")
  env SPARK_K8S_CMD=driver "${variables[@]}" timeout 60 "$T" && [ "$(cat "$dir"/container/words/part-* | LC_ALL=C sort | tr '\n\t' ' :')" = "be:2 not:1 or:1 to:2 " ] &&
    env "${variables[@]}" timeout 60 "$T" driver --class pi spark-internal 2 | grep '^Pi is roughly'
}
check "a container's variables name the driver's application and its arguments; arguments win" in_a_container
bad "a full disk behind stdout" 1 "standard output" -- sh -c "'$T' run-example --master 'local[1]' pi 2 > /dev/full"
unread() { # unread CODE COMMAND…: prints into a pipe whose reader has gone
  local code=$1 status pipe
  shift
  exec {pipe}> >(true)
  wait $!
  timeout 60 "$@" >&"$pipe" 2> "$err"
  status=$?
  exec {pipe}>&-
  [ "$status" = "$code" ] || { echo "exit code $status"; cat "$err"; return 1; }
  ! grep -i 'standard output' "$err"
}
check "nobody reads stdout: no message, and the application's exit code" unread 0 "$T" run-example --master 'local[1]' pi 2
bad "history" 1 "history" "event logs" -- "$T" history
bad "decommission by a signal that no executor waits for" 1 "--signal: 'KILL' is no signal" "PWR, USR1" -- \
  "$T" decommission --pid 99999999 --signal KILL
bad "a worker without a master" 1 "master" -- "$T" worker
bad "a worker of a master that is no URL" 1 "localhost" "spark://host:port" -- "$T" worker localhost
bad "a worker with no cores" 1 "cores: '0' is not a whole number above 0" -- env -C "$dir" "$T" worker --cores 0 spark://127.0.0.1:1
bad "a worker with memory that is no size" 1 "memory|lots" -- env -C "$dir" "$T" worker --memory lots spark://127.0.0.1:1
bad "a worker's port that is none" 1 "port" "70000" -- \
  env -C "$dir" "$T" worker --host 127.0.0.1 --port 70000 spark://127.0.0.1:1
check "a worker that is refused makes no work directory" test ! -e "$dir/work"
bad "a worker that may not write its work directory" 1 "work directory" "$dir/in.txt" -- \
  "$T" worker --host 127.0.0.1 --port 0 --webui-port 0 --work-dir "$dir/in.txt/work" spark://127.0.0.1:1
bad "a master's port that is no number" 1 "port" "x" -- "$T" master --port x
bad "a master's unknown option" 1 "--bogus" -- "$T" master --bogus
bad "a recovery mode that is none" 1 "spark.deploy.recoveryMode" "ZOOKEEPER" "FILESYSTEM" -- \
  "$T" master --host 127.0.0.1 --port 0 --webui-port 0 --conf spark.deploy.recoveryMode=ZOOKEEPER
mkdir "$dir/sealed" && chmod 555 "$dir/sealed"
bad "a recovery directory that can't be written" 1 "$dir/sealed, which can't be written: .*master.lock: Permission denied" -- \
  "${as_nobody[@]}" timeout 5 "$dir/app" master --host 127.0.0.1 --port 0 --webui-port 0 \
  --conf spark.deploy.recoveryMode=FILESYSTEM --conf spark.deploy.recoveryDirectory="$dir/sealed"
bad "an executor without its options" 1 "--driver-url" -- "$T" executor
bad "init with nothing to fetch" 1 "nothing to fetch" -- "$T" init
bad "init of a file that is not there" 1 "$dir/nothing" -- "$T" init --directory "$dir/fetched" "$dir/nothing"
bad "init of a driver's file without the port" 1 "'spark://127.0.0.1/files/x' is not of the form spark://host:port/files/name" -- \
  timeout 3 "$T" init --directory "$dir/fetched" spark://127.0.0.1/files/x
bad "a benchmark that is none" 1 "bogus" "null_tasks_per_s" -- "$T" bench bogus

# ---- a live cluster --------------------------------------------------------------------------------------------

start_master
start_worker worker --cores 2 --memory 2g
worker_pid=$pid
bad "a master's port that is in use" 1 "${master_url##*:}" "in use" -- \
  "$T" master --host 127.0.0.1 --port "${master_url##*:}" --webui-port 0 --conf spark.port.maxRetries=0
master "the port of the pages in place of the master's" "spark://${master_ui#http://}" 1 "All masters are unresponsive" "${master_ui#http://}"
bad "--status of an unknown driver" 1 "driver-nope" -- "$T" submit --master "$master_url" --status driver-nope
bad "--kill of an unknown driver" 1 "driver-nope" -- "$T" submit --master "$master_url" --kill driver-nope

# The last of an option wins; a misspelt key is told once; a closed descriptor is no socket's.
options_win() {
  local pid
  sh -c "exec '$T' master --host '[127.0.0.1]' --port 1 --port 0 --webui-port 0 \
    --conf spark.deploy.spreadOutt=true <&- 2> '$dir/options.log'" &
  pid=$!
  pids+=("$pid")
  wait_line "$dir/options.log" 'spark://127\.0\.0\.1:' && wait_line "$dir/options.log" 'http://127' &&
    [ "$(grep -c 'did you mean spark.deploy.spreadOut?' "$dir/options.log")" = 1 ] &&
    [ "$(readlink "/proc/$pid/fd/0")" = /dev/null ] && kill "$pid"
}
check "a master's options win" options_win
check "an application by URL on a cluster: it runs, nothing is left" runs_from_web "$master_url"
perl -MIO::Socket::INET -e '$| = 1; my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1"); print $s->sockport, "\n"; sleep 60' > "$dir/silent.out" &
pids+=("$!")
silent=127.0.0.1:$(wait_line "$dir/silent.out" '^[0-9]+$')
bad "cluster mode, what listens is no master" 1 "No response from server" "at spark://$silent within" "check that host and port" -- \
  "$T" submit --master "spark://$silent" --deploy-mode cluster --class pi "$T" 1

known_driver() {
  "$FAULTS" submit --master "$master_url" --deploy-mode cluster --conf spark.cores.max=1 --class faults "$FAULTS" long 300 > "$out" 2> "$err" || return 1
  local id; id=$(grep -oE 'driver-[0-9]+-[0-9]+' "$err" | head -1)
  json_is coresused 2 20 || return 1
  "$T" submit --master "$master_url" --status "$id" > "$out" 2> "$err" && grep -q "State of driver $id is now RUNNING" "$err" || return 1
  "$T" submit --master "$master_url" --kill "$id" > "$out" 2> "$err" && grep -q "$id" "$err" || return 1
  json_is coresused 0 20
}
check "--status and --kill of a driver that runs" known_driver

throws() {
  timeout 60 "$FAULTS" submit --master "$master_url" --class faults "$FAULTS" throw > "$out" 2> "$err" && grep -q 'right result' "$out" || { cat "$err"; return 1; }
}
check "a user function throws: four attempts, its message, and the process goes on" throws
bad "a user's main throws" 1 "which fault" -- "$FAULTS" submit --master "$master_url" --class faults "$FAULTS"

starved() {
  local code
  "$T" submit --master "$master_url" --executor-memory 100g --conf spark.starvation.timeout=300ms --class pi "$T" 2 > "$out" 2> "$err" &
  driver=$!
  wait_line "$err" 'Initial job has not accepted any resources.*(memory|102400)' > /dev/null || return 1
  kill -INT $driver; wait $driver; code=$?
  driver=
  [ $code = 130 ] && json_is coresused 0 && json_is activeapps '\[ *\]'
}
check "no worker has the memory: the warning has the reason, ^C ends the driver with 130" starved

no_executor() { # waits until those of earlier applications are gone
  local tries=400
  while pgrep -f -- "$dir/.*--app-id" > /dev/null; do
    (( tries-- > 0 )) || return 1
    read -rt 0.05 <> <(:) || true
  done
}
other_build() {
  no_executor || return 1
  "$FAULTS" submit --master "$master_url" --conf spark.cores.max=1 --files "$dir/in.txt" \
    --conf "spark.driver.blockManager.port=$block_port" --class faults "$FAULTS" long 300 > "$dir/long.out" 2>&1 &
  driver=$!
  json_is coresused 1 20 || return 1
  local line
  local tries=200
  until line=$(pgrep -af -- "$dir/.*--driver-url spark://.*--app-id" | head -1) && [ -n "$line" ]; do
    (( tries-- > 0 )) || return 1
    read -rt 0.05 <> <(:) || true
  done
  driver_url=$(sed 's/.*--driver-url \([^ ]*\).*/\1/' <<< "$line") app=$(sed 's/.*--app-id \([^ ]*\).*/\1/' <<< "$line")
}
block_port=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport')
check "a job runs" other_build
from_driver() {
  local sum; sum=$(sha256sum < "$dir/in.txt")
  "$T" init --directory "$dir/fetched" "spark://127.0.0.1:$block_port/files/in.txt#sha256=${sum%% *}" &&
    cmp "$dir/in.txt" "$dir/fetched/in.txt"
}
check "init: a file that a driver hands out" from_driver
bad "init: a file that the driver does not hand out" 1 "nothing.txt" -- \
  "$T" init --directory "$dir/fetched" "spark://127.0.0.1:$block_port/files/nothing.txt"
bad "init: no driver there" 1 "'spark://127.0.0.1:1/files/in.txt': cannot fetch file/in.txt" -- \
  "$T" init --directory "$dir/fetched" --conf spark.shuffle.io.maxRetries=0 spark://127.0.0.1:1/files/in.txt
bad "an executor of another build" 1 "build id" "run both from the same file" -- \
  "$T" executor --driver-url "$driver_url" --executor-id 99 --cores 1 --app-id "$app" --hostname 127.0.0.1 --conf spark.log.level=ERROR
bad "an executor of another application" 1 "app-nope" "$app" -- \
  "$FAULTS" executor --driver-url "$driver_url" --executor-id 99 --cores 1 --app-id app-nope --hostname 127.0.0.1 --conf spark.log.level=ERROR

# ---- signals ---------------------------------------------------------------------------------------------------

gone() { # gone PID CODE SECONDS: it ends in time with this code
  local tries=$(( $3 * 50 ))
  while kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; do
    (( tries-- > 0 )) || { echo "process $1 still runs after $3 s"; return 1; }
    read -rt 0.02 <> <(:) || true
  done
  wait "$1"
  local code=$?
  [ $code = "$2" ] || { echo "exit code $code, wanted $2"; return 1; }
}
starting() { # starting SIGNAL CODE LINE OPTION…: a driver that waits after LINE, for a master or for executors
  local signal=$1 code=$2 line=$3 result
  shift 3
  mkdir -p "$dir/starting"
  SPARK_LOCAL_DIRS=$dir/starting "$T" submit --conf spark.log.level=INFO "$@" --class pi "$T" 1 2> "$dir/starting.log" &
  driver=$!
  wait_line "$dir/starting.log" "$line" > /dev/null && kill -"$signal" $driver && gone $driver "$code" 5 &&
    grep "Error: the driver received signal .* before the application began" "$dir/starting.log" &&
    [ -z "$(ls "$dir/starting")" ]
  result=$?
  driver=$long
  return $result
}
long=$driver
check "SIGTERM: a driver that looks for a master" starting TERM 143 "Failed to connect" --master spark://127.0.0.1:1
check "SIGINT: a driver that waits for executors" starting INT 130 "Connected to Spark cluster" --master "$master_url" \
  --conf spark.cores.max=1000 --conf spark.scheduler.minRegisteredResourcesRatio=1
second_signal() { # its executor does not answer, so the worker waits for it
  local executor
  executor=$(pgrep -f -- "$dir/.*--app-id $app" | head -1)
  kill -STOP "$executor"
  kill -TERM "$worker_pid"
  wait_line "$dir/worker.log" 'draining' > /dev/null
  kill -0 "$worker_pid" || return 1
  kill -TERM "$worker_pid"
  gone "$worker_pid" 143 2
  local result=$?
  kill -KILL "$executor" 2>/dev/null
  return $result
}
check "a second signal ends a worker that drains at once" second_signal
start_worker worker2 --cores 2 --memory 2g
worker_pid=$pid
drained() {
  local tries=400
  until pgrep -P "$worker_pid" > /dev/null; do
    (( tries-- > 0 )) || { echo "the worker has no executor"; return 1; }
    read -rt 0.05 <> <(:) || true
  done
  kill -TERM "$worker_pid" && gone "$worker_pid" 143 15 || return 1
  ! pgrep -a -f -- "$dir/.*--app-id $app"
}
check "SIGTERM: a worker ends its executors and itself" drained
kill -9 $driver; wait $driver 2>/dev/null; driver=
stopped() { kill -"$1" "$2" && gone "$2" "$3" 5; }
check "SIGTERM: the master ends" stopped TERM "$master_pid" 143
start_master
check "SIGINT: the master ends" stopped INT "$master_pid" 130
stop_cluster
check "no process is left" no_process_left
exit $failed
