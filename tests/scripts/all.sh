#!/bin/bash
# Everything `make test` runs, in turn; a failure does not stop the rest. Ends with `N passed, N failed`, where
# each unit test case, each script tests/processes/…_test.sh and each check counts one. ONLY=word runs the steps so named.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
export TINDERBOX=$PWD/build/tinderbox
logs=$PWD/build/test-logs
mkdir -p "$logs"
passed=0 failed=0

say() { printf '%-28s %s\n' "$1" "$2"; }

# Runs "$2…" as the step $1 with its output in a log, shown when it fails.
step() {
  local name=$1 log=$logs/$1.log start=$SECONDS status=0
  shift
  [[ $name == *"${ONLY:-}"* ]] || return 0
  timeout -k 10 "${STEP_SECONDS:-600}" "$@" >"$log" 2>&1 </dev/null || status=$?
  local cases
  cases=$(cases_of "$log")
  if [ $status = 0 ]; then
    passed=$((passed + ${cases:-1}))
    say "$name" "ok, ${cases:+$cases cases, }$((SECONDS - start)) s"
    return
  fi
  local bad
  bad=$(sed -n 's/^test cases:.*| *\([0-9]*\) failed.*/\1/p' "$log" | tail -n 1)
  failed=$((failed + ${bad:-1}))
  [ -n "$bad" ] && passed=$((passed + ${cases:-$bad} - bad))
  tail -n "${TAIL:-60}" "$log" | sed 's/^/    /'
  [ $status = 124 ] && status="no end within ${STEP_SECONDS:-600} s"
  say "$name" "FAILED ($status), log in ${log#"$PWD"/}"
}

# The number of test cases that a Catch2 log tells of.
cases_of() {
  sed -n -e 's/^All tests passed (.* in \([0-9]*\) test case.*/\1/p' -e 's/^test cases: *\([0-9]*\) .*/\1/p' "$1" | tail -n 1
}

step unit "${MAKE:-make}" unit
step sim "${MAKE:-make}" sim SEEDS=1000
step layers tests/scripts/layers.sh
step mutants_apply env CHECK=1 tests/scripts/mutants.sh
step headers "${MAKE:-make}" headers
for script in $(find tests/processes -name "*_test.sh" | sort); do
  [ "$(basename "$script")" = image_test.sh ] && continue  # part of `make image`
  step "$(basename "$script" .sh)" "$script"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed != 0 ]
