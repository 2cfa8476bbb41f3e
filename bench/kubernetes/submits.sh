#!/usr/bin/env bash
# COUNT=200 submissions one after the other from one shell loop, of pods that nobody schedules: how many a second. After it as
# many by turns with one curl each that sends the same four requests: what the API server, TLS and a new process cost anyhow.
# Part of `make bench-kubernetes`.
set -uo pipefail
. tests/kubernetes/checks.sh
count=${COUNT:-200}
make_namespace
trap end_case EXIT
cat >"$dir/spark.conf" <<END
spark.kubernetes.namespace $ns
spark.kubernetes.container.image $image
spark.kubernetes.driver.scheduler.name nobody
spark.kubernetes.submission.waitAppCompletion false
END
submission=("$TINDERBOX" submit --master "$master" --deploy-mode cluster --properties-file "$dir/spark.conf" --class pi)
token=$(kubectl create token tinderbox-submitter)

# curl_of N FILE: objects of one submission in FILE, under another name, as the configuration of a curl that creates them.
curl_of() {
  local part name
  name=$(sed -n 's/^  name: pi-\(.*\)-driver$/\1/p' "$2" | head -n 1)
  sed "s/$name/c$1-$name/g" "$2" | csplit -sz -f "$dir/curl-$1-" - '/^---$/' '{*}'
  for part in "$dir/curl-$1-"*; do
    case $(sed -n 's/^kind: //p' "$part") in
      Pod) path=api/v1/namespaces/$ns/pods ;;
      Service) path=api/v1/namespaces/$ns/services ;;
      ConfigMap) path=api/v1/namespaces/$ns/configmaps ;;
      NetworkPolicy) path=apis/networking.k8s.io/v1/namespaces/$ns/networkpolicies ;;
    esac
    printf '%s\n' "url = ${master#k8s://}/$path" "cacert = $state/pki/ca.crt" "data-binary = @$part" http1.1 silent fail "output = /dev/null" \
      "header = \"Authorization: Bearer $token\"" "header = Content-Type:application/yaml" next
  done | sed '$d' >"$dir/curl-$1.conf"
}
"${enter[@]}" "${submission[@]}" --dry-run local:///tinderbox 1 >"$dir/objects.yaml" || exit 1
for i in $(seq "$count"); do curl_of "$i" "$dir/objects.yaml"; done

cat >"$dir/loop" <<END
t0=\${EPOCHREALTIME/./}
for i in \$(seq $count); do ${submission[@]} local:///tinderbox 1 || exit 1; done
alone=\$((\${EPOCHREALTIME/./} - t0)) ours=0 curl=0
for i in \$(seq $count); do
  t0=\${EPOCHREALTIME/./}
  ${submission[@]} local:///tinderbox 1 || exit 1
  t1=\${EPOCHREALTIME/./}
  curl -K "$dir/curl-\$i.conf" || exit 1
  ours=\$((ours + t1 - t0)) curl=\$((curl + \${EPOCHREALTIME/./} - t1))
done
echo "\$alone \$ours \$curl"
END
took=$("${enter[@]}" bash "$dir/loop" 2>"$dir/submit.log") || { tail -n 3 "$dir/submit.log"; exit 1; }
there() { [ "$(kubectl get "$1" -l spark-role=driver -o name | wc -l)" = $((3 * count)) ]; }
all_there() { there pods && there configmaps; }
check "$((2 * count)) submissions one after the other: all pods and config maps are there, and those of curl" all_there
awk -v n="$count" '{
  printf "BENCH kubernetes_submits %.1f 1/s\n", n * 1e6 / $1
  printf "BENCH kubernetes_submits_by_turns %.1f 1/s, the same requests by curl %.1f 1/s: %.2f times as many\n", n * 1e6 / $2, n * 1e6 / $3, $3 / $2
}' <<<"$took"
exit $failed
