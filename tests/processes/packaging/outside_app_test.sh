#!/bin/bash
# An application outside the tree's own build: made with the installed library alone, submitted in both deploy modes to
# workers that have no copy of it, and refused when what a worker fetched is another build.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/cluster.sh
finish() {
  local code=$?
  stop_cluster
  if [ $code = 0 ]; then rm -rf "$dir"; else echo "outside_app_test.sh: failed, its files are in $dir" >&2; fi
  exit $code
}
trap finish EXIT
die() { echo "outside_app_test.sh: $*" >&2; exit 1; }
ok() { echo "ok - $*"; }
unset MAKEFLAGS MAKELEVEL MFLAGS

# 1. Built in a folder of its own, with pkg-config and the installed tree.
make -s install PREFIX="$dir/usr" SYSCONFDIR="$dir/etc"
mkdir "$dir/app"
cp examples/Makefile examples/inverted_index.cpp "$dir/app"
export PKG_CONFIG_PATH=$dir/usr/lib/pkgconfig
build() { make -s -C "$dir/app" >"$dir/build.log" 2>&1 || { cat "$dir/build.log" >&2; die "the example does not build"; }; }
build
mv "$dir/app/inverted_index" "$dir/mine"
# The same application, built again from a source that differs.
sed -i 's/where each word stands/where words stand/' "$dir/app/inverted_index.cpp"
build
mv "$dir/app/inverted_index" "$dir/other"
TINDERBOX=$dir/usr/bin/tinderbox
ok "an application of $(wc -l < examples/inverted_index.cpp) lines builds outside the tree"

# Whoever writes applications compiles often. Unit: seconds of processor time. What runs beside it slows it down, so the best of
# three tries counts.
cp examples/word_count.cpp "$dir/app"
for try in 1 2 3; do
  rm -f "$dir/app/word_count"
  took=$( { TIMEFORMAT='%U %S'; time make -s -C "$dir/app" word_count >"$dir/build.log" 2>&1; } 2>&1 | awk '{ print $1 + $2 }')
  [ -x "$dir/app/word_count" ] || { cat "$dir/build.log" >&2; die "the word count does not build"; }
  awk -v took="$took" 'BEGIN { exit took >= 10 }' && break
  [ $try != 3 ] || die "a word count takes $took s to compile and link, 10 are too many"
done
ok "a word count compiles and links in $took s"

# What it must find, by awk.
printf 'In the beginning\nwas the word\r\n\nthe word\n' > "$dir/one.txt"
printf 'word  upon\tword\nIn the end' > "$dir/two.txt"
export LC_ALL=C
awk '{ sub(/\r$/, ""); for (i = 1; i <= NF; ++i) print $i, FILENAME, FNR }' "$dir/one.txt" "$dir/two.txt" | sort -u |
  sort -k1,1 -k2,2 -k3,3n | awk '$1 == word { printf " %s:%s", $2, $3; next }
    { printf "%s%s\t%s:%s", before, $1, $2, $3; word = $1; before = "\n" } END { print "" }' > "$dir/expected"
[ "$(wc -l < "$dir/expected")" = 7 ] || die "awk finds other words: $(cat "$dir/expected")"
check() {
  [ -e "$dir/$1/_SUCCESS" ] || die "$1: no _SUCCESS in $dir/$1"
  cat "$dir/$1"/part-* | diff - "$dir/expected" >&2 || die "$1: the index differs from awk's"
}
# submit NAME OPTIONS… -- FILE: a whole run, which begins when all executors are there; its last lines are shown when it
# fails.
submit() {
  local name=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  SPARK_LOCAL_IP=127.0.0.1 timeout 60 "$TINDERBOX" submit --master "$master_url" "${all_executors[@]}" "${options[@]}" --class inverted_index "$2" \
    "$dir/$name" "$dir/one.txt" "$dir/two.txt" > "$dir/$name.log" 2>&1 ||
    { tail -5 "$dir/$name.log" "$dir"/worker*/driver-*/stderr >&2; die "$name: submit ended with code $?"; }
  check "$name"
}
# copies NAME: how often a file NAME below the workers' directories is the application, and none is anything else.
copies() {
  local n=0 f
  while read -r f; do
    cmp -s "$f" "$dir/mine" || die "$f is not the file that was submitted"
    n=$((n + 1))
  done < <(find "$dir"/worker[12] -name "$1" -type f)
  echo $n
}

start_master
start_worker worker1 --cores 2 --memory 2g
start_worker worker2 --cores 2 --memory 2g
all_executors=(--conf spark.cores.max=3 --conf spark.scheduler.minRegisteredResourcesRatio=1)
whole=(--deploy-mode cluster --conf spark.standalone.submit.waitAppCompletion=true)

# 2. Client mode. The file is moved away from where it was built: only the driver knows it.
submit client -- "$dir/mine"
[ "$(copies application)" = 2 ] || die "client: $(copies application) executors fetched the application, not 2"
ok "client mode: both workers fetched the ELF from the driver, the index is right"

# 3. Cluster mode, by path.
submit by_path "${whole[@]}" -- "$dir/mine"
[ "$(copies mine)" = 1 ] || die "by path: no worker has its own copy of the driver's ELF"
ok "cluster mode by path: the worker copied the ELF, the index is right"

# 4. Cluster mode, by a URL that only a web server answers.
mkdir "$dir/web"
ln "$dir/mine" "$dir/web/inverted"
start_web "$dir/web"
submit by_url "${whole[@]}" -- "$web/inverted"
[ "$(copies inverted)" = 1 ] || die "by URL: no worker has its own copy of the driver's ELF"
ok "cluster mode by http URL: the worker fetched the ELF, the index is right"

# 5. The file is replaced by another build while the application waits for workers: they refuse it.
stop_cluster
TINDERBOX=$dir/usr/bin/tinderbox
start_master
cp "$dir/mine" "$dir/replaced"
SPARK_LOCAL_IP=127.0.0.1 timeout 60 "$TINDERBOX" submit --master "$master_url" --class inverted_index "$dir/replaced" \
  "$dir/never" "$dir/one.txt" > "$dir/refused.log" 2>&1 &
driver=$!
pids+=("$driver")
wait_line "$dir/master.log" 'Registered app inverted_index' > "$dir/found"
mv "$dir/other" "$dir/replaced"
start_worker worker3 --cores 1 --memory 2g
code=0
wait $driver || code=$?
[ $code = 1 ] || die "another build: submit ended with code $code, not 1: $(tail -5 "$dir/refused.log")"
refusal='has build id [0-9a-f]+, but [0-9a-f]+ was asked for: submit and run the same file'
for log in worker3 refused; do
  grep -qE "$refusal" "$dir/$log.log" || die "another build: $log.log does not say why: $(tail -5 "$dir/$log.log")"
done
[ "$(grep -c '^Error: ' "$dir/refused.log")" = 1 ] || die "another build: not one line of error: $(cat "$dir/refused.log")"
[ ! -e "$dir/never/_SUCCESS" ] || die "another build: the application went on"
ok "another build of the same class is refused: $(grep -m1 -oE "$refusal" "$dir/refused.log")"

stop_cluster
no_process_left
ok "no process is left"
