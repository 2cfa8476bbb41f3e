#!/usr/bin/env bash
# Task Bench gives each pattern's right result (it checks it itself and fails otherwise), and refuses what it doesn't know.
set -uo pipefail
cd "$(dirname "$0")/../../.."
failed=0

# ok NAME COMMAND…
ok() {
  local name=$1
  shift
  if "$@"; then echo "ok - $name"; else echo "FAILED - $name"; failed=1; fi
}
bench() { MASTER='local[2]' timeout 60 bench/task_bench.sh "$@" 2>&1; }
runs() { bench "$1" width=4 steps=2 task_us=1 | grep -q "^# $1: 4 x 2 tasks of 1 us: "; }
refuses() { ! said=$(bench "$2") && grep -q "$1" <<< "$said" || { echo "$said"; false; }; }

for pattern in trivial no_comm stencil_1d stencil_1d_periodic; do ok "$pattern" runs $pattern; done
ok "an unknown name" refuses "'trivia' is unknown; there are .*trivial" trivia
ok "a number that is none" refuses "'width=x' needs a positive number" width=x
exit $failed
