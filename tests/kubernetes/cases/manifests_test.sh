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
patches: [{patch: '[{op: add, path: /spec/template/spec/containers/0/imagePullPolicy, value: Never}]', target: {kind: StatefulSet|Deployment}}]
END
pods_ready() { [ "$(kubectl get pods -o 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}')" = "True True True" ]; }
workers() { "${enter[@]}" curl -s "http://$(master_ip):8080/json/" | python3 -c 'import json, sys; print([w["state"] for w in json.load(sys.stdin)["workers"]].count("ALIVE"))'; }
master_ip() { kubectl get pod tinderbox-master-0 -o 'jsonpath={.status.podIP}'; }
standalone() { kubectl apply -k "$dir/overlay" && until_true 60 pods_ready && until_true 20 eval '[ "$(workers)" = 2 ]'; }
check "a standalone cluster by kustomize: a master and two workers" standalone
pi() {
  timeout 60 "${enter[@]}" "$TINDERBOX" submit --master "spark://$(master_ip):7077" --conf spark.driver.host=10.99.0.1 \
    --executor-memory 200m --class pi "$TINDERBOX" 4 2>&1 | grep '^Pi is roughly 3.1'
}
check "an application runs on it" pi
restarted() {
  kubectl delete pod tinderbox-master-0 && until_true 60 pods_ready && until_true 90 eval '[ "$(workers)" = 2 ]' && pi
}
check "its master's pod deleted: workers find the next one, an application runs" restarted

chart() { "${enter[@]}" "$state/node" helm-template --chart=deploy/helm/tinderbox --namespace="$ns" "$@"; }
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
    ! chart --set=applications.enabled=false | grep .
}
check "its values are heeded, and the API server takes it" values
exit $failed
