#!/bin/bash
# Mistakes that must not compile, and the message that must say what to do instead. Each file of
# tests/processes/packaging/compile_fail starts with `// wants: TEXT`; without its line marked MISTAKE it must compile.
# The text must be that of the first error, before any that follow from it.
set -euo pipefail
cd "$(dirname "$0")/../../.."
compiler=${CXX:-g++}
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The header is the same for all: g++ finds it precompiled, others read it again.
mkdir -p "$dir/core/api"
"$compiler" -std=c++20 -I. -w -x c++-header core/api/tinderbox.hpp -o "$dir/core/api/tinderbox.hpp.gch"
check() { "$compiler" -std=c++20 -I"$dir" -I. -fsyntax-only -w -x c++ "$1"; }
for file in tests/processes/packaging/compile_fail/*.cpp; do
  wants=$(sed -n '1s|^// wants: ||p' "$file")
  if ! sed '/MISTAKE/d' "$file" | check - 2>/dev/null; then
    echo "FAIL $file: does not compile even without its mistake"; failed=1; continue
  fi
  if output=$(check "$file" 2>&1); then
    echo "FAIL $file: compiles, but should not"; failed=1
  elif ! grep -m1 error: <<< "$output" | grep -qF -- "$wants"; then
    echo "FAIL $file: the error does not say '$wants':"; grep -m3 error: <<< "$output"; failed=1
  else
    echo "ok   $file"
  fi
done
exit $failed
