#!/bin/bash
# Prints where a real S3 server is (Versity's gateway over a folder), built from its Go module: two minutes, once.
#   SERVER --access KEY --secret SECRET --port HOST:PORT posix FOLDER      each folder in FOLDER is a bucket
set -euo pipefail
version=v1.8.0
here=$(cd "$(dirname "$0")" && pwd)
cache=${TINDERBOX_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/tinderbox}
server=$cache/s3-server-$version
if [ ! -x "$server" ]; then
  echo "s3_server.sh: building an S3 server from its Go module: two minutes, once" >&2
  "$here/../../deploy/packages.sh" go
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$cache"
  GOBIN=$work GOFLAGS= GOTOOLCHAIN=local CGO_ENABLED=0 "$("$here/../scripts/go.sh")" install -trimpath -ldflags '-s -w' \
    "github.com/versity/versitygw/cmd/versitygw@$version" >"$cache/s3-server.log" 2>&1 ||
    { tail -n 20 "$cache/s3-server.log" >&2; exit 1; }
  mv "$work/versitygw" "$server"
fi
echo "$server"
