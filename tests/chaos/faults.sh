# Sourced by chaos.sh: the hosts, and what can happen to them. A fault begins at once and puts off its healing with
# `later`; a target with a fault gets no second one ($busy). Choices are made in this shell only, so that $RANDOM repeats.
kinds=(kill_executor kill_worker kill_driver kill_master stop_executor stop_worker stop_driver stop_master)
often=(kill_executor)
[ "$CHAOS_INSIDE" = alone ] || kinds+=(network_cut network_stall network_delay network_truncate disk_full) often+=(network_cut network_stall)
# met: processes hit, connections ended, pieces held up, writes refused.
declare -A busy=() dealt=() met=() ports=([driver]=20100-20116 [driver-blocks]=20200-20216 [blocks]=20300-20316)
declare -a heal_at=() heal_do=() deck=() worker_pid=()
generation=0 heals=0 far= disk_mb=96

# choose NAME VALUES…: sets $NAME to one of them; fails when there is none.
choose() { [ $# -gt 1 ] && { local all=("${@:2}"); printf -v "$1" %s "${all[RANDOM % ($# - 1)]}"; }; }
driver_pids() { pgrep -f -- "--class chaos .*$dir/report" | tr '\n' ' '; }

# ---- the hosts: 127.0.0.1, and in a network of its own 127.0.0.2 ----

make_disks() {
  mkdir -p "$dir"/{disk1,disk2,local,output}
  [ "$CHAOS_INSIDE" != alone ] || return 0
  mount -t tmpfs -o size=${disk_mb}m disk1 "$dir/disk1" && mount -t tmpfs -o size=${disk_mb}m disk2 "$dir/disk2"
}
unmount_disks() { umount "$dir/disk1" "$dir/disk2" 2>/dev/null || true; }
make_network() {
  [ "$CHAOS_INSIDE" != alone ] || return 0
  unshare --net sleep infinity & far=$!
  pids+=("$far")
  mkfifo "$dir/links"
  local spec=() kind
  for kind in "${!ports[@]}"; do spec+=("$kind:${ports[$kind]}"); done
  until [ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do read -rt 0.02 <> <(:) || true; done
  python3 tests/chaos/links.py "$far" "master:${master_url##*:}" "${spec[@]}" < "$dir/links" > "$dir/links.out" 2> "$dir/links.log" &
  exec 8> "$dir/links"
  wait_line "$dir/links.out" ready > /dev/null || { cat "$dir/links.log"; return 1; }
}
end_network() { exec 8>&-; }
# start_worker_on 1|2
start_worker_on() {
  local enter=() local_ip=127.0.0.1
  [ "$1" = 1 ] || [ -z "$far" ] || { enter=(nsenter "--net=/proc/$far/ns/net"); local_ip=127.0.0.2; }
  start_daemon "worker$1-$((++generation))" worker --host $local_ip --port 0 --webui-port 0 --work-dir "$dir/work$1" --cores 2 \
    --memory 3g --conf spark.worker.timeout=5 --conf "spark.local.dir=$dir/disk$1" "$master_url"
  worker_pid[$1]=$pid
}
restart_master() {
  start_daemon "master-$((++generation))" master --host 127.0.0.1 --port "${master_url##*:}" --webui-port "${master_ui##*:}" "${master_conf[@]}"
  master_pid=$pid
}

# ---- healing ----

later() { heal_at+=($((SECONDS + $1))); heal_do+=("${*:2}"); }
heal_due() { # heal_due [all]
  local i
  for i in "${!heal_at[@]}"; do
    (( SECONDS >= heal_at[i] )) || [ -n "${1:-}" ] || continue
    say "  healed: ${heal_do[i]}"
    eval "${heal_do[i]}"
    unset "heal_at[i]" "heal_do[i]"
  done
}
heal_all() { heal_due all; busy=(); }
# faults_end: waits until each has had its time.
faults_end() { while [ ${#heal_at[@]} != 0 ]; do wait_a_little 1; done; busy=(); }
wait_a_little() {
  local until=$((SECONDS + $1))
  while (( SECONDS < until )); do
    heal_due
    read -rt 0.2 <> <(:) || true
  done
}

# ---- faults ----

# deal: the first card that can be played. A fault that cannot happen now (nothing to hit, already hit) says so by its
# status, and its card stays.
deal() {
  local i decks
  for decks in old new; do
    for i in "${!deck[@]}"; do
      ${deck[i]} || continue
      dealt[${deck[i]}]=$((${dealt[${deck[i]}]:-0} + 1))
      [[ ${deck[i]} = network_* || ${deck[i]} = disk_full ]] || meets "${deck[i]}" 1
      unset "deck[i]"
      return
    done
    [ $decks = new ] || add_deck
  done
}
# add_deck: first each kind once, so that a short run has them all.
add_deck() {
  local cards=("${kinds[@]}") i j swap
  [ ${#dealt[@]} = 0 ] || cards+=("${often[@]}")
  for ((i = ${#cards[@]} - 1; i > 0; --i)); do
    j=$((RANDOM % (i + 1))) swap=${cards[i]} cards[i]=${cards[j]} cards[j]=$swap
  done
  deck+=("${cards[@]}")
}
# meets FAULT NUMBER: as long as no fault of the kind has met anything, the next one comes first.
meets() {
  met[$1]=$((${met[$1]:-0} + $2))
  [ "${met[$1]}" != 0 ] || deck=("$1" "${deck[@]}")
}
every_kind_met() {
  local kind idle=
  for kind in "${kinds[@]}"; do [ "${met[$kind]:-0}" != 0 ] || idle+=" $kind"; done
  [ -z "$idle" ] || { echo "met nothing:$idle"; return 1; }
}
# how_long: sets $seconds, half of the time beyond every timeout.
how_long() { choose seconds 1 2 3 8 9 10; }
# end PID: what the shell says of its killed child is not wanted.
end() { kill -9 "$1" && { wait "$1" 2>/dev/null || true; }; }

kill_executor() { choose victim $(executors) && say "kill -9 executor $victim" && kill -9 "$victim"; }
kill_worker() {
  choose host 1 2
  [ -z "${busy[worker$host]:-}" ] || return 1
  choose seconds 0 1 2 3 7
  say "kill -9 worker $host, back in $seconds s"
  end "${worker_pid[host]}"
  busy[worker$host]=1
  later "$seconds" "start_worker_on $host; busy[worker$host]="
}
kill_driver() {
  [ -z "${busy[driver]:-}" ] && choose victim $(driver_pids) || return 1
  say "kill -9 driver $victim ($mode)"
  end "$victim"
  [ $mode = client ] || return 0
  busy[driver]=1
  choose seconds 0 1 3
  later "$seconds" "start_app; busy[driver]="
}
kill_master() {
  [ -z "${busy[master]:-}" ] || return 1
  choose seconds 0 1 2 3 7
  say "kill -9 master, back in $seconds s"
  end "$master_pid"
  busy[master]=1
  later "$seconds" "restart_master; busy[master]="
}
# stop_process NAME PID
stop_process() {
  [ -z "${busy[$1]:-}" ] || return 1
  how_long
  say "SIGSTOP $1 $2, SIGCONT in $seconds s"
  kill -STOP "$2" || return 1
  busy[$1]=1
  later "$seconds" "kill -CONT $2 2>/dev/null; busy[$1]="
}
stop_executor() { choose victim $(executors) && stop_process "executor-$victim" "$victim"; }
stop_worker() { choose host 1 2; stop_process "worker$host" "${worker_pid[host]}"; }
stop_driver() { choose victim $(driver_pids) && stop_process driver "$victim"; }
stop_master() { stop_process master "$master_pid"; }

# network FAULT VALUE
network() {
  [ -z "${busy[network]:-}" ] || return 1
  choose kind master driver driver-blocks blocks all
  how_long
  say "network between the hosts: $kind $*, for $seconds s"
  echo "$kind $*" >&8
  busy[network]=1
  later "$seconds" "heal_network network_$1; busy[network]="
}
heal_network() {
  local line connections pieces bytes
  heals=$((heals + 1))
  echo all pass >&8
  line=$(wait_line "$dir/links.out" "^healed $heals ") || return 1
  read -r _ _ connections pieces bytes <<< "$line"
  say "    it met $connections connections, $pieces pieces of $bytes bytes"
  meets "$1" $((connections + pieces))
}
network_cut() { network cut; }
network_stall() { choose side near far both; network stall "$side"; }
network_delay() { choose ms 20 200 1000; network delay "$ms"; }
network_truncate() { choose bytes 0 10 1000 100000; network truncate "$bytes"; }
disk_full() {
  choose host 1 2
  [ -z "${busy[disk$host]:-}" ] || return 1
  how_long
  say "disk of worker $host full for $seconds s"
  disk_was_full=1
  dd if=/dev/zero of="$dir/disk$host/filler" bs=64k 2>/dev/null
  busy[disk$host]=1
  later "$seconds" "heal_disk $host $(refused_writes); busy[disk$host]="
}
refused_writes() { grep -rIhoFs 'No space left on device' "$dir"/work[12] "$dir/driver.log" | wc -l; }
# heal_disk HOST REFUSED: so many writes had been when it got full.
heal_disk() {
  rm -f "$dir/disk$1/filler"
  local refused=$(($(refused_writes) - $2))
  say "    it met $refused writes"
  meets disk_full $refused
}
