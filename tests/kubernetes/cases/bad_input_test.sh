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
base64_url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
# token_until TIME: of nobody, signed as the API server signs them
token_until() {
  local begin=$(($(date +%s) - 600)) uid claims
  uid=$(kubectl get serviceaccount nobody -o 'jsonpath={.metadata.uid}')
  claims="\"iss\":\"https://kubernetes.default.svc\",\"aud\":[\"https://kubernetes.default.svc\"],\"sub\":\"system:serviceaccount:$ns:nobody\""
  claims+=",\"kubernetes.io\":{\"namespace\":\"$ns\",\"serviceaccount\":{\"name\":\"nobody\",\"uid\":\"$uid\"}}"
  claims=$(printf '{"alg":"RS256"}' | base64_url).$(printf '{%s,"iat":%s,"nbf":%s,"exp":%s}' "$claims" "$begin" "$begin" "$1" | base64_url)
  echo "$claims.$(printf %s "$claims" | openssl dgst -sha256 -sign "$state/pki/sa.key" | base64_url)"
}
expired() { as_token "$(token_until $(($(date +%s) - 60)))" refused "Unauthorized (status 401)"; }
check "an expired token" expired
not_expired() { as_token "$(token_until $(($(date +%s) + 60)))" refused "cannot create resource"; }
check "the same not yet expired: who it is has no rights" not_expired
foreign() { as_token "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln" refused "Unauthorized (status 401)"; }
check "a token of nobody's" foreign
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
check "no batches of executors" refused "batch.size is invalid. It should be a positive integer$" --conf spark.kubernetes.allocation.batch.size=0
check "a label that the server does not take" refused "a lowercase RFC 1123\|valid label\|must be no more than 63" --conf spark.kubernetes.driver.label.x="$(printf 'v%.0s' $(seq 64))"
check "a configuration over the limit of a key" refused "more than the 92160" --conf spark.x="$(head -c 100000 /dev/zero | tr '\0' x)" --conf spark.kubernetes.configMap.maxSize=90k
mkdir "$dir/conf" && head -c 1100000 /dev/zero | tr '\0' x >"$dir/conf/table"
with_table() { SPARK_CONF_DIR=$dir/conf refused "$@"; }
check "a configuration over 1 MiB" with_table "more than the 1048576 .* largest of it is table"
check "nor with a limit above what the server takes" with_table "takes; the largest of it is table" --conf spark.kubernetes.configMap.maxSize=2m
{ printf 'kind: Pod\n# '; cat "$dir/conf/table"; } >"$dir/large.yaml"
check "an executors' template over 1 MiB" refused "large.yaml': larger than 1 MiB$" --conf spark.kubernetes.executor.podTemplateFile="$dir/large.yaml"
exit $failed
