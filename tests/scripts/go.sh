#!/bin/bash
# Prints the command of a Go compiler that is new enough for what the tests build from Go modules: this machine's, or,
# where Debian's is too old, one that comes as a module itself.
set -euo pipefail
wanted=1.25.4
have=$(command -v go || echo /usr/lib/go/bin/go)
if [ "$(printf '%s\n' "$wanted" "$("$have" version | sed 's/.* go\([0-9.]*\).*/\1/')" | sort -V | head -n 1)" = "$wanted" ]; then
  echo "$have"
  exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
module="golang.org/toolchain@v0.0.1-go$wanted.linux-$("$have" env GOARCH)"
folder=$(cd "$work" && "$have" mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
# Modules come without the right to execute.
[ -x "$folder/bin/go" ] || { chmod -R u+w "$folder" && find "$folder/bin" "$folder/pkg/tool" -type f -exec chmod a+x {} +; }
echo "$folder/bin/go"
