#!/bin/bash
# Branch coverage of core/scheduler by the unit tests of tests/core/scheduler, built in build/coverage: one line a file,
# then the total, which must reach $LEAST per cent.
set -euo pipefail
cd "$(dirname "$0")/../.."
least=${LEAST:-95} build=build/coverage
mapfile -t reached < <(tests/scripts/reach.sh $(find tests/core/scheduler -name '*_test.cpp'))
tests=$(printf '%s\n' "${reached[@]}" | grep ^tests/ | paste -sd ' ')
sources=$(printf '%s\n' "${reached[@]}" | grep -v ^tests/ | paste -sd ' ')
missed=$(comm -13 <(printf '%s\n' "${reached[@]}" | sort) <(find core/scheduler -name '*.cpp' | sort))
[ -z "$missed" ] || { echo "coverage: no test reaches" $missed; exit 1; }
rm -f $build/coverage.raw
LLVM_PROFILE_FILE=$build/coverage.raw "${MAKE:-make}" unit FLAVOUR=coverage TEST_SRC="$tests" LIB_SRC="$sources"
llvm-profdata-16 merge -sparse $build/coverage.raw -o $build/coverage.data
report=$build/coverage.txt
llvm-cov-16 report $build/tests/run -instr-profile=$build/coverage.data -show-branch-summary core/scheduler > $report
llvm-cov-16 show $build/tests/run -instr-profile=$build/coverage.data -show-branches=count core/scheduler > $build/coverage.lines
awk -v least="$least" '
  /[0-9]%|[0-9] +-$/ && $NF != "Cover" { printf "%-44s %5d branches, %4d not taken  %s\n", $1, $(NF - 2), $(NF - 1), $NF }
  $1 == "TOTAL" { total = 100 * (1 - $(NF - 1) / $(NF - 2)) }
  END {
    printf "branch coverage of core/scheduler: %.2f %% (at least %d %%); line by line in build/coverage.lines\n", total, least
    exit !(total >= least)
  }' $report
