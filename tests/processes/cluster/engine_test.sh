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
