#!/bin/bash
# Mistakes that must not compile, and the message that must say what to do instead. Each file of
# tests/processes/packaging/compile_fail starts with `// wants: TEXT`; without its line marked MISTAKE it must compile.
set -euo pipefail
cd "$(dirname "$0")/../../.."
compiler=${CXX:-g++}
failed=0
for file in tests/processes/packaging/compile_fail/*.cpp; do
  wants=$(sed -n '1s|^// wants: ||p' "$file")
  if ! sed '/MISTAKE/d' "$file" | "$compiler" -std=c++20 -I. -fsyntax-only -w -x c++ - 2>/dev/null; then
    echo "FAIL $file: does not compile even without its mistake"; failed=1; continue
  fi
  if output=$("$compiler" -std=c++20 -I. -fsyntax-only -w "$file" 2>&1); then
    echo "FAIL $file: compiles, but should not"; failed=1
  elif ! grep -qF -- "$wants" <<< "$output"; then
    echo "FAIL $file: the error does not say '$wants':"; grep -m3 error: <<< "$output"; failed=1
  else
    echo "ok   $file"
  fi
done
exit $failed
