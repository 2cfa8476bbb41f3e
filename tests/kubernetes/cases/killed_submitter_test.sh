#!/bin/bash
# The submitter killed after each of its requests in turn: the application runs, or its driver's pod ends by itself with the
# reason; nothing else stays. The same with the answer lost, and the submitter left alone: the application runs, once.
set -uo pipefail
. tests/kubernetes/checks.sh
"${enter[@]}" "$state/node" kubectl --kubeconfig="$state/admin.conf" proxy --port=8901 >/dev/null 2>&1 &
proxy=$!
trap 'kill $proxy; end_case' EXIT
make_namespace
strip -o "$dir/pods" build/tests/pods
until_true 10 "${enter[@]}" curl -s http://127.0.0.1:8901/readyz

# cut_after N kill|lose NAME ARGUMENTS…: submits application NAME.
cut_after() {
  local n=$1 kind=$2 name=$3
  shift 3
  "${enter[@]}" python3 tests/kubernetes/cutter.py 127.0.0.1:8901 "$n" "$kind" "$TINDERBOX" submit --master 'k8s://http://127.0.0.1:{}' --deploy-mode cluster \
    --name "$name" --conf spark.kubernetes.namespace="$ns" --conf spark.kubernetes.container.image="$image" \
    --conf spark.kubernetes.container.image.pullPolicy=Never --conf spark.kubernetes.authenticate.driver.serviceAccountName=spark \
    --conf spark.driver.memory=200m --conf spark.executor.memory=200m --conf spark.executor.instances=1 \
    --conf spark.kubernetes.driver.request.cores=50m --conf spark.kubernetes.executor.request.cores=50m "$@"
}
phase_of() { kubectl get pods -l "spark-role=driver,spark-app-name=$1" -o 'jsonpath={.items[*].status.phase}'; }
# A container at a time: one that never began, and has no log, must not hide the others.
log_of() {
  local container
  for container in $(kubectl get pods -l "spark-role=driver,spark-app-name=$1" -o 'jsonpath={.items[*].spec.initContainers[*].name} {.items[*].spec.containers[*].name}'); do
    kubectl logs -l "spark-role=driver,spark-app-name=$1" -c "$container" --tail=-1 2>/dev/null || true
  done
}
ended() { [[ $(phase_of "$1") =~ ^(Succeeded|Failed)$ ]]; }

# The pod, the service, the network policy, the config map, the watch; then with a file to send; then the pod, the secret, the
# service, the policy, the template's map, the config map, the watch.
requests=5
for n in $(seq $requests); do
  check "killed after request $n" cut_after "$n" kill "run-$n" --class pi local:///tinderbox 4
done
for n in 5 6; do
  check "killed after request $n of one that sends a file" cut_after "$n" kill "send-$n" --class pods "$dir/pods" 1
done
printf '%s\n' 'apiVersion: v1' 'kind: Pod' >"$dir/executor.yaml"
whole=(--conf spark.kubernetes.authenticate.driver.oauthToken="$(kubectl create token spark)" --conf spark.kubernetes.executor.podTemplateFile="$dir/executor.yaml")
for n in $(seq 7); do
  check "killed after request $n of one with a secret and a template" cut_after "$n" kill "whole-$n" "${whole[@]}" --class pi local:///tinderbox 4
done
incomplete() {
  until_true 100 ended "$1" && [ "$(phase_of "$1")" = Failed ] && log_of "$1" | grep "$2" || { phase_of "$1"; log_of "$1"; return 1; }
}
for n in $(seq $((requests - 2))); do
  check "after request $n the driver's pod ends with the reason" incomplete "run-$n" "its submitter was ended before it had created everything"
done
for n in $(seq 5); do
  check "after request $n of the one with a secret and a template the same" incomplete "whole-$n" "its submitter was ended before it had created everything"
done
complete() { until_true 60 ended "$1" && [ "$(phase_of "$1")" = Succeeded ] && log_of "$1" | grep '^Pi is roughly 3.1'; }
for n in $(seq $((requests - 1)) $requests); do
  check "after request $n the application runs, right answer" complete "run-$n"
done
for n in 6 7; do
  check "after request $n of the one with a secret and a template the application runs" complete "whole-$n"
done
until_true 150 ended send-5
check "without its file the driver's pod ends with the reason" incomplete send-5 "nobody sent pods: whoever submitted the application is gone"
with_file() { until_true 100 ended send-6 && log_of send-6 | grep 'all rounds: right results'; }
check "with its file the application runs" with_file
goes_on() {
  local name=$1
  cut_after "$2" lose "$name" "${@:3}" --class pi local:///tinderbox 4 && [ "$(phase_of "$name")" = Succeeded ] && log_of "$name" | grep '^Pi is roughly 3.1'
}
for n in $(seq $requests); do
  check "the answer to request $n lost: asked again, one driver, right answer" goes_on "lost-$n" "$n"
done
for n in 2 5; do
  check "the answer to request $n of the one with a secret and a template lost: the same" goes_on "lost-whole-$n" "$n" "${whole[@]}"
done
no_executors() { [ -z "$(kubectl get pods,configmaps -l spark-role=executor -o name)" ]; }
check "executors are gone" until_true 30 no_executors
check "everything else goes with the drivers' pods" forget_driver
exit $failed
