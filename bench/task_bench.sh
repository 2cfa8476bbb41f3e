#!/usr/bin/env bash
# Task Bench on two executors of one core: tasks a second of a stencil, and the smallest task at 50 % efficiency. Part of
# `make bench`, which builds it. MASTER= may be set; arguments are the program's (see bench/task_bench.cpp).
set -euo pipefail
cd "$(dirname "$0")/.."
app=$PWD/build/bench/task_bench
[ -x "$app" ] || { echo "task_bench.sh: build/bench/task_bench is not built; make build/bench/task_bench does it" >&2; exit 1; }
exec "$app" submit --master "${MASTER:-local-cluster[2,1,1024]}" --class task_bench "$app" "$@"
