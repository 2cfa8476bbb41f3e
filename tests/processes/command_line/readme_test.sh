#!/bin/bash
# The README tells the truth: its blocks marked `<!-- run -->` are run in an empty folder and print what the block behind
# them says, its application is the one of examples/, the steps of "Follow one job" exist, its links lead somewhere.
# docs/configuration.md is what the binary prints.
set -euo pipefail
cd "$(dirname "$0")/../../.."
tree=$PWD
tinderbox=$(realpath "${TINDERBOX:-build/tinderbox}")
t=$(mktemp -d "${TMPDIR:-/tmp}/tinderbox-readme-XXXXXX")
finish() {
  local code=$?
  rm -rf "$t"
  exit $code
}
trap finish EXIT
die() { echo "readme_test.sh: $*" >&2; exit 1; }
ok() { echo "ok - $*"; }

# 1. The page of settings.
"$tinderbox" version --keys > "$t/keys"
diff "$t/keys" docs/configuration.md >&2 || die "docs/configuration.md is old: build/tinderbox version --keys > docs/configuration.md"
ok "docs/configuration.md is what the binary prints"

# 2. Each file:function of "Follow one job" has a definition or a call of that name.
steps=$(sed -n '/^## Follow one job/,/^## The tree/p' README.md | grep -oE '`[a-z_/]+\.[ch]pp:[a-z_]+`' | tr -d '\140')
[ "$(wc -l <<< "$steps")" -ge 10 ] || die "'Follow one job' has fewer than ten steps"
[ "$(sed -n '/^## Follow one job/,/^## The tree/p' README.md | grep -cE '^[0-9]+\. ')" = 10 ] || die "'Follow one job' has not ten numbers"
while IFS=: read -r file function; do
  [ -f "$file" ] || die "'Follow one job' names $file, which is not there"
  grep -qE "\\b$function\\(" "$file" || die "'Follow one job' names $file:$function, which is not there"
done <<< "$steps"
ok "$(wc -l <<< "$steps") functions of 'Follow one job' exist"

# 3. Links and the example.
for page in README.md docs/*.md; do
  while read -r link; do
    [ -e "$(dirname "$page")/$link" ] || die "$page links to $link, which is not there"
  done < <(grep -oE '\]\([a-zA-Z0-9_./-]+\)' "$page" | sed 's/^](//; s/)$//')
done
awk '/^```cpp$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' README.md | diff - examples/word_count.cpp >&2 ||
  die "the application in the README is not examples/word_count.cpp"
ok "links lead somewhere, the application is the one of examples/"

# 4. The marked blocks, in one shell, with free ports instead of the well-known ones.
awk -v t="$t" '/^<!-- run -->$/ { ++n; next }
  /^```/ { if (inside) { inside = ""; next }
           inside = $0 == "```sh" ? t "/block" n : $0 == "```text" ? t "/want" n : "other"; next }
  inside && inside != "other" { print > inside }' README.md
blocks=$(find "$t" -name 'block*' | wc -l)
[ "$blocks" -ge 3 ] || die "only $blocks blocks are marked"
port=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport')
{
  echo 'set -euo pipefail'
  # Whatever happens, nothing stays behind.
  echo "trap 'kill \$(jobs -p) 2>/dev/null || true; wait' EXIT"
  for ((n = 1; n <= blocks; ++n)); do
    [ -f "$t/want$n" ] || die "block $n of the README has no output behind it"
    echo "{"
    sed "s/127\.0\.0\.1:7077/127.0.0.1:$port/g" "$t/block$n"
    echo "} > '$t/got$n'"
  done
} > "$t/all.sh"
mkdir "$t/bin" "$t/empty"
ln -s "$tinderbox" "$t/bin/tinderbox"
(cd "$t/empty" && PATH=$t/bin:$PATH SPARK_MASTER_PORT=$port SPARK_MASTER_WEBUI_PORT=0 SPARK_WORKER_WEBUI_PORT=0 \
  timeout 100 bash "$t/all.sh" 2> "$t/log") || { tail -n 20 "$t/log" "$t"/empty/*.log >&2; die "a block of the README fails"; }
for ((n = 1; n <= blocks; ++n)); do
  diff "$t/got$n" "$t/want$n" >&2 || die "block $n of the README prints something else"
done
ok "$blocks blocks of the README print what it says"
cd "$tree"
[ -z "$(pgrep -f "$t" || true)" ] || die "a process that a block started is left"
ok "no process is left"
