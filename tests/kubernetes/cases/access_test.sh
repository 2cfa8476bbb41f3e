#!/bin/bash
# Ways to the API server: certificates, tokens, token files, exec plugins, proxies, IPv6.
set -uo pipefail
. tests/kubernetes/checks.sh
trap 'kill $(jobs -p) 2>/dev/null; end_case' EXIT
make_namespace
submit --class pi --conf spark.kubernetes.submission.waitAppCompletion=false local:///tinderbox 1 >"$dir/submit.log" 2>&1 || exit 1

# reached [MASTER]: asks about the driver's pod.
reached() { "${enter[@]}" "$TINDERBOX" submit --status "$ns:pi*" --master "${1:-$master}" 2>&1 | grep 'pod name: pi-'; }
# user_is YAML: $dir/own.conf for this user.
user_is() {
  cat >"$dir/own.conf" <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.99.0.1:443", certificate-authority-data: $(base64 -w0 "$state/pki/ca.crt")}}]
users: [{name: u, user: $1}]
contexts: [{name: other, context: {cluster: none, user: none}}, {name: c, context: {cluster: c, user: u}}]
current-context: c
END
}
with_own() { KUBECONFIG=$dir/own.conf "$@"; }

user_is "{client-certificate-data: $(base64 -w0 "$state/pki/admin.crt"), client-key: $state/pki/admin.key}"
check "a client certificate, its bytes in the kubeconfig, its key in a file" with_own reached
kubectl create token tinderbox-submitter >"$dir/token"
user_is "{tokenFile: $dir/token}"
check "a token in a file" with_own reached

# The first token that the plugin gives is worth nothing.
cat >"$dir/plugin" <<END
#!/bin/sh
echo "\$KUBERNETES_EXEC_INFO \$GREETING" >>"$dir/asked"
token=\$(cat "$dir/token")
[ \$(wc -l <"$dir/asked") -gt 1 ] || token=worthless
echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"\$token\"}}"
END
chmod +x "$dir/plugin"
user_is "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: $dir/plugin, env: [{name: GREETING, value: hello}]}}"
asked_again() { with_own reached && [ "$(grep -c 'ExecCredential.* hello' "$dir/asked")" = 2 ]; }
check "an exec plugin, asked again when the server does not take its token" asked_again
# One that makes certificates, and is told which cluster they are for.
cat >"$dir/issuer" <<END
#!/bin/sh
echo "\$KUBERNETES_EXEC_INFO" >"$dir/info"
pem() { awk '{ printf "%s\\\\n", \$0 }' "$state/pki/admin.\$1"; }
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"clientCertificateData":"%s","clientKeyData":"%s"}}' "\$(pem crt)" "\$(pem key)"
END
chmod +x "$dir/issuer"
user_is "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, provideClusterInfo: true, command: $dir/issuer}}"
by_issued() {
  with_own reached && grep -oF "\"server\":\"${master#k8s://}\"" "$dir/info" && grep -qF "\"certificate-authority-data\":\"$(base64 -w0 "$state/pki/ca.crt")\"" "$dir/info"
}
check "a certificate of an exec plugin that is told of the cluster" by_issued
user_is "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /no/plugin}}"
no_plugin() { ! with_own "${enter[@]}" "$TINDERBOX" submit --status "$ns:pi*" --master "$master" 2>"$dir/err" && grep "cannot start '/no/plugin'" "$dir/err"; }
check "a plugin that is not there is named" no_plugin

"${enter[@]}" python3 tests/kubernetes/connect_proxy.py 8903 "$dir/proxied" >/dev/null 2>&1 &
until_true 10 "${enter[@]}" bash -c 'exec 3<>/dev/tcp/127.0.0.1/8903'
: >"$dir/proxied"
through() { https_proxy=http://127.0.0.1:8903 reached && grep -x 'CONNECT 10.99.0.1:443' "$dir/proxied"; }
check "through a proxy of the environment" through
around() { : >"$dir/proxied"; https_proxy=http://127.0.0.1:8903 no_proxy=10.99.0.0/16 reached && [ ! -s "$dir/proxied" ]; }
check "not for what no_proxy names" around
user_is "{tokenFile: $dir/token}"
sed -i 's|cluster: {server|cluster: {proxy-url: "http://127.0.0.1:8903", server|' "$dir/own.conf"
own_proxy() { with_own reached && [ -s "$dir/proxied" ]; }
check "through a proxy of the kubeconfig" own_proxy
check "by IPv6" reached 'k8s://https://[fd99::1]:443'
check "all goes with the driver's pod" forget_driver
exit $failed
