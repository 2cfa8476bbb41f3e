#!/usr/bin/env bash
# Breaks one rule of the scheduler at a time and sees that a test notices: tests/mutants.sh [NAME…].
# Each tests/mutants/NAME.patch starts with `rule: …` and changes core/; it is applied to a copy of the tree, the unit
# tests of the machines run, then, if they let it pass, the simulator. A mutant that both let pass has survived, one
# that no longer applies or compiles is stale; both fail the run. SEEDS: of the simulator, for each mutant.
set -uo pipefail
cd "$(dirname "$0")/.."
tree=$PWD copy=$PWD/build/mutants/tree log=$PWD/build/mutants/log
tags='[dag],[task_set],[task_scheduler],[launch_ahead],[driver],[map_outputs],[pools],[health],[speculation],[allocation]'
seeds=${SEEDS:-1000}
killed=0 failed=0

rm -rf "$copy"
mkdir -p "$copy/build" "$log"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp -a --parents -t "$copy" || exit 1
cp -al build/obj build/deps.mk build/libraries "$copy/build/" || { echo "mutants: make unit first"; exit 1; }
targets=(build/tests/run)
grep -q 'tests/sim' Makefile && targets+=(build/tests/sim)

# What noticed the mutant; empty: nothing.
noticed_by() {
  timeout 120 build/tests/run -a "$tags" > "$log/$1.unit" 2>&1 || { echo "unit tests"; return; }
  [ ${#targets[@]} = 1 ] || timeout 300 build/tests/sim --seeds "$seeds" > "$log/$1.sim" 2>&1 || echo "simulator"
}
try() {
  local name=$1 patch=$tree/tests/mutants/$1.patch files by
  cd "$copy" || exit 1
  files=$(sed -n 's|^+++ b/||p' "$patch")
  if ! patch -s -p1 -F3 < "$patch" > "$log/$name.patch" 2>&1; then
    by="" && echo "STALE     $name: the patch does not apply: $log/$name.patch" && failed=$((failed + 1))
  elif ! make "${targets[@]}" > "$log/$name.make" 2>&1; then
    echo "STALE     $name: it does not compile: $log/$name.make" && failed=$((failed + 1))
  else
    by=$(noticed_by "$name")
    if [ -n "$by" ]; then
      echo "killed    $name ($by): $(sed -n 's/^rule: //p' "$patch")" && killed=$((killed + 1))
    else
      echo "SURVIVED  $name: $(sed -n 's/^rule: //p' "$patch")" && failed=$((failed + 1))
    fi
  fi
  for f in $files; do
    cp -a "$tree/$f" "$f"
    rm -f "$f.rej" "$f.orig"
    cp -alf "$tree/build/obj/${f%.cpp}.o" "build/obj/${f%.cpp}.o"
  done
  cd "$tree" || exit 1
}

(cd "$copy" && make "${targets[@]}" > "$log/make" 2>&1 && [ -z "$(noticed_by none)" ]) ||
  { echo "mutants: the tests fail without any mutant; see $log"; exit 1; }
if [ $# -gt 0 ]; then names=("$@"); else mapfile -t names < <(cd tests/mutants && ls *.patch | sed 's/\.patch$//'); fi
for name in "${names[@]}"; do try "$name"; done
echo "$killed killed, $failed survived or stale"
[ $failed = 0 ] && [ $killed != 0 ]
