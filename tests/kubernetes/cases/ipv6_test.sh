#!/bin/bash
# Pods that have IPv6 addresses only: the driver serves and executors reach it by these, the API server too.
set -uo pipefail
. tests/kubernetes/checks.sh
network=$state/cni/05-ipv6.conflist
end_network() { rm -f "$network"; sleep 1; }  # containerd looks at the folder by itself
trap 'end_network; end_case' EXIT
make_namespace
strip -o "$dir/pods" build/tests/pods

cat >"$network" <<END
{"cniVersion": "0.4.0", "name": "pods6", "plugins": [
  {"type": "bridge", "bridge": "cni6", "isGateway": true, "ipMasq": false, "ipam": {"type": "host-local",
   "dataDir": "$state/cni-addresses", "ranges": [[{"subnet": "fd88::/64"}]], "routes": [{"dst": "::/0"}]}},
  {"type": "loopback"}]}
END
sleep 1
application() {
  submit --master 'k8s://https://[fd99::1]:443' --conf 'spark.kubernetes.driver.master=https://[fd99::1]:443' --name pods --num-executors 2 \
    --conf spark.kubernetes.executor.deleteOnTermination=false "$@" >"$dir/submit.log" 2>&1
  [ "$(driver_phase)" = Succeeded ] && kubectl get pods -o wide || { driver_log | tail -n 20; tail -n 5 "$dir/submit.log"; return 1; }
}
check "an application whose file is sent, with two executors" application "$dir/pods" 1
right() { driver_log | grep 'all rounds: right results'; }
check "its right results" right
addresses() { [ "$(kubectl get pods -o 'jsonpath={.items[*].status.podIP}' | tr ' ' '\n' | grep -c '^fd88::')" = 3 ]; }
check "all three pods have IPv6 addresses" addresses
check "nothing stays" forget_driver
exit $failed
