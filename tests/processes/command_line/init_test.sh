#!/bin/bash
# The init role of the real binary: what it fetches, what it says, how it ends.
set -euo pipefail
cd "$(dirname "$0")/../../.."
tinderbox=${TINDERBOX:-$PWD/build/tinderbox}
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
die() { echo "init_test.sh: $*"; exit 1; }

# Runs init with the arguments behind the wanted exit code; stdout must stay empty.
init() {
  local want=$1 code=0
  shift
  "$tinderbox" init "$@" >"$t/out" 2>"$t/err" || code=$?
  [ "$code" = "$want" ] || die "init $*: exit code $code, not $want: $(cat "$t/err")"
  [ ! -s "$t/out" ] || die "init $*: it wrote to stdout: $(cat "$t/out")"
}
says() { grep -qF -- "$1" "$t/err" || die "stderr does not say '$1' but: $(cat "$t/err")"; }

mkdir "$t/from"
printf hello >"$t/from/hello"
sum=$(sha256sum "$t/from/hello" | cut -d' ' -f1)
zeros=$(printf '0%.0s' {1..64})
mkdir -p "$t/from/tree/a"
echo data >"$t/from/tree/a/b"
tar -C "$t/from" -czf "$t/from/env.tar.gz" tree

init 0 --directory "$t/1" "$t/from/hello"
says "hello -> $t/1/hello"
cmp "$t/from/hello" "$t/1/hello"
init 0 --directory "$t/1" --checksum "sha256:$sum" "file://$t/from/hello" "$t/from/hello#again"
[ -f "$t/1/again" ] || die "the second file is missing"
init 0 --directory "$t/1" "$t/from/hello#sha256=$sum"
init 0 --directory "$t/1" --archive "$t/from/env.tar.gz#env"
[ "$(cat "$t/1/env/tree/a/b")" = data ] || die "the archive was not unpacked"
(cd "$t/1" && init 0 "$t/from/hello#here") && [ -f "$t/1/here" ] || die "without --directory the file is not in the current one"

init 1 --directory "$t/2" "$t/from/none" "$t/from/hello"
says "Error: file '$t/from/none' does not exist"
[ -f "$t/2/hello" ] || die "a missing file kept the next one out"
[ "$(wc -l <"$t/err")" = 2 ] || die "not one line a file: $(cat "$t/err")"
init 1 --directory "$t/3" "$t/from/hello#sha256=$zeros"
says "has the sha256 $sum, but $zeros was expected"
[ -z "$(ls -A "$t/3")" ] || die "a file with a wrong checksum was kept: $(ls -A "$t/3")"
printf other >"$t/2/hello"
init 1 --directory "$t/2" "$t/from/hello"
says "exists and does not match contents"
init 0 --directory "$t/2" --conf spark.files.overwrite=true "$t/from/hello"
cmp "$t/from/hello" "$t/2/hello"
printf other >"$t/2/hello"
printf 'spark.files.overwrite true\n' >"$t/conf"
init 0 --directory "$t/2" --properties-file "$t/conf" "$t/from/hello"

init 1 --directory "$t/4" s3a://bucket/key
says "has the scheme 's3a', which is not supported"
init 1 --directory "$t/4"
says "name at least one URL"
init 1 --directory "$t/4" --checksum md5:1 "$t/from/hello"
says "is not of the form sha256:HEX"
init 1 --no-such-option
init 0 --help
says --directory
echo "init_test.sh: all as it should be"
