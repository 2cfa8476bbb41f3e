# Sourced by scripts that check many things of one cluster and go on after a failure: `check` counts in $failed, which
# the script ends with; $driver, if set, is a process to end. The logs stay when something failed.
. tests/processes/cluster.sh
FAULTS=$(realpath "${FAULTS:-build/tests/faults}")
failed=0 driver=
# Options of an application whose slow tasks get copies at once.
speculation=(--conf spark.speculation=true --conf spark.speculation.interval=20ms --conf spark.speculation.multiplier=1.1
  --conf spark.speculation.quantile=0.5 --conf spark.speculation.minTaskRuntime=10ms)
trap '[ -z "$driver" ] || kill -9 "$driver" 2>/dev/null; stop_cluster; [ $failed != 0 ] || rm -rf "$dir"' EXIT

check() { # check NAME COMMAND…: what the command says stands below the verdict
  local name=$1 verdict=ok
  shift
  "$@" > "$dir/check.log" 2>&1 || verdict=FAILED failed=1
  echo "$verdict - $name"
  sed 's/^/  /' "$dir/check.log"
}
# executors [APP]: the pids of this cluster's executors, of all applications or one.
executors() {
  local p
  for p in $(pgrep -f -- "executor .*--app-id ${1:-}"); do
    [[ $(readlink "/proc/$p/cwd" 2>/dev/null) != "$dir"/* ]] || echo "$p"
  done | sort | tr '\n' ' '
}
