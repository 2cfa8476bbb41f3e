#!/bin/bash
# How executors come and go: dynamic allocation, rolling, pods that StatefulSets and Deployments make, a driver inside
# a pod of the user's own, a driver without executors.
set -uo pipefail
. tests/kubernetes/checks.sh
trap end_case EXIT
make_namespace
strip -o "$dir/scaling" build/tests/scaling
strip -o "$dir/pods" build/tests/pods

scaled() {  # NAME OPTIONS…
  local name=$1
  shift
  submit --name scaling --executor-cores 1 "$@" "$dir/scaling" "$name" >"$dir/submit.log" 2>&1 && driver_log | grep 'right result' ||
    { tail -n 5 "$dir/submit.log"; driver_log | tail -n 10; false; }
}
dynamic=(--conf spark.dynamicAllocation.enabled=true --conf spark.dynamicAllocation.shuffleTracking.enabled=true
  --conf spark.dynamicAllocation.maxExecutors=3 --conf spark.dynamicAllocation.initialExecutors=1
  --conf spark.dynamicAllocation.executorIdleTimeout=2s --conf spark.dynamicAllocation.shuffleTracking.timeout=2s)
check "dynamic allocation with shuffle tracking: pods come with the load, go when idle, come back" scaled grow "${dynamic[@]}"
check "nothing stays" forget_driver
check "idle executors are decommissioned when that is enabled" scaled idle "${dynamic[@]}" --conf spark.decommission.enabled=true \
  --conf spark.kubernetes.executor.decommissionLabel=leaving --conf spark.kubernetes.executor.decommissionLabelValue=yes
labelled() { grep '"resource":"pods"' "$state/audit.log" | grep "\"namespace\":\"$ns\"" | grep '"verb":"patch"' | grep '"code":200' | grep -o '"requestURI":"[^"]*"'; }
check "their pods got the label of a key" labelled
check "nothing stays" forget_driver
check "executors are rolled: one after the other is replaced" scaled roll --num-executors 4 --conf spark.decommission.enabled=true \
  --conf spark.kubernetes.executor.rollInterval=2s --conf spark.executorEnv.ROLLED=yes
check "nothing stays" forget_driver

kept() {  # KIND: deletes a pod of a set, whose controller makes another one
  submit --name pods --num-executors 2 --conf spark.kubernetes.allocation.pods.allocator="$1" "$dir/pods" 8 >"$dir/submit.log" 2>&1 &
  local submitter=$!
  until_true 40 eval 'driver_log | grep "^round 1"' || { kill $submitter; return 1; }
  kubectl get "$1s" -o 'jsonpath={.items[0].metadata.name} of {.items[0].spec.replicas}{"\n"}'
  kubectl delete "$(kubectl get pods -l spark-role=executor -o name | head -n 1)" --wait=false
  wait $submitter || { tail -n 5 "$dir/submit.log"; driver_log | tail -n 10; return 1; }
  driver_log >"$dir/driver.log"
  grep 'all rounds: right results' "$dir/driver.log" && grep '^gone .*deleted by a user' "$dir/driver.log" && [ -z "$(kubectl get "$1s" -o name)" ]
}
for kind in statefulset deployment; do
  check "pods that a $kind makes: one deleted and replaced, right answer, the set goes" kept $kind
  check "nothing stays" forget_driver
done
broken_set() {
  SUBMIT_SECONDS=20 submit --class pi --num-executors 1 --conf spark.kubernetes.allocation.pods.allocator=statefulset \
    --conf spark.kubernetes.executor.container.image=localhost/missing:1 --conf tinderbox.kubernetes.startTimeout=5s local:///tinderbox 4 \
    >"$dir/submit.log" 2>&1 && grep 'exit code: 11' "$dir/submit.log" && driver_log | grep "a pod of the executors' set cannot start: .*localhost/missing:1"
}
check "a set whose image is missing ends the application with the reason" broken_set
check "nothing stays" forget_driver

own_pod() {
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: notebook}
spec:
  serviceAccountName: spark
  restartPolicy: Never
  containers:
  - name: notebook
    image: $image
    imagePullPolicy: Never
    env: [{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    args: [submit, --master, "k8s://https://kubernetes.default.svc", --deploy-mode, client, --class, pi, --num-executors, "2",
           --conf, spark.kubernetes.namespace=$ns, --conf, spark.kubernetes.container.image=$image,
           --conf, spark.kubernetes.container.image.pullPolicy=Never, --conf, spark.kubernetes.driver.pod.name=notebook,
           --conf, "spark.driver.host=\$(POD_IP)", --conf, spark.executor.memory=200m, --conf, spark.executor.minMemoryOverhead=56m,
           --conf, spark.kubernetes.executor.request.cores=50m, /tinderbox, "4"]
    volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
END
  until_true 60 eval '[ "$(kubectl get pod notebook -o jsonpath={.status.phase})" = Succeeded ]' || { kubectl logs notebook; return 1; }
  kubectl logs notebook | grep '^Pi is roughly 3.1'
}
check "client mode inside a pod of the user's own: executors belong to it" own_pod
check "and go" executors_gone
kubectl delete pod notebook >/dev/null

inside() {
  submit --class pi --conf 'spark.kubernetes.driver.master=local[2]' local:///tinderbox 4 >"$dir/submit.log" 2>&1 && driver_log | grep '^Pi is roughly 3.1' &&
    ! grep "\"namespace\":\"$ns\"" "$state/audit.log" | grep '"verb":"create"' | grep -c "$(driver_pod | sed 's/-driver$//')-exec-"
}
check "spark.kubernetes.driver.master=local[2]: the driver's pod runs all tasks" inside
check "nothing stays" forget_driver
exit $failed
