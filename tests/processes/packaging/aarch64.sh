#!/usr/bin/env bash
# A binary for aarch64 run here by an emulator: it starts, and a job of two stages gives the right result.
#   tests/processes/packaging/aarch64.sh BINARY
set -euo pipefail
binary=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
run() { if [ "$(uname -m)" = aarch64 ]; then "$binary" "$@"; else qemu-aarch64-static "$binary" "$@"; fi; }
[ "$(od -An -tx2 -j18 -N2 "$binary")" = " 00b7" ] || { echo "$binary is not for aarch64"; exit 1; }
run version
printf 'b a\nb\n' > "$dir/in.txt"
# The driver itself: an emulator does not follow the execve by which submit becomes it.
run driver --conf spark.master='local[2]' --class wordcount -- "$dir/in.txt" "$dir/out"
[ "$(cat "$dir"/out/part-* | sort | tr '\n\t' ', ')" = "a 1,b 2," ] || { echo "wrong counts:"; cat "$dir"/out/part-*; exit 1; }
echo "aarch64: right result"
