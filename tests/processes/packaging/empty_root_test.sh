#!/bin/bash
# The binary as the only file of an empty root, as every role: tests/processes/packaging/empty_root_test.sh [BINARY].
# Two kinds of root: bare (not even /proc), and with /proc mounted as a container has it, where the binary is PID 1.
set -euo pipefail
cd "$(dirname "$0")/../../.."
binary=${1:-${TINDERBOX:-build/tinderbox}}
limit=$((15 * 1024 * 1024))
t=$(mktemp -d)
master= worker=
cleanup() {
  # The launchers kill their namespace, and with it everything in it, when they end.
  [ -z "$master$worker" ] || kill -KILL $master $worker 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$t"
}
trap cleanup EXIT

die() {
  echo "empty_root_test.sh: $*"
  for f in "$t"/*.err "$t"/*.out; do [ -s "$f" ] && { echo "--- ${f##*/}"; tail -n 15 "$f"; }; done
  exit 1
}
[ -x "$binary" ] || die "there is no binary $binary: make builds it"

# The file itself: no interpreter, no dynamic section, small.
grep -q INTERP <(readelf -lW "$binary") && die "$binary asks for an interpreter"
grep -q 'no dynamic section' <(readelf -d "$binary") || die "$binary has a dynamic section"
grep -q 'Build ID: [0-9a-f]\{40\}' <(readelf -n "$binary") || die "$binary has no build id"
root=$t/root
mkdir "$root"
strip -o "$root/tinderbox" "$binary"
size=$(stat -c %s "$root/tinderbox")
[ "$size" -le $limit ] || die "$binary has $size bytes stripped, the limit is $limit"

as_root=()
[ "$(id -u)" = 0 ] || as_root=(--map-root-user)
# bare ARGS: only the binary. boxed ARGS: /proc too, in namespaces of its own, as PID 1.
bare() { timeout -k 5 60 unshare "${as_root[@]}" --mount chroot "$root" /tinderbox "$@"; }
cat >"$t/boxed" <<END
#!/bin/bash
exec unshare ${as_root[*]} --mount --pid --fork --kill-child=KILL bash -c \
  'mkdir -p "\$0/proc" && mount -t proc proc "\$0/proc" && exec chroot "\$0" /tinderbox "\$@"' "$root" "\$@"
END
chmod +x "$t/boxed"
boxed() { timeout -k 5 90 "$t/boxed" "$@"; }

# Runs "$3…" and wants its exit code $1 and a line matching $2 on stdout or stderr.
wants() {
  local code=$1 text=$2 status=0
  shift 2
  "$@" >"$t/last.out" 2>"$t/last.err" </dev/null || status=$?
  [ $status = "$code" ] || die "'$*' ended with $status, not $code"
  grep -qE -- "$text" "$t/last.out" "$t/last.err" || die "'$*' said nothing like '$text'"
}

# Waits until the growing file $1 has a match of $2, and prints it.
await() {
  local tries=600
  until grep -m1 -oE -- "$2" "$1" 2>/dev/null; do
    ((tries-- > 0)) || die "${1##*/} never said '$2'"
    read -rt 0.05 <> <(:) || true
  done
}

roles() {
  wants 0 'tinderbox|version' bare version
  local role
  for role in submit driver executor master worker init history run-example bench; do
    wants 0 '[Uu]sage' bare "$role" --help
  done
  # Roles that need more than they are given say so in a line and do not hang or crash.
  wants 1 . bare history
  wants 1 . bare executor
  wants 1 . bare worker
  wants 1 'nohost|resolve|connect|unresponsive|name' bare worker --host nohost.invalid spark://127.0.0.1:1
}

jobs_of_all_kinds() {
  wants 0 '^Pi is roughly 3\.1[34]' boxed run-example --master 'local[2]' pi 4
  wants 0 '^Pi is roughly 3\.1[34]' boxed run-example --master 'local-cluster[2,1,1024]' pi 4
}

# As the image's user, who can write nowhere in the root: one clear line; and a place given to it is used.
unprivileged() {
  [ "$(id -u)" = 0 ] || return 0
  rm -rf "$root/tmp"
  as_user() { timeout -k 5 60 chroot --userspec=185:185 "$root" /tinderbox run-example --master 'local[2]' "$@"; }
  wants 53 'spark\.local\.dir' as_user pi 4
  install -d -o 185 -g 185 "$root/scratch"
  wants 0 '^Pi is roughly 3\.1[34]' as_user --conf spark.local.dir=/scratch pi 4
  rm -rf "$root/scratch"
}

# Asks the role $1 in the box that the launcher $2 watches to stop: it drains and ends as terminated.
stop() {
  local status=0
  kill -TERM "$(pgrep -P "$2")"
  timeout 30 tail --pid="$2" -f /dev/null || die "the $1 did not stop on SIGTERM"
  wait "$2" || status=$?
  [ $status = 143 ] || die "the $1 ended with $status, not 143, on SIGTERM"
}

# A cluster of containers on one network: master, worker and client in the same root.
cluster() {
  "$t/boxed" master --host 127.0.0.1 --port 0 --webui-port 0 >"$t/master.out" 2>"$t/master.err" </dev/null &
  master=$!
  local url
  url=$(await "$t/master.err" 'spark://[^ ,"]+:[0-9]+')
  "$t/boxed" worker --host 127.0.0.1 --port 0 --webui-port 0 --cores 2 --memory 1g "$url" >"$t/worker.out" 2>"$t/worker.err" </dev/null &
  worker=$!
  wants 0 '^Pi is roughly 3\.1[34]' boxed run-example --master "$url" pi 4
  stop worker $worker
  stop master $master
  master= worker=
  rm -f "$t"/master.* "$t"/worker.*
}

roles
unprivileged
jobs_of_all_kinds
cluster
mkdir -p "$root/etc"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
roles
wants 0 '^Pi is roughly 3\.1[34]' bare run-example --master 'local[2]' pi 4
jobs_of_all_kinds
cluster
