#!/bin/bash
# Applications in cluster and client mode: right answers in the driver's log, nothing of executors left, all else gone
# with the driver's pod.
set -uo pipefail
. tests/kubernetes/checks.sh
trap end_case EXIT
make_namespace
book=$dir/book.txt
bible 'gen1:1-exo40:38' >"$book" 2>/dev/null || seq 20000 | awk '{print "word" $1 % 97}' >"$book"
printf '%s\n' '1 2' '2 3' '3 1' '4 1' >"$dir/edges"
chmod 777 "$dir"

words_of() { cat "$dir/$1"/part-* | LC_ALL=C sort; }
expected_words() { tr -s '[:space:]' '\n' <"$book" | grep -v '^$' | LC_ALL=C sort | uniq -c | awk '{print $2 "\t" $1}' | LC_ALL=C sort; }
ranks() { awk -f tests/scripts/page_ranks.awk "$dir/edges" | sort; }

word_count() {
  # shellcheck disable=SC2046  # words
  submit $(shared) --class wordcount --num-executors 3 local:///tinderbox "$book" "$dir/words" &&
    [ "$(driver_phase)" = Succeeded ] && diff <(words_of words) <(expected_words)
}
check "word count with 3 executors in cluster mode: exit code 0, the driver Succeeded, the right words" word_count
check "executor pods, their config map and the service are gone" until_true 20 executors_gone
check "everything else goes with the driver's pod" forget_driver

page_rank() {
  # shellcheck disable=SC2046
  submit $(shared) --class pagerank --num-executors 3 local:///tinderbox "$dir/edges" 10 &&
    diff <(driver_log | grep 'has rank' | sort) <(ranks)
}
check "PageRank with 3 executors: the right ranks in the driver's log" page_rank
check "nothing of it stays but the driver's pod, and then nothing" forget_driver

own_file() {
  strip -o "$dir/engine" build/tests/engine &&
    # shellcheck disable=SC2046
    submit $(shared) --name engine --num-executors 3 "$dir/engine" "$dir/data" &&
    driver_log | grep 'all steps: right results'
}
check "a file of this machine as the application: sent to the driver, fetched by executors" own_file
check "nothing of it stays" forget_driver

client() { # client ARGUMENTS…: the driver is a process outside of pods
  # shellcheck disable=SC2046
  MODE=client submit $(shared) --num-executors 3 --conf spark.driver.host=10.99.0.1 "$@"
}
in_client_mode() {
  umask 0  # pods are other users
  client --class wordcount "$TINDERBOX" "$book" "$dir/client-words" && diff <(words_of client-words) <(expected_words) &&
    diff <(client --class pagerank "$TINDERBOX" "$dir/edges" 10 | grep 'has rank' | sort) <(ranks)
}
check "client mode: the right words and ranks, exit code 0" in_client_mode
check "nothing at all is left" until_true 20 all_gone
own_file_in_client_mode() {
  umask 0
  client --name engine "$dir/engine" "$dir/data2" | grep 'all steps: right results'
}
check "a file of this machine in client mode" own_file_in_client_mode
check "client mode leaves nothing at all" until_true 20 all_gone
claim_made() { [[ $(kubectl get persistentvolumeclaims -o name) == */pi-*-exec-1-pvc-0 ]]; }
claim_of_killed() {
  local disk=spark.kubernetes.executor.volumes.persistentVolumeClaim.disk
  MODE=client submit --class pi --num-executors 1 --conf spark.driver.host=10.99.0.1 --conf $disk.mount.path=/disk \
    --conf $disk.options.claimName=OnDemand --conf $disk.options.storageClass=none --conf $disk.options.sizeLimit=1Gi "$TINDERBOX" &
  until_true 30 claim_made
  kill -9 -- "-$(pgrep -P $!)"  # timeout leads a group
  wait $!
  claim_made && kubectl delete pods,configmaps -l spark-role=executor && until_true 30 all_gone
}
check "client mode, killed: its claim goes with its executor's pod" claim_of_killed

quick() {
  SUBMIT_SECONDS=20 submit --class pi --conf spark.kubernetes.submission.waitAppCompletion=false local:///tinderbox 4 2>&1 |
    grep "INFO Submit: Deployed Spark application pi with application ID spark-[0-9a-f]* and submission ID $ns:pi-.*-driver into Kubernetes" &&
    until_true 30 eval '[ "$(driver_phase)" = Succeeded ]' && driver_log | grep '^Pi is roughly 3.1'
}
check "without waiting: what was deployed is told, and runs" quick
status_of() {
  "${enter[@]}" "$TINDERBOX" submit --status "$ns:pi*" --master "$master" 2>&1 | grep 'phase: Succeeded'
}
check "--status by pattern" status_of
kill_it() { "${enter[@]}" "$TINDERBOX" submit --kill "$ns:pi*" --master "$master" 2>&1 | grep 'Deleting driver pod: pi-' && until_true 30 all_gone; }
check "--kill by pattern; all goes" kill_it
exit $failed
