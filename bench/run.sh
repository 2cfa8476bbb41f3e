#!/usr/bin/env bash
# The word count of 500 MB in local[2] beside the same count written by hand, in turn, and the ratio of the medians.
# Part of `make bench`. MB=500 and ROUNDS=5 may be set.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${TINDERBOX_BENCH_DATA:-build/bench-data}
peer=build/bench/wordcount_two_threads
mkdir -p "$data" build/bench
[ -s "$data/text.txt" ] || build/tinderbox bench --make-data "$data" --mb "${MB:-500}"
[ "$peer" -nt bench/wordcount_two_threads.cpp ] ||
  "${CXX:-g++}" -std=c++20 -O3 $([ "$(uname -m)" != x86_64 ] || echo -march=x86-64-v2) -static -pthread bench/wordcount_two_threads.cpp -o "$peer"
ours=() theirs=()
for ((i = 0; i < ${ROUNDS:-5}; ++i)); do
  theirs+=("$("$peer" "$data/text.txt" | awk '{print $3}')")
  ours+=("$(build/tinderbox bench --data "$data" wordcount_s | awk '/^BENCH/ {print $3}')")
done
median() { printf '%s\n' "$@" | sort -n | sed -n "$(( ($# + 1) / 2 ))p"; }
a=$(median "${ours[@]}") b=$(median "${theirs[@]}")
echo "BENCH wordcount_s $a s"
echo "BENCH wordcount_by_hand_s $b s"
awk -v a="$a" -v b="$b" 'BEGIN { printf "BENCH wordcount_ratio %.2f x\n", a / b }'
