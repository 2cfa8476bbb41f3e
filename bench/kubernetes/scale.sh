#!/usr/bin/env bash
# PODS=2000 executors of one application, in pods of fake nodes whose executors never register, beside one bare client that
# creates the same pods, in turn: the rates, the driver's requests and its memory. Part of `make bench-kubernetes`.
set -uo pipefail
. tests/kubernetes/checks.sh
pods=${PODS:-2000} nodes=20
make_namespace
"${enter[@]}" "$state/node" fake-nodes --kubeconfig="$state/admin.conf" --nodes=$nodes >"$dir/nodes.log" 2>&1 &
fake=$!
trap 'kill $fake; kubectl delete nodes -l tinderbox-test/fake-node >/dev/null; end_case' EXIT
until_true 30 grep ready "$dir/nodes.log"

# awaited SELECTOR: in the background; says when the first pod was there and when the last ran.
awaited() {
  "${enter[@]}" timeout 300 "$state/node" await-pods --kubeconfig="$state/admin.conf" --namespace="$ns" --selector="$1" --pods="$pods" \
    >"$dir/awaited" 2>"$dir/awaiting" &
  awaiting=$!
  until_true 10 grep ready "$dir/awaiting"
}
value_of() { sed -n "s/.*$1=\([0-9]*\).*/\1/p" "$2"; }
# rate BEGIN END: pods a second.
rate() { awk -v n="$pods" -v b="$1" -v e="$2" 'BEGIN { printf "%.0f", n * 1000 / (e - b) }'; }
no_pods() { [ "$(kubectl get pods -o name | wc -l)" = 0 ]; }

cat >"$dir/executor.yaml" <<END
spec:
  tolerations: [{key: tinderbox-test/fake-node, operator: Exists}]
  nodeSelector: {tinderbox-test/fake-node: "true"}
END

ours() {
  awaited spark-role=executor
  MODE=client SUBMIT_SECONDS=300 submit --class pi --num-executors "$pods" --conf spark.log.level=INFO --conf spark.driver.host=10.99.0.1 \
    --conf spark.kubernetes.allocation.batch.size=500 --conf spark.kubernetes.executor.podTemplateFile="$dir/executor.yaml" \
    "$TINDERBOX" 1 >"$dir/driver.log" 2>&1 &
  wait "$awaiting" || { tail -n 5 "$dir/driver.log" "$dir/awaiting"; return 1; }
  local driver
  driver=$(pgrep -P "$(pgrep -f "^timeout .*--num-executors $pods ")")
  memory=$(awk '$1 == "VmHWM:" { printf "%.0f", $2 / 1024 }' "/proc/$driver/status")
  kubectl get "$(kubectl get pods -l spark-role=executor -o name | head -n 1)" -o json | python3 "$(dirname "$0")/bare_pod.py" >"$dir/pod.json"
  kill "$driver"
  wait %%
  until_true 120 no_pods
  our_rate=$(rate "$(value_of first "$dir/awaited")" "$(value_of running "$dir/awaited")")
}
bare() {
  awaited spark-role=executor
  "${enter[@]}" "$state/node" create-pods --kubeconfig="$state/admin.conf" --like="$dir/pod.json" --pods="$pods" >"$dir/bare" || return 1
  wait "$awaiting" || return 1
  kubectl delete pods --all --wait=false >/dev/null
  until_true 120 no_pods
  bare_rate=$(rate "$(value_of begin "$dir/bare")" "$(value_of created "$dir/bare")")
}
for _ in $(seq "${ROUNDS:-3}"); do
  ours || exit 1
  bare || exit 1
  echo "BENCH kubernetes_pods_running $our_rate 1/s ($memory MB at most; $(grep -o 'Requests to the API server.*' "$dir/driver.log"))"
  echo "BENCH kubernetes_pods_created_by_bare_client $bare_rate 1/s"
  awk -v a="$our_rate" -v b="$bare_rate" 'BEGIN { printf "BENCH kubernetes_pods_ratio %.2f x\n", a / b }'
done
one_list() { grep 'Requests to the API server: .* 1 GET, ' "$dir/driver.log"; }
check "$pods executors ran, with one LIST" one_list
exit $failed
