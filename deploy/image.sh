#!/bin/bash
# Builds the Dockerfile for real without an image registry: deploy/image.sh OUT.tar (a docker-archive).
# The base image is bootstrapped from this machine's own package sources and kept in the cache folder.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:?usage: deploy/image.sh OUT.tar}")
name=tinderbox:$(sed -n 's/^VERSION := //p' Makefile)
cache=${TINDERBOX_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/tinderbox}
suite=bookworm

die() { echo "image.sh: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "building the image needs root: it bootstraps a base system and runs the build stage in a chroot"

scratch=$(mktemp -d)
log=$scratch/log
cleanup() {
  store rm --all
  store rmi --all --force
  rm -rf "$scratch"
}
# buildah with a store of its own, so that nobody else's images are touched.
image_tool() { buildah --root "$scratch/store" --runroot "$scratch/run" --storage-driver vfs "$@"; }
store() { image_tool "$@" >/dev/null 2>&1 || true; }
trap cleanup EXIT

# The package sources of this machine that carry the suite: address, and the files that name it.
mirror() {
  {
    sed -n "s/^deb \(\[[^]]*\] \)\?\([^ ]*\) $suite .*/\2/p" /etc/apt/sources.list 2>/dev/null || true
    awk -v suite="$suite" '/^URIs:/ { uri = $2 } /^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite) print uri }' \
      /etc/apt/sources.list.d/debian.sources 2>/dev/null || true
  } | head -n 1
}

base=$cache/base-$suite-$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null || true; } | sha256sum | cut -c1-12).tar
if [ ! -f "$base" ]; then
  from=$(mirror)
  [ -n "$from" ] || die "this machine's package sources do not offer $suite, the base of the image"
  echo "image.sh: bootstrapping the base image" >&2
  mkdir -p "$cache"
  debootstrap --variant=minbase "$suite" "$scratch/base" "$from" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "debootstrap failed"; }
  [ ! -f /etc/apt/sources.list ] || cp /etc/apt/sources.list "$scratch/base/etc/apt/"
  if [ -f /etc/apt/sources.list.d/debian.sources ]; then
    cp /etc/apt/sources.list.d/debian.sources "$scratch/base/etc/apt/sources.list.d/"
    : >"$scratch/base/etc/apt/sources.list"
  fi
  rm -rf "$scratch"/base/var/cache/apt/archives/*.deb "$scratch"/base/var/lib/apt/lists/*
  tar -C "$scratch/base" -cf "$base.$$" . && mv "$base.$$" "$base"
  rm -rf "$scratch/base"
fi

echo "image.sh: building $name, some minutes; the log is shown on failure" >&2
{
  container=$(image_tool from scratch)
  image_tool add "$container" "$base" /
  image_tool commit --rm "$container" debian:$suite-slim
  image_tool bud --isolation chroot --pull-never --layers=false -t "$name" -f Dockerfile .
} >"$log" 2>&1 || { tail -n 40 "$log" >&2; die "the build failed: see above"; }
mkdir -p "$(dirname "$out")"
rm -f "$out"
image_tool push "$name" "docker-archive:$out:$name" >"$log" 2>&1 || { cat "$log" >&2; die "cannot write $out"; }
