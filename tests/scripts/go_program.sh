#!/bin/bash
# Prints where a program is that the tests need and that comes as a Go module, built once into the cache:
#   go_program.sh MODULE/PATH@VERSION
set -euo pipefail
source=$1
here=$(cd "$(dirname "$0")" && pwd)
cache=${TINDERBOX_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/tinderbox}
name=$(basename "${source%@*}")
program=$cache/$name-${source##*@}
if [ ! -x "$program" ]; then
  echo "go_program.sh: building $name from its Go module: two minutes, once" >&2
  "$here/../../deploy/packages.sh" go
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$cache"
  GOBIN=$work GOFLAGS='' GOTOOLCHAIN=local CGO_ENABLED=0 "$("$here/go.sh")" install -trimpath -ldflags '-s -w' "$source" \
    >"$cache/$name.log" 2>&1 || { tail -n 20 "$cache/$name.log" >&2; exit 1; }
  mv "$work/$name" "$program"
fi
echo "$program"
