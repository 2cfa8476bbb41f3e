#!/bin/bash
# What cannot be submitted: one clear line each, nothing created.
set -uo pipefail
. tests/kubernetes/checks.sh
trap end_case EXIT
make_namespace

# refused WORDS OPTIONS…: exit code 1, exactly one line of stderr begins with Error and has the words, nothing created.
refused() {
  local words=$1
  shift
  local code=0
  submit "$@" --class pi local:///tinderbox 4 >"$dir/out" 2>"$dir/err" || code=$?
  [ $code = 1 ] && [ "$(grep -c '^Error: ' "$dir/err")" = 1 ] && grep "^Error: .*$words" "$dir/err" && [ "$(wc -l <"$dir/err")" -le 2 ] &&
    until_true 20 all_gone >/dev/null || { cat "$dir/err"; false; }
}
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/other.key" -out "$dir/other.crt" -subj /CN=other -days 1 2>/dev/null
with_other_ca() { KUBECONFIG=$dir/other.conf "$@"; }
sed "s|certificate-authority: [^}]*|certificate-authority: $dir/other.crt|" "$state/admin.conf" >"$dir/other.conf"
check "a wrong certificate authority" with_other_ca refused "certificate is not trusted by .*other.crt'$"

kubectl create serviceaccount nobody >/dev/null
as_token() { # as_token TOKEN COMMAND…
  sed "s|user: {client-certificate[^}]*}|user: {token: \"$1\"}|" "$state/admin.conf" >"$dir/token.conf"
  KUBECONFIG=$dir/token.conf "${@:2}"
}
expired() { as_token "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln" refused "Unauthorized (status 401)"; }
check "a token that the server does not take" expired
forbidden() { as_token "$(kubectl create token nobody)" refused "cannot create resource \"pods\" in API group \"\" in the namespace \"$ns\" (status 403)"; }
check "a namespace where nothing may be made: which verb on which resource is missing" forbidden
partly() {
  kubectl create role pods-only --verb=create,delete --resource=pods >/dev/null
  kubectl create rolebinding pods-only --role=pods-only --serviceaccount="$ns:nobody" >/dev/null
  as_token "$(kubectl create token nobody)" refused "cannot create resource \"services\""
}
check "rights for the pod alone: what is missing is told, the pod is removed" partly

check "another server" refused "10.99.0.1:4443': no connection$" --master k8s://https://10.99.0.1:4443
check "a context that is not there" refused "has no context 'nothing'" --conf spark.kubernetes.context=nothing
check "an unknown key under spark.kubernetes.: the one that was meant is named" refused \
  "spark.kubernetes.driver.podTemplateFil (--conf); did you mean spark.kubernetes.driver.podTemplateFile?$" --conf spark.kubernetes.driver.podTemplateFil=x
check "one that is like no other" refused "spark.kubernetes.pods (--conf); Spark has no such key$" --conf spark.kubernetes.pods=4
printf 'spec:\n  containers: [\n' >"$dir/bad.yaml"
check "a malformed template" refused "pod template '$dir/bad.yaml': .*line" --conf spark.kubernetes.driver.podTemplateFile="$dir/bad.yaml"
check "a template that is not there" refused "cannot read '$dir/no.yaml'" --conf spark.kubernetes.executor.podTemplateFile="$dir/no.yaml"
check "a label that the server does not take" refused "a lowercase RFC 1123\|valid label\|must be no more than 63" --conf spark.kubernetes.driver.label.x="$(printf 'v%.0s' $(seq 64))"
check "a configuration over 1 MiB" refused "more than the 92160" --conf spark.x="$(head -c 100000 /dev/zero | tr '\0' x)" --conf spark.kubernetes.configMap.maxSize=90k
exit $failed
