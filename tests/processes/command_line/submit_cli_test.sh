#!/bin/bash
# Runs the calls of submit_cli.tsv with the real binary ($TINDERBOX, default build/tinderbox) and compares exit
# codes and messages. Each run: a directory of its own, no inherited variables, no input, a minute at most.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=${TINDERBOX:-$here/../../../build/tinderbox}
[ -x "$binary" ] || { echo "submit_cli_test: no binary at $binary; make it or set TINDERBOX"; exit 1; }
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
cwd=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$cwd"' EXIT
cd "$cwd" || exit 1
printf 'key value\n' >bad.conf
ran=0 left_out=0 failed=0

complain() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n  %s\n' "$call" "$1"
  sed 's/^/    /' "$cwd/out" | head -n 20
}

# What a call printed contains each part of `want`.
contains_all() {
  local part rest="$1 ⏎ "
  while [ -n "$rest" ]; do
    part=${rest%% ⏎ *}
    rest=${rest#* ⏎ }
    grep -qF -- "${part//CWD/$cwd}" "$cwd/out" || { complain "not printed: $part"; return; }
  done
}

while IFS=$'\t' read -r call code want; do
  case $call in '#'* | '') continue ;; esac
  if [ "$code" = "left out" ]; then
    [ -n "$want" ] || { echo "no reason why this is left out: $call"; failed=$((failed + 1)); }
    left_out=$((left_out + 1))
    continue
  fi
  read -r -a args <<<"${call#spark-submit}"
  for i in "${!args[@]}"; do [ "${args[i]}" = J ] && args[i]=$binary; done
  timeout -k 5 60 env -i PATH="$PATH" HOME="$cwd" "$binary" submit "${args[@]}" >"$cwd/out" 2>&1 </dev/null
  status=$?
  ran=$((ran + 1))
  if [ $status != "$code" ]; then complain "exit code $status, wanted $code"; else contains_all "$want"; fi
  if grep -q s3cret "$cwd/out"; then complain "a secret was printed"; fi
done <"$here/submit_cli.tsv"

# Precedence and redaction as a person sees them, and the command that will run.
call="submit --verbose with file, environment and --conf"
printf 'spark.task.cpus 2\nspark.api.token abc\n' >f.conf
env -i PATH="$PATH" SPARK_EXECUTOR_MEMORY=2g SPARK_PRINT_LAUNCH_COMMAND=1 "$binary" submit -v --master spark://h:1 \
  --properties-file f.conf --conf spark.executor.memroy=1g --class X "$binary" >"$cwd/out" 2>&1 </dev/null
contains_all "spark.task.cpus=2  (file f.conf) ⏎ spark.executor.memory=2g  (environment SPARK_EXECUTOR_MEMORY) ⏎ \
spark.api.token=*********(redacted) ⏎ did you mean spark.executor.memory? ⏎ Spark Command: ⏎ driver --properties-file"
grep -q abc "$cwd/out" && complain "a secret was printed"
call="submit to a worker: the command that will run there"
env -i PATH="$PATH" SPARK_PRINT_LAUNCH_COMMAND=1 "$binary" submit --master spark://127.0.0.1:1 --deploy-mode cluster \
  --class X "$binary" a b >"$cwd/out" 2>&1 </dev/null
contains_all "Spark Command: file:$binary driver --class X -- a b"
for action in --status --kill; do
  call="submit --verbose $action"
  env -i PATH="$PATH" "$binary" submit --verbose --master spark://127.0.0.1:1 $action d1 --conf spark.my.password=s3cret \
    >"$cwd/out" 2>&1 </dev/null
  contains_all "Parsed arguments: ⏎   master                  spark://127.0.0.1:1 ⏎ Resolved properties, and where each came from: ⏎ \
spark.my.password=*********(redacted)"
done
call="a local: file"
env -i PATH="$PATH" "$binary" submit --master 'local[1]' --files local:/etc/hostname --class X "$binary" >"$cwd/out" 2>&1 </dev/null
contains_all "Warning: local:/etc/hostname of spark.files is ignored"
call="a file that is no application"
env -i PATH="$PATH" "$binary" submit --class X f.conf >"$cwd/out" 2>&1 </dev/null
[ $? = 1 ] || complain "wanted exit code 1"
contains_all "f.conf"
[ "$(grep -c . "$cwd/out")" = 1 ] || complain "wanted one line"

echo "$ran calls ran, $left_out left out with a reason, $failed failed"
[ $failed = 0 ] && [ $ran -gt 60 ]
