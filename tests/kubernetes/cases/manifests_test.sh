#!/bin/bash
# The manifests of deploy/kubernetes and the Helm chart: what they make works, with exactly the rights that they give.
set -uo pipefail
. tests/kubernetes/checks.sh
trap end_case EXIT
make_namespace

mkdir "$dir/overlay"
cat >"$dir/overlay/kustomization.yaml" <<END
resources: [$(realpath --relative-to="$dir/overlay" deploy/kubernetes/standalone)]
images: [{name: tinderbox, newName: localhost/tinderbox, newTag: test}]
patches: [{patch: '[{"op": "add", "path": "/spec/template/spec/containers/0/imagePullPolicy", "value": "Never"}]', target: {kind: StatefulSet|Deployment}}]
END
pods_ready() { [ "$(kubectl get pods -l app.kubernetes.io/name=tinderbox -o 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}')" = "True True True" ]; }
workers() { "${enter[@]}" curl -s "http://$(master_ip):8080/json/" | python3 -c 'import json, sys; print([w["state"] for w in json.load(sys.stdin)["workers"]].count("ALIVE"))'; }
master_ip() { kubectl get pod tinderbox-master-0 -o 'jsonpath={.status.podIP}'; }
standalone() { kubectl apply -k "$dir/overlay" && until_true 60 pods_ready && until_true 20 eval '[ "$(workers)" = 2 ]'; }
check "a standalone cluster by kustomize: a master and two workers" standalone
pi() {
  kubectl delete pod pi --ignore-not-found >/dev/null
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: pi}
spec:
  restartPolicy: Never
  containers:
  - name: pi
    image: $image
    imagePullPolicy: Never
    env: [{name: SPARK_LOCAL_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: SPARK_LOCAL_DIRS, value: /tmp}]
    args: [submit, --master, "spark://tinderbox-master:7077", --executor-memory, 200m, --class, pi, /tinderbox, "4"]
    volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
END
  until_true 60 eval '[ "$(kubectl get pod pi -o jsonpath={.status.phase})" = Succeeded ]' || { kubectl logs pi; return 1; }
  kubectl logs pi | grep '^Pi is roughly 3.1'
}
check "an application runs on it" pi
restarted() {
  kubectl delete pod tinderbox-master-0 && until_true 60 pods_ready && until_true 90 eval '[ "$(workers)" = 2 ]' && pi
}
check "its master's pod deleted: workers find the next one, an application runs" restarted

# offered NAME: cores and memory that the worker in pod NAME has told the master
offered() {
  "${enter[@]}" curl -s "http://$(master_ip):8080/json/" | python3 -c 'import json, sys
print(*["%d %d" % (w["cores"], w["memory"]) for w in json.load(sys.stdin)["workers"] if w["host"] == sys.argv[1]])' "$(kubectl get pod "$1" -o 'jsonpath={.status.podIP}')"
}
limited() {  # a worker that is told nothing offers its container's processors, and its memory but for 1 GiB
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: limited}
spec:
  containers:
  - name: worker
    image: $image
    imagePullPolicy: Never
    env: [{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    args: [worker, --host=\$(POD_IP), --work-dir=/tmp, "spark://tinderbox-master:7077"]
    resources: {requests: {cpu: 100m, memory: 200Mi}, limits: {cpu: "1", memory: 3000Mi}}
    volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
END
  until_true 60 eval '[ "$(offered limited)" = "1 1976" ]' || { offered limited; kubectl logs limited; return 1; }
}
check "a worker respects its control group's limits of processors and memory" limited

chart() { "${enter[@]}" "$state/node" helm-template --chart=deploy/helm/tinderbox --namespace="$ns" "$@" 2>/dev/null; }
same_objects() {  # the chart's objects are those of kustomize
  chart --set=standalone.enabled=true >"$dir/chart.yaml" &&
    { kubectl kustomize deploy/kubernetes && echo --- && kubectl kustomize deploy/kubernetes/standalone; } >"$dir/kustomize.yaml" &&
    diff <(kubectl create --dry-run=client -o name -f "$dir/chart.yaml" | sort) <(kubectl create --dry-run=client -o name -f "$dir/kustomize.yaml" | sort)
}
check "the chart makes what kustomize makes" same_objects
values() {
  chart --set=standalone.enabled=true,standalone.workers=5,image=registry/own:2,imagePullPolicy=Always >"$dir/own.yaml" &&
    kubectl apply --dry-run=server -f "$dir/own.yaml" &&
    [ "$(grep -c 'image: registry/own:2' "$dir/own.yaml")" = 2 ] && [ "$(grep -c 'imagePullPolicy: Always' "$dir/own.yaml")" = 2 ] && grep 'replicas: 5' "$dir/own.yaml" &&
    ! chart --set=applications.enabled=false | grep '^kind:'
}
check "its values are heeded, and the API server takes it" values
exit $failed
