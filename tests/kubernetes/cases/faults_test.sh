#!/bin/bash
# Pods, nodes and the API server disturbed while an application runs: the right answer or the documented error, and
# nothing left behind.
set -uo pipefail
. tests/kubernetes/checks.sh
trap end_case EXIT
make_namespace
strip -o "$dir/pods" build/tests/pods
chmod 755 "$dir"/pods

# disturbed SECONDS COMMAND…: the application computes rounds for so long; COMMAND runs once the first round is done.
# The submitter's output is in $dir/submit.log, the driver's in $dir/driver.log.
disturbed() {
  local seconds=$1
  shift
  # shellcheck disable=SC2086  # options
  submit ${options:-} --name pods --num-executors "${executors:-3}" "$dir/pods" "$seconds" ${arguments:-} >"$dir/submit.log" 2>&1 &
  local submitter=$!
  until_true 40 eval 'driver_log | grep "^round 1"' || { kill $submitter; return 1; }
  until_true 10 executors_running 1  # as the API server sees it
  "$@" || { kill $submitter; return 1; }
  wait $submitter
  driver_log >"$dir/driver.log" 2>&1
}
right() { [ "$(driver_phase)" = Succeeded ] && grep 'all rounds: right results' "$dir/driver.log" || { tail -n 20 "$dir/driver.log" "$dir/submit.log"; false; }; }
executor() { kubectl get pods -l spark-role=executor --field-selector=status.phase=Running -o 'jsonpath={.items[0].metadata.name}'; }
executors_running() { [ "$(kubectl get pods -l spark-role=executor --field-selector=status.phase=Running -o name | wc -l)" -ge "$1" ]; }

delete_one() { kubectl delete pod "$(executor)" --wait=false; }
deleted() { disturbed 6 delete_one && right && grep '^gone .*was deleted by a user or the framework' "$dir/driver.log"; }
check "an executor pod deleted: replaced, right answer, the reason is told" deleted
check "nothing stays" forget_driver

options="--conf spark.decommission.enabled=true --conf spark.storage.decommission.enabled=true --conf spark.storage.decommission.shuffleBlocks.enabled=true"
evict_one() {
  local pod
  pod=$(executor)
  echo "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"$pod\",\"namespace\":\"$ns\"}}" |
    kubectl create --raw "/api/v1/namespaces/$ns/pods/$pod/eviction" -f -
}
evicted() { disturbed 8 evict_one && right && grep -i '^gone .*decommission' "$dir/driver.log"; }
check "an executor pod evicted: decommissioned within its grace period, right answer" evicted
check "nothing stays" forget_driver
options=

arguments=greedy
oom() { disturbed 1 true && right && grep '^gone 1: .*exit code 137.*OOM' "$dir/driver.log"; }
check "an executor killed for its memory: exit code 137 and OOMKilled are told, right answer" oom
check "nothing stays" forget_driver
arguments=

freeze_kubelet() {
  kill -STOP "$(cat "$state/kubelet.pid")"
  sleep 60
  kill -CONT "$(cat "$state/kubelet.pid")"
}
frozen() { disturbed 65 freeze_kubelet && right; }
check "the kubelet stopped for a minute: right answer" frozen
check "nothing stays" forget_driver

restart_api_server() {
  # Others write, so that what the watch saw last is older than what the next server begins with.
  kubectl create configmap noise >/dev/null && kubectl delete configmap noise >/dev/null
  # At once: told to end it would serve its watches to their end, longer than the application runs.
  kill -9 "$(cat "$state/apiserver.pid")"
  until_true 5 eval '! kubectl get --raw /readyz'
  # What the watch had seen is forgotten meanwhile: the next one starts with 410.
  local revision
  revision=$("${enter[@]}" curl -s http://127.0.0.1:2379/v3/kv/range -d '{"key":"AA=="}' | sed -n 's/.*"revision":"\([0-9]*\)".*/\1/p')
  "${enter[@]}" curl -s http://127.0.0.1:2379/v3/kv/compaction -d "{\"revision\":\"$revision\"}" >/dev/null
  tests/kubernetes/up part apiserver
  until_true 30 kubectl get pods
  delete_one
}
restarted() {
  options="--conf spark.log.level=INFO" disturbed 25 restart_api_server && right && grep '^gone .*deleted by a user' "$dir/driver.log" &&
    { grep -m 1 'The watch of executors.* pods ended, it begins again: .*too old resource version' "$dir/driver.log" || { grep -i watch "$dir/driver.log"; false; }; }
}
check "the API server restarted, its history compacted: watched again, a pod's end is seen, right answer" restarted
check "nothing stays" forget_driver

driver_deleted() {
  disturbed 60 eval 'kubectl delete pods -l spark-role=driver --wait=false'
  until_true 60 all_gone
}
check "the driver's pod deleted: everything is collected" driver_deleted

quota() {
  kubectl create quota small --hard=pods=3 >/dev/null
  executors=4 disturbed 3 true
  kubectl delete quota small >/dev/null
  right && driver_log | grep 'exceeded quota: small'
}
check "a quota refuses pods: told in the server's words, the others work, right answer" quota
check "nothing stays" forget_driver

no_image() {
  local start=$SECONDS
  ! submit --conf spark.kubernetes.driver.container.image=localhost/nothing:1 --conf tinderbox.kubernetes.startTimeout=3s \
    --class pi local:///tinderbox 4 >"$dir/submit.log" 2>&1 &&
    grep "^Error: the driver pod pi-.* cannot start: ErrImageNeverPull: .*localhost/nothing:1" "$dir/submit.log" &&
    [ $((SECONDS - start)) -lt 15 ] && until_true 20 all_gone
}
check "the driver's image is missing: the reason within the stated time, nothing left" no_image
no_registry() { # the kubelet tries again and again: ErrImagePull and ImagePullBackOff take turns
  local start=$SECONDS
  ! submit --conf spark.kubernetes.driver.container.image=127.0.0.1:1/nothing:1 --conf spark.kubernetes.container.image.pullPolicy=IfNotPresent \
    --conf tinderbox.kubernetes.startTimeout=20s --class pi local:///tinderbox 4 >"$dir/submit.log" 2>&1 &&
    grep "^Error: the driver pod pi-.* cannot start: \(ErrImagePull\|ImagePullBackOff\): .*127.0.0.1:1/nothing:1" "$dir/submit.log" &&
    [ $((SECONDS - start)) -lt 40 ] && until_true 20 all_gone
}
check "nobody serves the driver's image: the reason within the stated time, nothing left" no_registry
no_executor_image() {
  submit --conf spark.kubernetes.executor.container.image=localhost/nothing:1 --conf tinderbox.kubernetes.startTimeout=3s \
    --class pi local:///tinderbox 4 >"$dir/submit.log" 2>&1
  [ "$(driver_phase)" = Failed ] && driver_log | grep 'Kubernetes: the pod of executor . cannot start: ErrImageNeverPull' &&
    grep 'exit code: 11' "$dir/submit.log"
}
check "the executors' image is missing: the driver ends with exit code 11 and the reason" no_executor_image
check "nothing stays" forget_driver
no_room() {
  submit --conf spark.kubernetes.executor.request.cores=1000 --class pi local:///tinderbox 4 >"$dir/submit.log" 2>&1 &
  local submitter=$!
  until_true 30 eval 'driver_log | grep "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu"' && driver_log | tail -n 3
  local seen=$?
  kill $submitter
  return $seen
}
check "a node with no room: the scheduler's own words" no_room
check "nothing stays" forget_driver
driver_without_room() {
  submit --conf spark.kubernetes.driver.request.cores=1000 --class pi local:///tinderbox 4 >"$dir/submit.log" 2>&1 &
  local submitter=$!
  until_true 20 grep 'unschedulable: 0/1 nodes are available: 1 Insufficient cpu' "$dir/submit.log"
  local seen=$?
  kill $submitter
  return $seen
}
check "the driver itself without room: submit says so" driver_without_room
check "nothing stays" forget_driver

many_entries() {
  mkdir -p "$dir/conf" && for i in $(seq 1000); do echo "value $i" >"$dir/conf/entry-$i.txt"; done
  SPARK_CONF_DIR=$dir/conf submit --class pi local:///tinderbox 4 >"$dir/submit.log" 2>&1 && [ "$(driver_phase)" = Succeeded ] &&
    [ "$(kubectl get configmap -l spark-role=driver -o json | grep -c '"entry-[0-9]*.txt": ')" = 1000 ]
}
check "1,000 entries in the configuration folder" many_entries
check "nothing stays" forget_driver
long_name() {
  submit --name "$(printf 'n%.0s' $(seq 200))" --class pi local:///tinderbox 4 >"$dir/submit.log" 2>&1 && driver_log | grep '^Pi is roughly' &&
    kubectl get pods -l spark-role=driver -o yaml | grep "tinderbox/app-name: n\{200\}"
}
check "an application name of 200 characters: short labels, the whole name in an annotation" long_name
check "nothing stays" forget_driver
limits() {
  local key value
  key=$(printf 'k%.0s' $(seq 63)) value=$(printf 'v%.0s' $(seq 63))
  submit --conf "spark.kubernetes.driver.label.$key=$value" --conf "spark.kubernetes.executor.label.$key=$value" \
    --class pi local:///tinderbox 4 >"$dir/submit.log" 2>&1 && driver_log | grep '^Pi is roughly' &&
    kubectl get pods -l "$key=$value" -o name | grep driver
}
check "labels at their limits" limits
check "nothing stays" forget_driver
exit $failed
