#!/usr/bin/env bash
# What a machine does to applications that run on it: disks that are full, directories that cannot be used, files of map
# outputs and cached partitions that vanish or change, limits of a control group. tests/apps/larger.cpp and
# tests/apps/engine.cpp check their results; this script checks what people are told.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/checks.sh
ENGINE=$(realpath "${ENGINE:-build/tests/engine}") LARGER=$(realpath "${LARGER:-build/tests/larger}")

# "${mounted[@]}" MOUNTS COMMAND…: where the shell commands MOUNTS mounted something that only COMMAND sees. Empty: this user cannot.
mounted=()
for rights in "" --map-root-user; do
  [ ${#mounted[@]} -gt 0 ] || ! unshare $rights --mount true 2> /dev/null || mounted=(unshare $rights --mount sh -c 'eval "$0" && exec "$@"')
done
disk_full() {
  mkdir "$dir/full"
  ! timeout 120 "${mounted[@]}" "mount -t tmpfs -o size=32m none '$dir/full'" "$LARGER" submit --master 'local-cluster[2,1,400]' --conf spark.executor.memory=400m \
    --conf spark.local.dir="$dir/full" --class larger "$LARGER" 200 400 > "$dir/full.out" 2> "$dir/full.err" && [ "$(grep -c '^Error: ' "$dir/full.err")" = 1 ] &&
    grep "^Error: Job aborted .* $dir/full/[^ ]*: No space left on device$" "$dir/full.err" || { cat "$dir/full.err"; return 1; }
}
output_full() {
  mkdir "$dir/output"
  ! timeout 120 "${mounted[@]}" "mount -t tmpfs -o size=32m none '$dir/output'" sh -c '"$@"; s=$?; find "$0" -name "_SUCCESS" -o -name "part-*" -path "*/objects/part-*"; exit $s' "$dir/output" \
    "$LARGER" submit --master 'local-cluster[2,1,400]' --conf spark.executor.memory=400m --class larger "$LARGER" 200 400 "$dir/output" > "$dir/output.out" 2> "$dir/output.err" &&
    [ "$(grep -c '^Error: ' "$dir/output.err")" = 1 ] && grep "^Error: .* $dir/output/[^ ]*: No space left on device" "$dir/output.err" && ! grep "$dir/output/" "$dir/output.out" ||
    { cat "$dir/output.out" "$dir/output.err"; return 1; }
}
# Its executors lie outside, with room in their directories.
driver_full() {
  mkdir "$dir/driver"
  ! timeout 60 "${mounted[@]}" "mount -t tmpfs -o size=1m none '$dir/driver'" "$ENGINE" submit --master "$master_url" --conf spark.local.dir="$dir/driver" \
    --conf spark.network.maxRemoteBlockSizeFetchToMem=1m --class engine "$ENGINE" "$dir" collected 2> "$dir/driver.err" &&
    [ "$(grep -c '^Error: ' "$dir/driver.err")" = 1 ] &&
    grep "^Error: .* failed 4 times, .*: the reader's own disk failed .*$dir/driver/.*: No space left on device$" "$dir/driver.err" || { cat "$dir/driver.err"; return 1; }
}
# Half a processor is one: its text is one part, for two threads and more it would be two.
limited() {
  seq 1000 > "$dir/numbers"
  timeout 60 "${mounted[@]}" "mount -t tmpfs none /sys/fs/cgroup && echo 50000 100000 > /sys/fs/cgroup/cpu.max && echo $((256 << 20)) > /sys/fs/cgroup/memory.max" \
    "$TINDERBOX" run-example --master 'local[*]' --driver-memory 1g sort "$dir/numbers" "$dir/limited" 2> "$dir/limited.err" &&
    [ "$(ls "$dir/limited" | tr '\n' ' ')" = '_SUCCESS part-00000 ' ] &&
    grep 'WARN ProcessBlocks: the control group .* 256 MiB, less than the 1024 MiB that it was given' "$dir/limited.err" || { cat "$dir/limited.err"; return 1; }
}
if [ ${#mounted[@]} -gt 0 ]; then
  check "spark.local.dir is full: one line says so and where" disk_full
  check "the output's disk is full: one line says so, nothing looks whole" output_full
  start_master
  start_worker worker1 --cores 1 --memory 2g
  check "the driver has no room for a result: one line says so, and where" driver_full
  stop_cluster
  check "local[*] and its memory go by the limits of the control group" limited
else
  echo "left out, as this user can mount nothing: a full disk, limits of a control group"
fi

# [option=KEY=VALUE] after_outputs N COMMAND…: an application of 200 MB, and the command once N map outputs are in the files below $dir/blocks.
after_outputs() {
  local outputs=$1 app
  shift
  rm -rf "$dir/blocks" && mkdir "$dir/blocks"
  timeout 120 "$LARGER" submit --master 'local-cluster[2,1,400]' --conf spark.executor.memory=400m --conf spark.local.dir="$dir/blocks" \
    ${option:+--conf "$option"} --class larger "$LARGER" 200 400 > "$dir/blocks.out" 2> "$dir/blocks.err" &
  app=$!
  until [ "$(find "$dir/blocks" -name 'shuffle_*.index' 2> /dev/null | wc -l)" -ge "$outputs" ]; do kill -0 $app || return 1; done
  "$@"
  wait $app
}
computed_again() {
  after_outputs 8 find "$dir/blocks" -name 'shuffle_*' -delete && grep '^all right' "$dir/blocks.out" &&
    grep -m 1 -E 'WARN Driver: Lost task .* FetchFailed\(BlockManagerId\(., .*message=.*(there is no |: No such file or directory)' "$dir/blocks.err" || { cat "$dir/blocks.err"; return 1; }
}
check "files of map outputs vanish: told, computed again, right results" computed_again
damage() { # other bytes in the middle of each file whose name it reads
  while read -r file; do
    printf 'not what was written' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc status=none
  done
}
damaged() { find "$dir/blocks" -name 'shuffle_*.data' | damage; }
computed_again_blamed() {
  after_outputs 8 damaged && grep '^all right' "$dir/blocks.out" &&
    grep -m 1 'WARN Driver: Lost task .* FetchFailed(.* is corrupted due to DISK_ISSUE' "$dir/blocks.err" || { cat "$dir/blocks.err"; return 1; }
}
check "bytes of map outputs change on disk: blamed on it, computed again, right results" computed_again_blamed
option=spark.shuffle.readHostLocalDisk=false
check "the same where their holder reads them for others" computed_again_blamed
option=
blamed() {
  ! option=spark.stage.maxConsecutiveAttempts=1 after_outputs 8 damaged && [ "$(grep -c '^Error: ' "$dir/blocks.err")" = 1 ] &&
    grep '^Error: .* is corrupted due to DISK_ISSUE' "$dir/blocks.err" || { cat "$dir/blocks.err"; return 1; }
}
check "B40 the same with one attempt a stage: the error says so" blamed
# lose_kept: once the partitions are counted, four files of them vanish and four change; says how many that are.
lose_kept() {
  local tries=1000 files
  until [ -e "$dir/kept/counted" ]; do
    (( tries-- > 0 )) || return 1
    read -rt 0.02 <> <(:) || true
  done
  # Executors' logs go with the application: by a second name they stay.
  find "$dir/kept/blocks" -name stderr -exec ln --backup=numbered -t "$dir/kept" {} \;
  mapfile -t files < <(find "$dir/kept/blocks" -name 'rdd_*' | sort)
  rm "${files[@]:0:4}" && printf '%s\n' "${files[@]:4:4}" | damage && echo 8
}
warned() { [ "$(grep -rhE "WARN BlockManager: rdd_.* cannot be read from disk: .*$1" "$dir/kept" | wc -l)" = 4 ]; }
kept() { # MASTER
  rm -rf "$dir/kept" && mkdir -p "$dir/kept/blocks"
  lose_kept | timeout 120 "$ENGINE" submit --master "$1" --conf spark.local.dir="$dir/kept/blocks" --conf spark.task.maxFailures=1 \
    --class engine "$ENGINE" "$dir/kept" kept > "$dir/kept/out" 2> "$dir/kept/err" &&
    grep -x 'all steps: right results' "$dir/kept/out" && warned 'No such file or directory' && warned 'DISK_ISSUE' ||
    { tail -n 30 "$dir"/kept/*err*; return 1; }
}
for master in 'local[2]' 'local-cluster[2,1,1024]'; do
  check "B23 files of cached partitions vanish and change: told, and only these are computed again, $master" kept "$master"
done
vanished() { rm -rf "$dir/blocks" 2> /dev/null || rm -rf "$dir/blocks"; }
# What executors make meanwhile may be enough to go on.
right_or_told() {
  if after_outputs 2 vanished; then
    grep '^all right' "$dir/blocks.out" && grep -m 1 'WARN Driver: Lost task .*: No such file or directory$' "$dir/blocks.err"
  else
    [ "$(grep -c '^Error: ' "$dir/blocks.err")" = 1 ] && grep "^Error: Job aborted .*$dir/blocks.*: No such file or directory$" "$dir/blocks.err"
  fi || { cat "$dir/blocks.err"; return 1; }
}
check "spark.local.dir vanishes: right results, or one line says what is missing where" right_or_told
other_directory() {
  mkdir "$dir/usable"
  "$TINDERBOX" run-example --master 'local-cluster[2,1,1024]' --conf spark.local.dir="/proc/none,$dir/usable" pi 8 > "$dir/usable.out" 2> "$dir/usable.err" &&
    grep '^Pi is roughly' "$dir/usable.out" && grep 'WARN Driver: .*/proc/none is skipped' "$dir/usable.err" &&
    [ -z "$(ls "$dir/usable")" ] || { cat "$dir/usable.err"; return 1; }
}
check "the first of spark.local.dir cannot be used: told, and local-cluster runs in the second" other_directory
check "no process is left" no_process_left
exit $failed
