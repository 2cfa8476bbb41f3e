#!/usr/bin/env bash
# 10,000 connections that register as executors and send heartbeats every 10 s to one driver: its memory and processor
# time. Part of `make bench`. PEERS=10000 and SECONDS_LONG=30 may be set.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/processes/cluster.sh
peers=${PEERS:-10000} long=${SECONDS_LONG:-30} processes=4
app=$PWD/build/tests/peers
[ -x "$app" ] || { echo "peers.sh: build/tests/peers is not built; make build/tests/peers does it" >&2; exit 1; }
trap 'touch "$dir/stop"; stop_cluster; rm -rf "$dir"' EXIT
ulimit -n "$(ulimit -Hn)"
(( $(ulimit -n) > peers + 200 )) || { echo "peers.sh: $(ulimit -n) descriptors may be open, $((peers + 200)) are needed: skipped"; exit 0; }

start_master
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
SPARK_LOCAL_IP=127.0.0.1 "$app" submit --master "$master_url" --class peers --conf spark.driver.port="$port" --conf spark.port.maxRetries=0 \
  --conf spark.scheduler.listenerbus.eventqueue.capacity=100000 "$app" driver "$dir/report" "$dir/stop" > "$dir/driver.log" 2>&1 &
driver=$!
pids+=("$driver")
id=$(wait_line "$dir/report" '^app ' | cut -d' ' -f2)
memory() { awk -v f="$1:" '$1 == f { printf "%.0f", $2 / 1024 }' "/proc/$driver/status"; }
ticks() { awk '{ print $14 + $15 }' "/proc/$driver/stat"; }
empty=$(memory VmRSS)
for ((i = 0; i < processes; ++i)); do
  SPARK_LOCAL_IP=127.0.0.1 "$app" submit --master 'local[1]' --class peers "$app" beat "127.0.0.1:$port" "$id" \
    $((i * peers / processes)) $((peers / processes)) > "$dir/peers$i.log" 2>&1 &
  pids+=("$!")
done
wait_line "$dir/report" "^executors $peers\$" 120 > /dev/null || { tail -3 "$dir"/*.log; exit 1; }
sleep 12  # everybody has begun to beat
before=$(ticks)
sleep "$long"
after=$(ticks)
[ "$(tail -1 "$dir/report")" = "executors $peers" ] || { echo "executors were lost: $(tail -1 "$dir/report")"; exit 1; }
echo "BENCH peers_rss_mb $(memory VmRSS) MB (at most $(memory VmHWM), $empty before the first came)"
awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v s="$long" 'BEGIN { printf "BENCH peers_cpu_percent %.1f %% of a core\n", 100 * t / hz / s }'
