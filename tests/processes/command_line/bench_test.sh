#!/usr/bin/env bash
# `bench` prints a line for each measure, on any master; --make-data makes the text that it says it makes; a terminal gets
# a progress bar, a pipe gets none.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/checks.sh
export SPARK_LOCAL_IP=127.0.0.1
T=$TINDERBOX

make_data() { "$T" bench --make-data "$dir/$1" --mb 20 --seed "$2"; }
same_seed_same_text() {
  mkdir "$dir"/{a,b,c}
  local a b c
  a=$(make_data a 7) b=$(make_data b 7) c=$(make_data c 8)
  echo "$a"
  [[ $a == *"20 MB, seed 7, xxh3 "* ]] && [ "${a##* }" = "${b##* }" ] && [ "${a##* }" != "${c##* }" ] &&
    cmp "$dir/a/text.txt" "$dir/b/text.txt" && [ "$(stat -c %s "$dir/a/text.txt")" -ge 20000000 ]
}
check "text from a seed, and its hash" same_seed_same_text
# Of Zipf's law with exponent 1.05 over 200,000 words the first comes 1.7 to 2.1 times as often as the second (2^1.05 = 2.07),
# and 9.5 to 13 times as often as the tenth (10^1.05 = 11.2).
right_text() {
  awk 'NF != 10 { ++short } { for (i = 1; i <= NF; ++i) { ++n[$i]; l = length($i); if (l < 2 || l > 10) ++bad } }
    END { for (w in n) { print n[w] | "sort -rn"; ++words } close("sort -rn"); print "words", words, "bad", bad + 0, "short", short + 0 }' \
    "$dir/a/text.txt" > "$dir/counts"
  tail -1 "$dir/counts"
  read -r _ words _ bad _ short < <(tail -1 "$dir/counts")
  [ "$bad" = 0 ] && [ "$short" -le 1 ] && [ "$words" -gt 150000 ] && [ "$words" -le 200000 ] &&
    awk 'NR == 1 { a = $1 } NR == 2 { b = $1 } NR == 10 { c = $1 } END { print a / b, a / c; exit !(a / b > 1.9 && a / b < 2.25 && a / c > 9.5 && a / c < 13) }' "$dir/counts"
}
check "ten words of 2 to 10 letters a line, of 200,000 by Zipf's law" right_text

every_measure() { # MASTER
  timeout 120 "$T" bench --master "$1" --data "$dir/a" > "$dir/bench.out" || { cat "$dir/bench.out"; return 1; }
  local name
  for name in null_tasks_per_s one_task_job_ms shuffle_200x200_s wordcount_s startup_ms executor_idle_rss_mb; do
    grep -E "^BENCH $name [0-9.e+]+ " "$dir/bench.out" || { echo "$name is not printed"; return 1; }
  done
  grep '^# listener: 510000 TaskStart, 510000 TaskEnd of 510000 tasks' "$dir/bench.out"
}
start_master
start_worker worker1 --cores 2 --memory 4g
for m in 'local[2]' 'local-cluster[2,1,1024]' "$master_url"; do check "every measure on $m" every_measure "$m"; done
stop_cluster

bar() { grep -q '\[Stage 0:=*>' "$dir/terminal"; }
on_a_terminal() {
  script -qec "'$T' run-example --master 'local[2]' pi 40000" "$dir/terminal" > /dev/null < /dev/null && bar
}
check "a terminal gets a progress bar" on_a_terminal
on_a_pipe() { "$T" run-example --master 'local[2]' pi 40000 2>&1 | cat > "$dir/terminal"; ! bar; }
check "a pipe gets none" on_a_pipe
exit $failed
