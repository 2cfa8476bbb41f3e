#!/bin/bash
# The image archive of `make image`: one layer, in it one file, which is the entrypoint and runs in an empty root.
set -euo pipefail
cd "$(dirname "$0")/../../.."
archive=${1:-build/image.tar}
die() { echo "image_test.sh: $*"; exit 1; }
[ -f "$archive" ] || die "there is no $archive: make image builds it"
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
tar -C "$t" -xf "$archive"

layers=$(sed 's/.*"Layers":\[\([^]]*\)\].*/\1/' "$t/manifest.json" | tr -d '"' | tr ',' ' ')
config=$t/$(sed 's/.*"Config":"\([^"]*\)".*/\1/' "$t/manifest.json")
[ "$(wc -w <<<"$layers")" = 1 ] || die "one layer is wanted, found: $layers"
files=$(tar -tf "$t/$layers")
[ "$files" = tinderbox ] || die "the layer should hold the one file tinderbox, it holds: $files"
grep -q '"Entrypoint":\["/tinderbox"\]' "$config" || die "the entrypoint is not /tinderbox: $(cat "$config")"
grep -q '"User":"185:185"' "$config" || die "the image should not run as root: $(cat "$config")"

mkdir "$t/unpacked"
tar -C "$t/unpacked" -xf "$t/$layers"
tests/processes/packaging/empty_root_test.sh "$t/unpacked/tinderbox"
echo "image_test.sh: $archive holds one file of $(stat -c %s "$t/unpacked/tinderbox") bytes"
