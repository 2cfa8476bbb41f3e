#!/usr/bin/env bash
# The demo: a standalone cluster on loopback counts the words of the King James Bible, in client and in
# cluster deploy mode; the counts are checked against coreutils.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/processes/cluster.sh
finish() { local code=$?; stop_cluster; [ $code -ne 0 ] || rm -rf "$dir"; exit $code; }
trap finish EXIT
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "The text: the King James Bible"
bible -f 'gen1:1-rev22:21' > "$dir/bible.txt" < /dev/null
printf '%s lines, %s bytes in %s\n' "$(wc -l < "$dir/bible.txt")" "$(wc -c < "$dir/bible.txt")" "$dir/bible.txt"

say "A cluster: one master, two workers"
start_master
start_worker worker1 --cores 1 --memory 1g
start_worker worker2 --cores 1 --memory 1g
echo "master   $master_url"
echo "status   $master_ui  (JSON: $master_ui/json/)"

say "Client mode: the driver runs here"
"$TINDERBOX" submit --master "$master_url" --class wordcount "$TINDERBOX" "$dir/bible.txt" "$dir/counts-client"

say "Cluster mode: the master places the driver on a worker"
"$TINDERBOX" submit --master "$master_url" --deploy-mode cluster --conf spark.standalone.submit.waitAppCompletion=true \
  --class wordcount "$TINDERBOX" "$dir/bible.txt" "$dir/counts-cluster"

say "A longer job: on a terminal its progress is shown"
"$TINDERBOX" run-example --master "$master_url" pi 20000

say "The same counts by coreutils"
export LC_ALL=C
tr -s '[:space:]' '\n' < "$dir/bible.txt" | grep -v '^$' | sort | uniq -c | awk '{print $2 "\t" $1}' | sort > "$dir/expected"
for mode in client cluster; do
  [ -e "$dir/counts-$mode/_SUCCESS" ] || { echo "$mode mode: no _SUCCESS in $dir/counts-$mode" >&2; exit 1; }
  cat "$dir/counts-$mode"/part-* | sort | cmp - "$dir/expected"
  echo "$mode mode: $(wc -l < "$dir/expected") different words, all counts agree"
done

say "The ten most frequent words"
cat "$dir/counts-client"/part-* | sort -t "$(printf '\t')" -k2,2nr -k1,1 | sed -n 1,10p

say "Stopping everything"
stop_cluster
no_process_left
echo "done"
