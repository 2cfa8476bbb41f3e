#!/bin/bash
# The scripts of ${CASES:-tests/kubernetes/cases} against a real Kubernetes, from nothing. Ends with `N passed, N failed`, each line
# `ok - …` or `FAILED - …` of a case counting one. ONLY=word runs the cases so named; KEEP=1 leaves the cluster up.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
export TINDERBOX=${TINDERBOX:-$PWD/build/tinderbox}
logs=$PWD/build/test-logs
mkdir -p "$logs"
tests/kubernetes/up >/dev/null || { echo "0 passed, 1 failed"; exit 1; }
[ -n "${KEEP:-}" ] || trap tests/kubernetes/down EXIT
state=${TINDERBOX_KUBERNETES:-/run/tinderbox-kubernetes}
# of_cluster: processes of the cluster, by where they run, mounts and namespaces of its.
of_cluster() {
  local p
  for p in /proc/[0-9]*; do [[ $(readlink "$p/cwd" 2>/dev/null) != "$state"* ]] || tr '\0' ' ' <"$p/cmdline"; done
  awk -v s="$state/" 'index($2, s) == 1' /proc/mounts
  [ ! -e "$state" ] || echo "$state"
  ip netns list
}
tests/kubernetes/load_image localhost/tinderbox:test "$TINDERBOX" /tinderbox 185:185 || exit 1
passed=0 failed=0
for script in "${CASES:-tests/kubernetes/cases}"/*.sh; do
  name=$(basename "$script" .sh)
  [[ $name == *"${ONLY:-}"* ]] || continue
  start=$SECONDS status=0
  timeout -k 10 900 "$script" >"$logs/kubernetes-$name.log" 2>&1 </dev/null || status=$?
  ok=$(grep -c '^ok - ' "$logs/kubernetes-$name.log")
  bad=$(grep -c '^FAILED - ' "$logs/kubernetes-$name.log")
  [ $status = 0 ] || [ "$bad" != 0 ] || bad=1
  passed=$((passed + ok)) failed=$((failed + bad))
  printf '%-28s %s of %s, %s s\n' "$name" "$ok" $((ok + bad)) $((SECONDS - start))
  grep '^BENCH ' "$logs/kubernetes-$name.log"
  [ "$bad" = 0 ] || sed 's/^/    /' "$logs/kubernetes-$name.log"
done
if [ -z "${KEEP:-}" ]; then
  tests/kubernetes/down
  left=$(of_cluster)
  if [ -z "$left" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'left of the cluster:\n%s\n' "$left"; fi
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed != 0 ]
