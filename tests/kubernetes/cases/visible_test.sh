#!/bin/bash
# K30: what users ask for is what pods have: arguments, labels, annotations, environment, accounts; a master by its bare
# address; files from elsewhere; the driver by its service's name; an entrypoint without arguments.
set -uo pipefail
. tests/kubernetes/checks.sh
server=
trap '[ -z "$server" ] || kill "$server"; end_case' EXIT
make_namespace
mkdir "$dir/a book" "$dir/web"
echo 'to be or not to be' >"$dir/a book/some text"
counted='be:2 not:1 or:1 to:2 '
words() { LC_ALL=C sort "$dir/$1"/part-* | tr '\n\t' ' :'; }
chmod 777 "$dir"
field() { kubectl get pods -l "spark-role=$1" -o "jsonpath={.items[*].$2}"; }

with_spaces() {
  # shellcheck disable=SC2046  # words
  submit $(shared) --class wordcount --num-executors 1 local:///tinderbox "$dir/a book/some text" "$dir/some \$\$words" && [ "$(words "some \$\$words")" = "$counted" ]
}
check "K30 arguments with blanks and dollar signs" with_spaces
check "nothing stays" forget_driver

both() { local who; for who in driver executor; do printf -- "--conf spark.kubernetes.$who.%s " "$@"; done; }
seen() {
  local who
  # shellcheck disable=SC2046  # words
  submit $(both label.team=green annotation.owner=of-{{APP_ID}}) --conf spark.kubernetes.driverEnv.COLOUR=red --conf spark.executorEnv.COLOUR=red \
    --conf spark.kubernetes.executor.deleteOnTermination=false --class pi --num-executors 1 local:///tinderbox 4 || return 1
  for who in driver executor; do
    field $who metadata.labels.team | grep -x green && field $who metadata.annotations.owner | grep -xE 'of-spark-[0-9a-f]{32}' &&
      field $who 'spec.containers[0].env[?(@.name=="COLOUR")].value' | grep -x red && field $who spec.serviceAccountName | grep -x spark || return 1
  done
}
check "K30 labels, annotations, environment and the service account, of driver and executors, whose pods are kept" seen
check "nothing stays" forget_driver

by_name() {
  submit --conf spark.kubernetes.executor.useDriverPodIP=false --conf spark.kubernetes.executor.deleteOnTermination=false --class pi --num-executors 1 \
    local:///tinderbox 4 && driver_log | grep '^Pi is roughly 3.1' &&
    field executor 'spec.containers[0].env[?(@.name=="SPARK_DRIVER_URL")].value' | grep -E "@pi-[0-9a-f]*-driver-svc\.$ns\.svc:7078$"
}
check "K30 executors find the driver by its service's name instead of its pod's address" by_name
check "nothing stays" forget_driver

# The template's map and the credentials' secret come after the driver's pod, as the configuration does.
printf '%s\n' 'apiVersion: v1' 'kind: Pod' 'metadata: {labels: {from: template}}' 'spec: {containers: [{name: main}]}' >"$dir/executor.yaml"
by_template() {
  submit --conf spark.kubernetes.executor.podTemplateFile="$dir/executor.yaml" --conf spark.kubernetes.authenticate.driver.oauthToken="$(kubectl create token spark)" \
    --conf spark.kubernetes.executor.deleteOnTermination=false --class pi --num-executors 1 local:///tinderbox 4 && driver_log | grep '^Pi is roughly 3.1' &&
    kubectl get secrets -o name | grep -e '-kubernetes-credentials$' && field executor metadata.labels.from | grep -x template && field executor 'spec.containers[0].name' | grep -x main
}
check "K30 executors by a template, the driver with credentials of its own: both come after its pod" by_template
check "nothing stays" forget_driver

bare_address() { submit --master k8s://10.99.0.1 --class pi --num-executors 1 local:///tinderbox 4 && driver_log | grep '^Pi is roughly 3.1'; }
check "K30 a master without a scheme" bare_address
check "nothing stays" forget_driver

strip -o "$dir/web/pods" build/tests/pods
"${enter[@]}" python3 -m http.server --bind 10.99.0.1 --directory "$dir/web" 8904 >/dev/null 2>&1 &
server=$!
until_true 10 "${enter[@]}" curl -sf http://10.99.0.1:8904/
from_elsewhere() {
  submit --name pods --num-executors 2 "http://10.99.0.1:8904/pods#sha256=$1" 1 >"$dir/submit.log" 2>&1
  driver_log | grep 'all rounds: right results'
}
check "K30 an application from a web server" from_elsewhere "$(sha256sum <"$dir/web/pods" | cut -c1-64)"
check "nothing stays" forget_driver
changed_on_the_way() {
  ! from_elsewhere "$(printf '0%.0s' $(seq 64))" && [ "$(driver_phase)" = Failed ] && kubectl logs -l spark-role=driver -c tinderbox-init | grep -i 'Error: .*sha256'
}
check "one that is not what its checksum says does not run" changed_on_the_way
check "nothing stays" forget_driver

by_variables() {
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: own, labels: {spark-role: driver}}
spec:
  restartPolicy: Never
  containers:
  - name: spark-kubernetes-driver
    image: $image
    imagePullPolicy: Never
    env:
    - {name: SPARK_K8S_CMD, value: driver}
    - {name: SPARK_DRIVER_CLASS, value: wordcount}
    - {name: SPARK_DRIVER_ARGS, value: "'$dir/a book/some text' $dir/own"}
    - {name: SPARK_DRIVER_BIND_ADDRESS, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: SPARK_LOCAL_DIRS, value: /tmp}
    - {name: SPARK_CONF_DIR, value: "$dir/conf"}
    volumeMounts: [{name: tmp, mountPath: /tmp}, {name: share, mountPath: $dir}]
  volumes: [{name: tmp, emptyDir: {}}, {name: share, hostPath: {path: $dir}}]
END
  until_true 60 eval '[ "$(driver_phase)" = Succeeded ]' || { driver_log; return 1; }
  [ "$(words own)" = "$counted" ]
}
mkdir "$dir/conf" && echo 'spark.master local[2]' >"$dir/conf/spark-defaults.conf"
check "a container without arguments: role, application and its arguments by variables" by_variables
check "nothing stays" forget_driver
exit $failed
