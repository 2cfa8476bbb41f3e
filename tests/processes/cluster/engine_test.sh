#!/usr/bin/env bash
# Every kind of step on real executors: tests/apps/engine.cpp in local, local-cluster and standalone mode, with files
# and archives shipped to the executors, tests/apps/operations.cpp with every operation; the built-in applications against coreutils and each other.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/checks.sh
ENGINE=$(realpath "${ENGINE:-build/tests/engine}")
engine() { # engine NAME MASTER [OPTIONS… -- ARGUMENTS…]
  local name=$1 master=$2; shift 2
  local options=() arguments=()
  mkdir -p "$dir/$name"
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# -eq 0 ] || { shift; arguments=("$@"); }
  timeout 120 "$ENGINE" submit --master "$master" "${options[@]}" --class engine "$ENGINE" "$dir/$name" "${arguments[@]}" |
    grep -qx 'all steps: right results'
}
app() { "$TINDERBOX" run-example --master "$1" "${@:2}"; }

mkdir -p "$dir/pack"
echo hello > "$dir/shipped.txt"
echo inner > "$dir/pack/inner.txt"
tar -C "$dir/pack" -czf "$dir/pack.tar.gz" inner.txt
tar -C "$dir/pack" -cf "$dir/late.tar" inner.txt
shipped=(--files "$dir/shipped.txt" --archives "$dir/pack.tar.gz#unpacked")

for master in 'local[1]' 'local[3]' 'local-cluster[2,1,1024]' 'local-cluster[1,2,1024]'; do
  check "every kind of step in $master" engine "${master//[^a-z0-9]/-}" "$master"
done
check "files shipped in local mode" engine local-files 'local[2]' "${shipped[@]}" -- shipped "$dir/late.tar"
check "files shipped and blocks read where the user sets spark.app.id" \
  engine own-id 'local-cluster[2,1,1024]' --conf spark.app.id=mine "${shipped[@]}" -- shipped "$dir/late.tar"
check "every kind of step with nothing launched ahead" engine ahead0 'local-cluster[2,1,1024]' --conf tinderbox.task.launchAhead=0
check "every kind of step where no message is larger than 1 MiB" engine small 'local-cluster[2,1,1024]' --conf spark.rpc.message.maxSize=1 --conf spark.task.maxDirectResultSize=16m
collected_too_much() {
  ! engine collected 'local[2]' --conf spark.driver.maxResultSize=1m -- collected 2> "$dir/collected.err" &&
    grep '^Error: .*Total size of serialized results of .* is bigger than spark.driver.maxResultSize (1024.0 KiB)' "$dir/collected.err" || { cat "$dir/collected.err"; return 1; }
}
check "what tasks add to accumulators counts for spark.driver.maxResultSize" collected_too_much
check "every kind of step with all map outputs in files" engine files 'local-cluster[2,1,1024]' --conf tinderbox.shuffle.maxInMemoryOutput=0
check "every kind of step with 1 MiB asked for at a time" engine flight 'local-cluster[2,1,1024]' --conf spark.reducer.maxSizeInFlight=1m --conf tinderbox.shuffle.maxInMemoryOutput=0
# All executors here are on one host, and would read each other's files.
through_sockets=(--conf spark.shuffle.readHostLocalDisk=false --conf tinderbox.shuffle.maxInMemoryOutput=0 --conf spark.reducer.maxSizeInFlight=1m)
check "every kind of step with all map outputs in files, read through sockets, 1 MiB at a time" \
  engine sockets 'local-cluster[2,1,1024]' "${through_sockets[@]}" --conf spark.shuffle.compress=false -- sockets
check "10,000 x 10,000 blocks, less than 512 MiB of the driver" engine wide 'local-cluster[2,1,1024]' --driver-memory 1g -- wide
OPERATIONS=$(realpath "${OPERATIONS:-build/tests/operations}")
operations() { # MASTER [OPTIONS…]: every operation on every kind of records; says its seed
  mkdir "$dir/operations"
  timeout 400 "$OPERATIONS" submit --master "$1" "${@:2}" --driver-memory 1g --class operations "$OPERATIONS" "$dir/operations" 2> "$dir/operations.log" ||
    { grep -v 'very large size' "$dir/operations.log" | tail -n 5; return 1; }
  rm -rf "$dir/operations"
}
# A barrier of seven tasks needs as many slots.
check "every operation against plain loops in local[7]" operations 'local[7]'
check "every operation against plain loops in local-cluster[2,4,1024], through sockets" operations 'local-cluster[2,4,1024]' "${through_sockets[@]}"
LARGER=$(realpath "${LARGER:-build/tests/larger}")
larger() { # [megabytes=800] [into=DIRECTORY] larger LIMIT MASTER [OPTIONS…]: ten times what tasks and blocks may have; it tells itself how much it had
  timeout 300 "$LARGER" submit --master "$2" "${@:3}" --class larger "$LARGER" "${megabytes:-800}" "$1" ${into:+"$into"} > "$dir/larger.out" || { cat "$dir/larger.out"; return 1; }
  grep '^all right' "$dir/larger.out"
}
check "800 MB aggregated, made distinct, grouped, sorted, joined, cogrouped and kept by executors of 400 MB" larger 400 'local-cluster[2,1,400]' --conf spark.executor.memory=400m
by_sockets() { megabytes=1600 larger 300 'local-cluster[2,1,400]' --conf spark.executor.memory=400m --conf spark.shuffle.readHostLocalDisk=false; }
check "twice as much, read through sockets: executors hold 300 MB at most" by_sockets
check "the same by threads of one process, no more than it is told" larger 400 'local[2]' --driver-memory 400m
saved() { into=$dir/saved larger 100 'local-cluster[2,1,400]' --conf spark.executor.memory=400m; }
check "800 MB saved as objects, checkpointed, read: executors hold 100 MB at most" saved
rm -rf "$dir/saved"
# "${mounted[@]}" MOUNTS COMMAND…: where the shell commands MOUNTS mounted something that only COMMAND sees. Empty: this user cannot.
mounted=()
for rights in "" --map-root-user; do
  [ ${#mounted[@]} -gt 0 ] || ! unshare $rights --mount true 2> /dev/null || mounted=(unshare $rights --mount sh -c 'eval "$0" && exec "$@"')
done
disk_full() {
  mkdir "$dir/full"
  ! timeout 120 "${mounted[@]}" "mount -t tmpfs -o size=32m none '$dir/full'" "$LARGER" submit --master 'local-cluster[2,1,400]' --conf spark.executor.memory=400m \
    --conf spark.local.dir="$dir/full" --class larger "$LARGER" 200 400 > "$dir/full.out" 2> "$dir/full.err" && [ "$(grep -c '^Error: ' "$dir/full.err")" = 1 ] &&
    grep "^Error: Job aborted .* $dir/full/[^ ]*: No space left on device$" "$dir/full.err" || { cat "$dir/full.err"; return 1; }
}
output_full() {
  mkdir "$dir/output"
  ! timeout 120 "${mounted[@]}" "mount -t tmpfs -o size=32m none '$dir/output'" sh -c '"$@"; s=$?; find "$0" -name "_SUCCESS" -o -name "part-*" -path "*/objects/part-*"; exit $s' "$dir/output" \
    "$LARGER" submit --master 'local-cluster[2,1,400]' --conf spark.executor.memory=400m --class larger "$LARGER" 200 400 "$dir/output" > "$dir/output.out" 2> "$dir/output.err" &&
    [ "$(grep -c '^Error: ' "$dir/output.err")" = 1 ] && grep "^Error: .* $dir/output/[^ ]*: No space left on device" "$dir/output.err" && ! grep "$dir/output/" "$dir/output.out" ||
    { cat "$dir/output.out" "$dir/output.err"; return 1; }
}
# Half a processor is one: its text is one part, for two threads and more it would be two.
limited() {
  seq 1000 > "$dir/numbers"
  timeout 60 "${mounted[@]}" "mount -t tmpfs none /sys/fs/cgroup && echo 50000 100000 > /sys/fs/cgroup/cpu.max && echo $((256 << 20)) > /sys/fs/cgroup/memory.max" \
    "$TINDERBOX" run-example --master 'local[*]' --driver-memory 1g sort "$dir/numbers" "$dir/limited" 2> "$dir/limited.err" &&
    [ "$(ls "$dir/limited" | tr '\n' ' ')" = '_SUCCESS part-00000 ' ] &&
    grep 'WARN ProcessBlocks: the control group .* 256 MiB, less than the 1024 MiB that it was given' "$dir/limited.err" || { cat "$dir/limited.err"; return 1; }
}
if [ ${#mounted[@]} -gt 0 ]; then
  check "spark.local.dir is full: one line says so and where" disk_full
  check "the output's disk is full: one line says so, nothing looks whole" output_full
  check "local[*] and its memory go by the limits of the control group" limited
else
  echo "left out, as this user can mount nothing: a full disk, limits of a control group"
fi

# [option=KEY=VALUE] after_outputs N COMMAND…: an application of 200 MB, and the command once N map outputs are in the files below $dir/blocks.
after_outputs() {
  local outputs=$1 app
  shift
  rm -rf "$dir/blocks" && mkdir "$dir/blocks"
  timeout 120 "$LARGER" submit --master 'local-cluster[2,1,400]' --conf spark.executor.memory=400m --conf spark.local.dir="$dir/blocks" \
    ${option:+--conf "$option"} --class larger "$LARGER" 200 400 > "$dir/blocks.out" 2> "$dir/blocks.err" &
  app=$!
  until [ "$(find "$dir/blocks" -name 'shuffle_*.index' 2> /dev/null | wc -l)" -ge "$outputs" ]; do kill -0 $app || return 1; done
  "$@"
  wait $app
}
computed_again() {
  after_outputs 8 find "$dir/blocks" -name 'shuffle_*' -delete && grep '^all right' "$dir/blocks.out" &&
    grep -m 1 -E 'WARN Driver: Lost task .* FetchFailed\(BlockManagerId\(., .*message=.*(there is no |: No such file or directory)' "$dir/blocks.err" || { cat "$dir/blocks.err"; return 1; }
}
check "files of map outputs vanish: told, computed again, right results" computed_again
damage() { # other bytes in the middle of each file whose name it reads
  while read -r file; do
    printf 'not what was written' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc status=none
  done
}
damaged() { find "$dir/blocks" -name 'shuffle_*.data' | damage; }
computed_again_blamed() {
  after_outputs 8 damaged && grep '^all right' "$dir/blocks.out" &&
    grep -m 1 'WARN Driver: Lost task .* FetchFailed(.* is corrupted due to DISK_ISSUE' "$dir/blocks.err" || { cat "$dir/blocks.err"; return 1; }
}
check "bytes of map outputs change on disk: blamed on it, computed again, right results" computed_again_blamed
option=spark.shuffle.readHostLocalDisk=false
check "the same where their holder reads them for others" computed_again_blamed
option=
blamed() {
  ! option=spark.stage.maxConsecutiveAttempts=1 after_outputs 8 damaged && [ "$(grep -c '^Error: ' "$dir/blocks.err")" = 1 ] &&
    grep '^Error: .* is corrupted due to DISK_ISSUE' "$dir/blocks.err" || { cat "$dir/blocks.err"; return 1; }
}
check "B40 the same with one attempt a stage: the error says so" blamed
# lose_kept: once the partitions are counted, four files of them vanish and four change; says how many that are.
lose_kept() {
  local tries=1000 files
  until [ -e "$dir/kept/counted" ]; do
    (( tries-- > 0 )) || return 1
    read -rt 0.02 <> <(:) || true
  done
  # Executors' logs go with the application: by a second name they stay.
  find "$dir/kept/blocks" -name stderr -exec ln --backup=numbered -t "$dir/kept" {} \;
  mapfile -t files < <(find "$dir/kept/blocks" -name 'rdd_*' | sort)
  rm "${files[@]:0:4}" && printf '%s\n' "${files[@]:4:4}" | damage && echo 8
}
warned() { [ "$(grep -rhE "WARN BlockManager: rdd_.* cannot be read from disk: .*$1" "$dir/kept" | wc -l)" = 4 ]; }
kept() { # MASTER
  rm -rf "$dir/kept" && mkdir -p "$dir/kept/blocks"
  lose_kept | timeout 120 "$ENGINE" submit --master "$1" --conf spark.local.dir="$dir/kept/blocks" --conf spark.task.maxFailures=1 \
    --class engine "$ENGINE" "$dir/kept" kept > "$dir/kept/out" 2> "$dir/kept/err" &&
    grep -x 'all steps: right results' "$dir/kept/out" && warned 'No such file or directory' && warned 'DISK_ISSUE' ||
    { tail -n 30 "$dir"/kept/*err*; return 1; }
}
for master in 'local[2]' 'local-cluster[2,1,1024]'; do
  check "B23 files of cached partitions vanish and change: told, and only these are computed again, $master" kept "$master"
done
vanished() { rm -rf "$dir/blocks" 2> /dev/null || rm -rf "$dir/blocks"; }
# What executors make meanwhile may be enough to go on.
right_or_told() {
  if after_outputs 2 vanished; then
    grep '^all right' "$dir/blocks.out" && grep -m 1 'WARN Driver: Lost task .*: No such file or directory$' "$dir/blocks.err"
  else
    [ "$(grep -c '^Error: ' "$dir/blocks.err")" = 1 ] && grep "^Error: Job aborted .*$dir/blocks.*: No such file or directory$" "$dir/blocks.err"
  fi || { cat "$dir/blocks.err"; return 1; }
}
check "spark.local.dir vanishes: right results, or one line says what is missing where" right_or_told
other_directory() {
  mkdir "$dir/usable"
  app 'local-cluster[2,1,1024]' --conf spark.local.dir="/proc/none,$dir/usable" pi 8 > "$dir/usable.out" 2> "$dir/usable.err" &&
    grep '^Pi is roughly' "$dir/usable.out" && grep 'WARN Driver: .*/proc/none is skipped' "$dir/usable.err" &&
    [ -z "$(ls "$dir/usable")" ] || { cat "$dir/usable.err"; return 1; }
}
check "the first of spark.local.dir cannot be used: told, and local-cluster runs in the second" other_directory
settings_logged() {
  app 'local[1]' --conf spark.log.level=INFO --conf spark.logConf=true --conf spark.my.secret=hidden pi 1 2> "$dir/settings.log" &&
    grep -q 'spark.logConf=true' "$dir/settings.log" && ! grep -q hidden "$dir/settings.log"
}
check "spark.logConf shows the settings, but no secrets" settings_logged
mkdir "$dir/conf"
echo "spark.files $dir/none" > "$dir/conf/spark-defaults.conf"
: > "$dir/empty.conf"
other_defaults() {
  SPARK_CONF_DIR=$dir/conf timeout 60 "$TINDERBOX" submit --properties-file "$dir/empty.conf" --master 'local-cluster[1,1,1024]' --class pi "$TINDERBOX" 2 |
    grep '^Pi is roughly'
}
check "executors do not read the spark-defaults.conf that their driver did not" other_defaults
driver_at() { # driver_at HOST MASTER
  timeout 60 "$TINDERBOX" run-example --master "$2" --conf spark.driver.host="$1" pi 8 | grep '^Pi is roughly'
}
hosts=(localhost)
! grep -qs '^0*1 ' /proc/net/if_inet6 || hosts+=('[::1]')
for host in "${hosts[@]}"; do
  check "a driver at $host in local-cluster mode" driver_at "$host" 'local-cluster[2,1,1024]'
done
start_master
start_worker worker1 --cores 1 --memory 2g
start_worker worker2 --cores 1 --memory 2g
check "every kind of step on a standalone cluster, with --files and --archives" \
  engine standalone "$master_url" "${shipped[@]}" -- shipped "$dir/late.tar"

# start_relay: what comes to 127.0.0.2 at $rpc_port and $block_port goes on to 127.0.0.1; on its way from there one byte
# of a block that has a hundred a changes, once.
start_relay() {
  perl -e 'use IO::Socket::INET; use IO::Select; $| = 1; alarm 120; $SIG{PIPE} = "IGNORE";
    my @at = map { IO::Socket::INET->new(Listen => 20, LocalAddr => "127.0.0.2") or die } 1, 2;
    print join(" ", map { $_->sockport } @at), "\n";
    my $all = IO::Select->new(@at); my (%to, %blocks, $changed);
    while (my @ready = $all->can_read) {
      for my $from (@ready) {
        if (my ($at) = grep { $_ == $from } @at) {
          my $in = $at->accept; my $out = IO::Socket::INET->new("127.0.0.1:" . $at->sockport) or next;
          ($to{$in}, $to{$out}, $blocks{$out}) = ($out, $in, $at == $at[1]); $all->add($in, $out);
        } elsif (my $to = $to{$from}) {
          if (sysread $from, my $bytes, 65536) {
            $changed ||= $bytes =~ s/a{50}\Ka/b/ if $blocks{$from};
            for (my $sent = 0; $sent < length $bytes;) { $sent += syswrite($to, $bytes, length $bytes, $sent) || last }
          } else { $all->remove($from, $to); delete @to{$from, $to}; close $from; close $to }
        }
      }
    }' > "$dir/relay.out" 2> "$dir/relay.log" &
  pids+=("$!")
  read -r rpc_port block_port < <(wait_line "$dir/relay.out" '^[0-9]+ [0-9]+$')
}
damaged_on_wire() {
  start_relay && engine wire "$master_url" --conf spark.driver.host=127.0.0.2 --conf spark.driver.bindAddress=127.0.0.1 \
    --conf spark.driver.port="$rpc_port" --conf spark.driver.blockManager.port="$block_port" --conf spark.broadcast.compress=false &&
    grep -h 'WARN .*broadcast_[0-9]*_piece[0-9]* from 127.0.0.2:.* is corrupted due to NETWORK_ISSUE: .*; it is fetched again' "$dir"/worker?/*/*/stderr
}
check "a byte of a broadcast changes on the wire: blamed on the network, fetched again, right results" damaged_on_wire

pi_is_roughly() { app "$1" pi 8 > "$dir/pi.out" && grep -qE '^Pi is roughly 3\.1[34]' "$dir/pi.out"; }
sorts_lines() {
  seq 20000 | awk '{print ($1 * 7919) % 20011, $1}' > "$dir/lines"
  app "$1" sort "$dir/lines" "$dir/sorted-${2}" && cat "$dir/sorted-$2"/part-* | cmp - <(LC_ALL=C sort "$dir/lines")
}
counts_words() {
  app "$1" wordcount README.md "$dir/words-$2" && LC_ALL=C sort "$dir/words-$2"/part-* |
    cmp - <(tr -s '[:space:]' '\n' < README.md | grep -v '^$' | LC_ALL=C sort | uniq -c | awk '{print $2 "\t" $1}' | LC_ALL=C sort)
}
ranks_pages() {
  seq 400 | awk '{ print $1 % 61, $1 * $1 % 53 }' | sort -u > "$dir/edges"
  app "$1" pagerank "$dir/edges" 10 > "$dir/ranks-$2" && diff <(sort "$dir/ranks-$2") <(awk -f tests/scripts/page_ranks.awk "$dir/edges" | sort)
}
for master in 'local[2]' "$master_url"; do
  name=${master%%[:[]*}
  check "pi in $name" pi_is_roughly "$master"
  check "sort in $name" sorts_lines "$master" "$name"
  check "wordcount in $name" counts_words "$master" "$name"
  check "pagerank in $name" ranks_pages "$master" "$name"
done
stop_cluster
start_master
start_worker named --host localhost --cores 1 --memory 2g
check "a driver and the executor of a worker that are announced by a name" driver_at localhost "$master_url"
stop_cluster
check "no process is left" no_process_left
exit $failed
