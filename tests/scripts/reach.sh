#!/bin/bash
# tests/scripts/reach.sh TEST.cpp…: these and the sources that they need, one a line: what belongs to the headers that they
# reach. A source belongs to the header of its name; one that has none, to the headers beside it that it includes; if
# there are none, to the first one. Uses $CXX and $CPPFLAGS.
set -euo pipefail
cd "$(dirname "$0")/../.."
declare -A sources=() reached=()
while read -r header source; do sources[$header]+=" $source"; done < <(
  find core net conf cmd tests -name '*.cpp' -not -path 'cmd/apps/*' -not -path 'tests/apps/*' -not -path 'tests/processes/*' |
    while read -r f; do
      if [ -f "${f%.cpp}.hpp" ]; then echo "${f%.cpp}.hpp $f"; else echo "? $f"; fi
    done | sort | awk '
      $1 != "?" { print; next }
      { beside = ""; first = ""
        while ((getline line < $2) > 0) {
          if (line !~ /^#include "/) continue
          split(line, part, "\""); here = $2; sub(/[^\/]*$/, "", here); there = part[2]; sub(/[^\/]*$/, "", there)
          if (here == there) beside = beside part[2] " " $2 "\n"
          if (first == "" && part[2] !~ /^(conf|net)\//) first = part[2] " " $2 "\n"
        }
        if ($2 !~ /^tests\//) printf "%s", beside == "" ? first : beside
      }')
todo=("$@")
while [ ${#todo[@]} != 0 ]; do
  for f in "${todo[@]}"; do reached[$f]=1; done
  # shellcheck disable=SC2086  # a list of words
  headers=$("${CXX:-g++}" ${CPPFLAGS:--I.} -std=c++20 -MM "${todo[@]}" | tr -d '\\' | tr ' ' '\n' | grep '^[^/].*\.hpp$' | sort -u)
  todo=()
  for f in $(for h in $headers; do echo "${sources[$h]:-}"; done | tr ' ' '\n' | sort -u); do
    [ -n "${reached[$f]:-}" ] || todo+=("$f")
  done
done
printf '%s\n' "${!reached[@]}" | sort
