# Sourced by scripts that need a standalone cluster on loopback: free ports, a folder of its own, no process
# left behind. Uses $TINDERBOX (the binary). Sets $dir, $master_url, $master_ui.
TINDERBOX=${TINDERBOX:-build/tinderbox}
TINDERBOX=$(realpath "$TINDERBOX")
dir=$(mktemp -d "${TMPDIR:-/tmp}/tinderbox-cluster-XXXXXX")
export CLUSTER_DIR=$dir
pids=() enter=()

# wait_line FILE PATTERN [SECONDS]: waits until a line of FILE matches, prints it.
wait_line() {
  local tries=$(( ${3:-20} * 50 ))
  while ! grep -m1 -E "$2" "$1" 2>/dev/null; do
    (( tries-- > 0 )) || { echo "no line like '$2' in $1 within ${3:-20} s:" >&2; tail -20 "$1" >&2; return 1; }
    read -rt 0.02 <> <(:) || true
  done
}

# start_daemon NAME ARGUMENTS…: a role in the background, logging to $dir/NAME.log; its pid in $pid. On another host
# where $local_ip and the command $enter say so.
start_daemon() {
  local name=$1; shift
  : > "$dir/$name.log"  # lines of one of that name before it are nobody's
  SPARK_LOCAL_IP=${local_ip:-127.0.0.1} "${enter[@]}" "$TINDERBOX" "$@" > "$dir/$name.out" 2> "$dir/$name.log" &
  pid=$!
  pids+=("$pid")
}

# start_master [ARGUMENTS…]
start_master() {
  start_daemon master master --host 127.0.0.1 --port 0 --webui-port 0 "$@"
  master_pid=$pid
  master_url=$(wait_line "$dir/master.log" 'spark://127' | grep -oE 'spark://127\.0\.0\.1:[0-9]+' | head -1)
  master_ui=$(wait_line "$dir/master.log" 'http://' | grep -oE 'http://127\.0\.0\.1:[0-9]+' | head -1)
}

# start_worker NAME [ARGUMENTS…]
start_worker() {
  local name=$1; shift
  start_daemon "$name" worker --host 127.0.0.1 --port 0 --webui-port 0 --work-dir "$dir/$name" "$@" "$master_url"
  wait_line "$dir/$name.log" 'registered with master' >/dev/null
}

stop_cluster() {
  local p
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  for p in "${pids[@]}"; do wait "$p" 2>/dev/null || true; done
  pids=()
}

# of_cluster: the pids whose command names this cluster's directory, or that run in it (executors of the stock binary).
of_cluster() {
  local p
  { pgrep -f "$dir" || true
    for p in /proc/[0-9]*; do [[ $(readlink "$p/cwd" 2>/dev/null) != "$dir"/* ]] || echo "${p#/proc/}"; done
  } | sort -un | grep -vx $$ || true
}
# no_process_left: fails when a process of this cluster still runs.
no_process_left() {
  local left
  left=$(of_cluster)
  [ -z "$left" ] || { echo "processes left:" >&2; ps -o pid,args -p "$(echo $left | tr ' ' ',')" >&2; return 1; }
}

# http_get http://HOST:PORT/PATH: the body, over bash's own sockets (a fresh Debian has no client).
http_get() {
  local rest=${1#http://} host port path line
  host=${rest%%:*}; port=${rest#*:}; port=${port%%/*}; path=/${rest#*/}
  exec 9<>"/dev/tcp/$host/$port" || return 1
  printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$path" "$host" >&9
  while IFS= read -rt 10 line <&9 && [ "$line" != $'\r' ]; do :; done
  timeout 10 cat <&9 || true
  exec 9>&-
}

# start_web FOLDER: its files at $web/NAME, for two minutes at most.
start_web() {
  perl -e 'use IO::Socket::INET; $| = 1; alarm 120; $SIG{PIPE} = "IGNORE";
    my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die; print $s->sockport, "\n";
    while (my $c = $s->accept) {
      my $first = <$c>; while (defined(my $line = <$c>)) { last if $line =~ /^\r?\n$/ }
      my $found = $first =~ m{^GET /([\w.]+) HTTP} && open(my $f, "<:raw", "$ARGV[0]/$1");
      print $c $found ? "HTTP/1.1 200 OK\r\nContent-Length: " . (-s $f) . "\r\nConnection: close\r\n\r\n"
                      : "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      if ($found) { my $bytes; print $c $bytes while read $f, $bytes, 65536 }
      close $c;
    }' "$1" > "$dir/web.out" 2> "$dir/web.log" &
  pids+=("$!")
  web=http://127.0.0.1:$(wait_line "$dir/web.out" '^[0-9]+$')
}

# json_is KEY VALUE [SECONDS]: waits until the master's page says so.
json_is() {
  local tries=$(( ${3:-10} * 20 ))
  until grep -qE "^  \"$1\" ?: ?$2,?$" <(http_get "$master_ui/json/"); do
    (( tries-- > 0 )) || { http_get "$master_ui/json/" >&2; return 1; }
    read -rt 0.05 <> <(:) || true
  done
}
