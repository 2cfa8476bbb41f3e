#!/bin/bash
# Pods that have IPv6 addresses only. The network policies, enforced by kube-router: applications run behind them, and who is
# no part of one does not reach them.
set -uo pipefail
. tests/kubernetes/checks.sh
enforcer=
network=$state/cni/05-ipv6.conflist  # containerd looks at its folder by itself
# Without it the pods of the other cases are as before: no rule may stay.
end_enforcer() {
  [ -z "$enforcer" ] || { kill "$enforcer"; wait "$enforcer"; } 2>/dev/null
  "${enter[@]}" bash -c 'iptables-save | grep -vE "KUBE-(ROUTER|NWPLCY|POD-FW)" | iptables-restore; ipset -q destroy'
}
trap 'rm -f "$network"; end_enforcer; end_case' EXIT
make_namespace
strip -o "$dir/pods" build/tests/pods
chmod 755 "$dir/pods"

address_of() { kubectl get pods "$@" -o 'jsonpath={.status.podIP}{.items[0].status.podIP}' 2>/dev/null; }
cat >"$network" <<END
{"cniVersion": "0.4.0", "name": "pods6", "plugins": [
  {"type": "bridge", "bridge": "cni6", "isGateway": true, "ipMasq": false, "ipam": {"type": "host-local",
   "dataDir": "$state/cni-addresses", "ranges": [[{"subnet": "fd88::/64"}]], "routes": [{"dst": "::/0"}]}},
  {"type": "loopback"}]}
END
# address_like PREFIX: of a new pod.
address_like() {
  kubectl delete pod probe --ignore-not-found --now >/dev/null
  kubectl run probe --image="$image" --image-pull-policy=Never --restart=Never -- version >/dev/null
  until_true 10 eval '[ -n "$(address_of probe)" ]' && [[ $(address_of probe) == "$1"* ]]
}
check "new pods get addresses of the other kind" until_true 30 address_like fd88:
kubectl delete pod probe --now >/dev/null
application_of_six() {
  submit --master 'k8s://https://[fd99::1]:443' --conf 'spark.kubernetes.driver.master=https://[fd99::1]:443' --name pods --num-executors 2 \
    --conf spark.kubernetes.executor.deleteOnTermination=false "$@" >"$dir/submit.log" 2>&1
  [ "$(driver_phase)" = Succeeded ] && kubectl get pods -o wide || { driver_log | tail -n 20; tail -n 5 "$dir/submit.log"; return 1; }
}
check "an application whose file is sent, whose pods have IPv6 addresses only, with two executors" application_of_six "$dir/pods" 1
right_results() { driver_log | grep 'all rounds: right results'; }
check "its right results" right_results
addresses() { [ "$(kubectl get pods -o 'jsonpath={.items[*].status.podIP}' | tr ' ' '\n' | grep -c '^fd88::')" = 3 ]; }
check "all three pods have IPv6 addresses" addresses
check "nothing stays" forget_driver
rm "$network"
check "and then of the first kind again" until_true 30 address_like 10.88.
kubectl delete pod probe --now >/dev/null

# A pod that is no application's: a master, as the image has nothing else that stays.
kubectl apply -f - >/dev/null <<END
apiVersion: v1
kind: Pod
metadata: {name: stranger}
spec: {containers: [{name: master, image: $image, imagePullPolicy: Never, args: [master]}]}
END
running() { [ "$(kubectl get pods "$@" --field-selector=status.phase=Running -o name | wc -l)" -ge "${least:-1}" ]; }
until_true 30 running -l '!spark-role'
stranger=$(address_of stranger)
# The network namespace that has the address $1.
namespace_of() { "${enter[@]}" true; for n in /run/netns/cni-*; do nsenter --net="$n" ip -4 -o addr | grep -qF " $1/" && echo "$n" && return; done; return 1; }
# reaches ADDRESS PORT: from the stranger's pod
reaches() { nsenter --net="$(namespace_of "$stranger")" timeout 2 bash -c "exec 3<>/dev/tcp/$1/$2"; }

application() {
  submit --name pods --num-executors 2 "$dir/pods" "$1" >"$dir/submit.log" 2>&1 &
  submitter=$!
  until_true 60 eval 'driver_log | grep "^round 1"' && least=2 until_true 10 running -l spark-role=executor || { kill $submitter; return 1; }
  driver=$(address_of -l spark-role=driver) executor=$(address_of -l spark-role=executor)
}
open_without() { application 3 && reaches "$driver" 7078 && reaches "$executor" 7079 && wait $submitter; }
check "where nobody enforces policies a stranger's pod reaches driver and executor" open_without
kubectl delete pods -l spark-role=driver >/dev/null

mkdir -p "$dir/router"
router=$(tests/scripts/go_program.sh github.com/cloudnativelabs/kube-router/v2/cmd/kube-router@v2.1.0) || exit 1
"${enter[@]}" env NODE_NAME=node1 "$router" \
  --kubeconfig="$state/admin.conf" --run-router=false --run-service-proxy=false --enable-cni=false --run-firewall=true \
  --hostname-override=node1 --service-cluster-ip-range=10.96.0.0/16 --health-port=0 >"$dir/router/log" 2>&1 &
enforcer=$!
# What it heard of before its first pass it may leave out until something changes.
enforced() {
  "${enter[@]}" iptables-save | grep 'KUBE-NWPLCY-[^D]' >/dev/null && return
  kubectl annotate --overwrite networkpolicies tinderbox-applications "looked=$EPOCHREALTIME" >/dev/null
  return 1
}
check "policies are enforced" until_true 30 enforced
behind() { application 5; }
check "an application whose file is sent, fetched by executors, begins behind them" behind
stranger_out() { ! reaches "$driver" 7078 && ! reaches "$driver" 7079 && ! reaches "$executor" 7079; }
check "the stranger's pod reaches neither driver nor executor" stranger_out
right() { wait $submitter; [ "$(driver_phase)" = Succeeded ] && driver_log | grep 'all rounds: right results'; }
check "the application ends with the right results" right
kubectl delete pod stranger --wait=true >/dev/null
check "nothing of it stays" forget_driver
exit $failed
