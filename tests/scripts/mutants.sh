#!/usr/bin/env bash
# Breaks one rule at a time and sees that a test notices: tests/scripts/mutants.sh [NAME…].
# A tests/mutants/LAYER/SUBJECT/NAME.patch starts with `rule: …` and `first: [tag]…`, and changes core/. It is applied to a
# copy of the tree; what it changes is compiled without optimisation, all else is as it was built. The tests of its tags
# run, then those of all machines, then the simulator, until one fails. A mutant that all let pass has survived, one that
# no longer applies or compiles is stale; both fail the run.
#   SEEDS=1000  of the simulator, for each    ONLY='map*'  mutants by name    SHARD=1/2  the first half of them
#   CHECK=1     builds and runs nothing: sees that every patch applies, and names those that do not
set -uo pipefail
cd "$(dirname "$0")/../.."
seeds=${SEEDS:-1000} shard=${SHARD:-1/1}
tree=$PWD copy=$PWD/build/mutants/${shard%/*} log=$PWD/build/mutants/log-${shard%/*}
machines='[dag],[commit],[map_outputs],[task_set],[task_scheduler],[launch_ahead],[driver],[pools],[health],[speculation]'
machines+=',[allocation],[scaling],[master],[worker],[app_client],[recovery],[block_master],[migration],[replication],[rolling],[task_reaper],[resources],[pods],[submission],[pod_objects]'
killed=0 failed=0

# Without fuzz, which a run allows: between other lines a patch may break another rule. `git apply` would not do, as it
# skips everything, and is content, where the tree lies in a folder of another repository.
check() {
  local patch why
  for patch; do
    if ! why=$(patch --dry-run -s -f -p1 -F0 < "$patch" 2>&1); then
      echo "STALE     $patch: it does not apply to $(sed -n 's|^+++ b/||p' "$patch"): ${why##*$'\n'}"
      failed=$((failed + 1))
    elif [ "$(grep -cE '^(rule: .|first: \[|\+\+\+ b/core/)' "$patch")" -lt 3 ]; then
      echo "STALE     $patch: it lacks a rule, its first tests or a change of core/"
      failed=$((failed + 1))
    fi
  done
  for patch in $(printf '%s\n' "${@##*/}" | sort | uniq -d); do
    echo "STALE     $patch: two mutants have this name"
    failed=$((failed + 1))
  done
  echo "$(($# - failed)) of $# mutants apply"
  [ $failed = 0 ]
}
if [ "${CHECK:-}" = 1 ]; then
  check tests/mutants/*/*/*.patch
  exit
fi

rm -rf "$copy"
mkdir -p "$copy/build" "$log"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp -a --parents -t "$copy" || exit 1
cp -al build/obj build/deps.mk build/libraries "$copy/build/" || { echo "mutants: make unit first"; exit 1; }

patch_of() { find "$tree/tests/mutants" -name "$1.patch"; }
head_of() { sed -n "s/^$1: //p" "$(patch_of "$2")"; }
# The first test that failed, from a log of the unit tests.
failed_test() { sed -n '/^-----/{n;p;q}' "$1"; }
# Compiles and links. Precompiled headers were made with other flags: the compiler says so and goes on without them.
# What a mutant leaves unused is no error.
build() {
  local quick='OPT_plain=-O0 -ffunction-sections -fdata-sections -fno-plt -fno-pie'
  make "$quick" WERROR= "build/tests/$2" >> "$log/$1.make" 2>&1
}
# What noticed the mutant, with its first tests $2; empty: nothing.
noticed_by() {
  local out=$log/$1 tags
  for tags in $2 "$machines"; do
    timeout 120 build/tests/run -a "$tags" > "$out.unit" 2>&1 && continue
    [ $? = 124 ] && echo "unit tests: time is up" || echo "test: $(failed_test "$out.unit")"
    return
  done
  build "$1" sim || { echo "STALE"; return; }
  timeout 300 build/tests/sim --brief --seeds "$seeds" > "$out.sim" 2>&1 || echo "simulator: $(grep -vm1 ': held$' "$out.sim")"
}
# Sources with their times and all objects, as they were: nothing is compiled again for the next one.
restore() {
  for f; do
    cp -p "$tree/$f" "$f"
    rm -f "$f.rej" "$f.orig"
  done
  cp -alf "$tree/build/obj" build/
}
try() {
  local name=$1 patch files by
  patch=$(patch_of "$1")
  mapfile -t files < <(sed -n 's|^+++ b/||p' "$patch")
  if ! patch -s -p1 -F3 < "$patch" > "$log/$name.patch" 2>&1; then
    echo "STALE     $name: the patch does not apply: $log/$name.patch" && failed=$((failed + 1))
  elif ! build "$name" run; then
    echo "STALE     $name: it does not compile: $log/$name.make" && failed=$((failed + 1))
  elif by=$(noticed_by "$name" "$(head_of first "$name")") && [ "$by" = STALE ]; then
    echo "STALE     $name: the simulator does not link: $log/$name.make" && failed=$((failed + 1))
  elif [ -n "$by" ]; then
    echo "killed    $name: $(head_of rule "$name") ($by)" && killed=$((killed + 1))
  else
    echo "SURVIVED  $name: $(head_of rule "$name")" && failed=$((failed + 1))
  fi
  restore "${files[@]}"
}

if [ $# -gt 0 ]; then
  names=("$@")
else
  mapfile -t names < <(find tests/mutants -name "${ONLY:-*}.patch" | sed 's|.*/||; s|\.patch$||' | sort | awk -v s="$shard" \
    'BEGIN { split(s, part, "/") } NR % part[2] == part[1] % part[2]')
fi
cd "$copy" || exit 1
rm -f "$log"/*.make
build none run && [ -z "$(noticed_by none "")" ] || { echo "mutants: the tests fail without any mutant; see $log"; exit 1; }
for name in "${names[@]}"; do try "$name"; done
echo "$killed killed, $failed survived or stale"
[ $failed = 0 ] && [ $killed != 0 ]
