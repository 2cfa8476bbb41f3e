#!/usr/bin/env bash
# What an executor's process uses at most (VmHWM) beside its spark.executor.memory: idle, counting the words of a text, its
# storage pool full, with shuffles of all of the text. Part of `make bench`, which builds it. MB=500 (of text),
# MEMORY=1024 (MiB of the executor) and CORES="1 2 8" may be set.
set -euo pipefail
cd "$(dirname "$0")/.."
app=$PWD/build/bench/executor_memory
[ -x "$app" ] || { echo "executor_memory.sh: build/bench/executor_memory is not built; make build/bench/executor_memory does it" >&2; exit 1; }
data=${TINDERBOX_BENCH_DATA:-build/bench-data}
mkdir -p "$data"
[ -s "$data/text.txt" ] || build/tinderbox bench --make-data "$data" --mb "${MB:-500}"
for cores in ${CORES:-1 2 8}; do
  echo "executor of $cores cores, ${MEMORY:-1024} MiB:"
  "$app" submit --master "local-cluster[1,$cores,${MEMORY:-1024}]" --class executor_memory --conf spark.executor.memory="${MEMORY:-1024}m" \
    "$app" "$data/text.txt"
done
