# Sourced by the cases: a namespace of its own on the cluster of `up`, submit, kubectl, checks that go on after a failure.
# Sets $ns, $dir, $master; `check` counts in $failed, which a case ends with.
state=${TINDERBOX_KUBERNETES:-/run/tinderbox-kubernetes}
TINDERBOX=$(realpath "${TINDERBOX:-build/tinderbox}")
image=localhost/tinderbox:test
master=k8s://https://10.99.0.1
dir=$(mktemp -d /tmp/tinderbox-kubernetes-XXXXXX)
chmod 755 "$dir"
ns=t-$(basename "$dir" | tr '[:upper:]' '[:lower:]' | sed 's/.*-//')
failed=0
enter=(nsenter --net=/run/netns/tinderbox-k8s)
export KUBECONFIG=$dir/submitter.conf  # submitters have exactly the rights of deploy/kubernetes

kubectl() { "${enter[@]}" "$state/node" kubectl --kubeconfig="$state/admin.conf" -n "$ns" "$@"; }

check() { # check NAME COMMAND…: what the command says stands below the verdict
  local name=$1 verdict=ok
  shift
  "$@" >"$dir/check.log" 2>&1 || verdict=FAILED failed=1
  echo "$verdict - $name"
  sed 's/^/  /' "$dir/check.log"
}

# until_true SECONDS COMMAND…
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || { echo "not within the time: $*"; "$@"; return 1; }
    sleep 0.1
  done
}

make_namespace() {
  kubectl create namespace "$ns" >/dev/null
  kubectl apply -k deploy/kubernetes >/dev/null
  until_true 20 kubectl get serviceaccount default
  kubeconfig_of tinderbox-submitter >"$dir/submitter.conf"
  kubeconfig_of spark >"$dir/driver.conf"
}
# kubeconfig_of SERVICE_ACCOUNT
kubeconfig_of() {
  cat <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.99.0.1:443", certificate-authority: $state/pki/ca.crt}}]
users: [{name: u, user: {token: $(kubectl create token "$1")}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
END
}
end_case() {
  if [ $failed = 0 ]; then rm -rf "$dir"; else kubectl get pods,configmaps,services 2>&1 | sed 's/^/  /'; fi
  kubectl delete namespace "$ns" --wait=false >/dev/null 2>&1
}

# submit ARGUMENTS…: small pods of the test image in this case's namespace. BINARY: another submitter.
submit() {
  local KUBECONFIG=$KUBECONFIG
  [ "${MODE:-}" != client ] || KUBECONFIG=$dir/driver.conf  # a driver too then
  timeout "${SUBMIT_SECONDS:-120}" "${enter[@]}" "${BINARY:-$TINDERBOX}" submit --master "$master" --deploy-mode "${MODE:-cluster}" \
    --conf spark.kubernetes.namespace="$ns" --conf spark.kubernetes.container.image="$image" \
    --conf spark.kubernetes.container.image.pullPolicy=Never \
    --conf spark.kubernetes.authenticate.driver.serviceAccountName=spark \
    --conf spark.driver.memory=200m --conf spark.executor.memory=200m \
    --conf spark.driver.minMemoryOverhead=56m --conf spark.executor.minMemoryOverhead=56m \
    --conf spark.kubernetes.driver.request.cores=50m --conf spark.kubernetes.executor.request.cores=50m \
    "$@"
}
# shared: options that mount $dir in all pods, under the same path.
shared() {
  local who
  for who in driver executor; do
    printf -- '--conf spark.kubernetes.%s.volumes.hostPath.share.mount.path=%s ' $who "$dir"
    printf -- '--conf spark.kubernetes.%s.volumes.hostPath.share.options.path=%s ' $who "$dir"
  done
}
driver_pod() { kubectl get pods -l spark-role=driver -o 'jsonpath={.items[*].metadata.name}'; }
driver_log() { kubectl logs -l spark-role=driver -c spark-kubernetes-driver --tail=-1; }
driver_phase() { kubectl get pods -l spark-role=driver -o 'jsonpath={.items[*].status.phase}'; }
executors_gone() { [ -z "$(kubectl get pods,configmaps,persistentvolumeclaims -l spark-role=executor -o name)$(kubectl get services -o name)" ]; }
# Everything of the application goes with its driver's pod.
all_gone() {
  [ -z "$(kubectl get pods,services,secrets,persistentvolumeclaims -o name)$(kubectl get configmaps,networkpolicies -o name | grep -vE '/(kube-root-ca.crt|tinderbox-applications)$')" ]
}
forget_driver() { kubectl delete pods -l spark-role=driver >/dev/null && until_true 30 all_gone; }
