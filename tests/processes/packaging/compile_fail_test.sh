#!/bin/bash
# Mistakes that must not compile, and the message that must say what to do instead. Each file of
# tests/processes/packaging/compile_fail starts with `// wants: TEXT`; without its line marked MISTAKE it must compile.
# The text must be that of the first error, before any that follow from it.
set -euo pipefail
cd "$(dirname "$0")/../../.."
compiler=${CXX:-g++}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The header is the same for all: g++ finds it precompiled, others read it again.
mkdir -p "$dir/core/api"
"$compiler" -std=c++20 -I. -w -x c++-header core/api/tinderbox.hpp -o "$dir/core/api/tinderbox.hpp.gch"
check() { "$compiler" -std=c++20 -I"$dir" -I. -fsyntax-only -w -x c++ "$1" 2>&1; }
without_mistake() { sed '/MISTAKE/d' "$1" | check - > /dev/null; }
refused() { # refused FILE
  local wants output
  wants=$(sed -n '1s|^// wants: ||p' "$1")
  if output=$(check "$1"); then
    echo "FAIL $1: compiles, but should not"; return 1
  elif ! grep -m1 error: <<< "$output" | grep -qF -- "$wants"; then
    echo "FAIL $1: the error does not say '$wants':"; grep -m3 error: <<< "$output"; return 1
  fi
  echo "ok   $1"
}
# All without their mistakes at once, each in a namespace of its own.
together() {
  local file
  cat "${files[@]}" | grep '^#include' | sort -u
  for file in "${files[@]}"; do
    printf 'namespace %s {\n' "$(basename "$file" .cpp)"
    sed '/MISTAKE/d; /^#include/d' "$file"
    echo '}'
  done
}
files=(tests/processes/packaging/compile_fail/*.cpp)
failed=0
export -f check refused
export compiler dir
if ! together | check - > /dev/null; then
  for file in "${files[@]}"; do
    without_mistake "$file" || { echo "FAIL $file: does not compile even without its mistake"; failed=1; }
  done
  [ $failed = 1 ] || { echo "FAIL without their mistakes the files compile one by one, but not together"; failed=1; }
fi
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I{} bash -c 'refused {}' || failed=1
exit $failed
