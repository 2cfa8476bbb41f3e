#!/bin/bash
# The driver's service account token replaced while it runs, the one before made worthless: it goes on with the new one.
set -uo pipefail
. tests/kubernetes/checks.sh
trap end_case EXIT
make_namespace
strip -o "$dir/pods" build/tests/pods
ca=$state/pki/ca.crt

# renew N: the account's folder as the kubelet keeps it, with token N, which is good as long as secret token-N is there.
renew() {
  local next=$dir/account/..$1
  mkdir -p "$next"
  kubectl create secret generic "token-$1" >/dev/null
  kubectl create token spark --bound-object-kind Secret --bound-object-name "token-$1" >"$next/token"
  cp "$ca" "$next/ca.crt"
  echo -n "$ns" >"$next/namespace"
  ln -sfn "..$1" "$dir/account/..new" && mv -T "$dir/account/..new" "$dir/account/..data"
  local file
  for file in token ca.crt namespace; do ln -sfn "..data/$file" "$dir/account/$file"; done
}
status_of() { "${enter[@]}" curl -s -o "$dir/answer" -w '%{http_code}' --cacert "$ca" -H "Authorization: Bearer $(cat "$1")" https://10.99.0.1/api; }
worthless() { [ "$(status_of "$dir/account/..$1/token")" = 401 ]; }
end_token() { kubectl delete secret "token-$1" >/dev/null && until_true 30 worthless "$1"; }
delete_one() { kubectl delete "$(kubectl get pods -l spark-role=executor -o name | head -n 1)" --wait=false; }
# asked CODE: the driver's requests for pods with this answer, one line each.
asked() { grep '"verb":"create"' "$state/audit.log" | grep "\"namespace\":\"$ns\"" | grep '"resource":"pods"' | grep -v tinderbox-submitter | grep "\"code\":$1[,}]"; }
credentials() { asked 201 | grep "serviceaccount:$ns:spark\"" | grep -o 'credential-id":\["[^"]*' | sort -u; }
nothing_stays() { kubectl delete secrets --all >/dev/null && forget_driver; }

# disturbed COMMAND…: the application computes for 30 s; COMMAND runs once the first round is done.
disturbed() {
  # shellcheck disable=SC2086  # options
  submit $options --name pods --num-executors 2 "$dir/pods" 30 >"$dir/submit.log" 2>&1 &
  local submitter=$!
  until_true 40 eval 'driver_log | grep "^round 1"' && "$@" || { kill $submitter; driver_log | tail -n 10; return 1; }
  wait $submitter
  driver_log >"$dir/driver.log" 2>&1
  grep 'all rounds: right results' "$dir/driver.log" && grep -m 1 '^gone .*was deleted by a user or the framework' "$dir/driver.log" ||
    { tail -n 20 "$dir/driver.log" "$dir/submit.log"; return 1; }
}
# of_tokens N COMMAND…: the driver's pods were asked for with N tokens.
of_tokens() {
  local n=$1 before
  shift
  before=$(credentials | wc -l)
  "$@" && credentials && [ $(($(credentials | wc -l) - before)) = "$n" ]
}
replaced() { renew "$2" && end_token "$1" && delete_one && until_true 20 eval 'driver_log | grep "^gone "'; }
# The new one comes only when the driver has been refused with the old one.
late() {
  local before
  before=$(asked 401 | wc -l)
  end_token "$1" && delete_one && until_true 20 eval "[ \$(asked 401 | wc -l) -gt $((before + 1)) ]" && renew "$2"
}

cat >"$dir/driver.yaml" <<END
spec:
  automountServiceAccountToken: false
  containers:
  - name: spark-kubernetes-driver
    volumeMounts: [{name: account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}]
  volumes: [{name: account, hostPath: {path: $dir/account}}]
END
own_place="--conf spark.kubernetes.driver.podTemplateFile=$dir/driver.yaml"
own_file="$(shared) --conf spark.kubernetes.authenticate.driver.mounted.oauthTokenFile=$dir/account/token"

renew 1
options=$own_place
check "the pod's token is replaced, the old one ended: a lost executor is replaced with the new one" of_tokens 2 disturbed replaced 1 2
check "nothing stays" nothing_stays
options=$own_file
renew 3
check "so does a token file named by a key" of_tokens 2 disturbed replaced 3 4
check "nothing stays" nothing_stays
options=$own_place
renew 5
check "the old one ended before the new one is there: refused for a while, then replaced" of_tokens 2 disturbed late 5 6
check "nothing stays" nothing_stays

exit $failed
