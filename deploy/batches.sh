#!/bin/bash
# deploy/batches.sh OUT MOST SOURCE…: puts neighbours of a folder, at most MOST of them, into one file that includes
# them, OUT/<the first of them>; leaves alone what says so already, and prints these files. Compiled together they take
# half the time: they share their headers and what they instantiate.
set -euo pipefail
printf '%s\n' "${@:3}" | awk -v out="$1" -v most="$2" '
  { folder = $1; sub(/[^\/]*$/, "", folder)
    if (!(folder in count)) folders[++n] = folder
    file[folder, ++count[folder]] = $1 }
  function write(folder, first, last,   i, name, names, text, path, old, line) {
    for (i = first; i <= last; i++) {
      name = substr(file[folder, i], length(folder) + 1); sub(/\.cpp$/, "", name)
      names = names (i > first ? "," : "") name
      text = text "#include <" file[folder, i] ">\n"
    }
    text = "// " folder (last > first ? "{" names "}" : names) ".cpp\n" text; path = out "/" file[folder, first]
    while ((getline line < path) > 0) old = old line "\n"
    close(path)
    if (old != text) { system("mkdir -p " out "/" folder); printf "%s", text > path; close(path) }
    print path
  }
  END {
    for (k = 1; k <= n; k++) {
      folder = folders[k]; all = count[folder]; batches = int((all + most - 1) / most)
      for (i = 0; i < batches; i++) write(folder, int(i * all / batches) + 1, int((i + 1) * all / batches))
    }
  }'
