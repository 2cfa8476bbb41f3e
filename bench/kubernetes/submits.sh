#!/usr/bin/env bash
# COUNT=200 submissions one after the other from one shell loop, to fake nodes: how many a second. Part of
# `make bench-kubernetes`.
set -uo pipefail
. tests/kubernetes/checks.sh
count=${COUNT:-200}
make_namespace
"${enter[@]}" "$state/node" fake-nodes --kubeconfig="$state/admin.conf" --nodes=4 >"$dir/nodes.log" 2>&1 &
fake=$!
trap 'kill $fake; kubectl delete nodes -l tinderbox-test/fake-node >/dev/null; end_case' EXIT
until_true 30 grep ready "$dir/nodes.log"
cat >"$dir/driver.yaml" <<END
spec:
  tolerations: [{key: tinderbox-test/fake-node, operator: Exists}]
  nodeSelector: {tinderbox-test/fake-node: "true"}
END
cat >"$dir/spark.conf" <<END
spark.kubernetes.namespace $ns
spark.kubernetes.container.image $image
spark.kubernetes.driver.podTemplateFile $dir/driver.yaml
spark.kubernetes.submission.waitAppCompletion false
END
cat >"$dir/loop" <<END
for i in \$(seq $count); do
  "$TINDERBOX" submit --master $master --deploy-mode cluster --properties-file "$dir/spark.conf" --class pi local:///tinderbox 1 || exit 1
done
END
begin=$(date +%s%N)
"${enter[@]}" bash "$dir/loop" >"$dir/submit.log" 2>&1 || { tail -n 3 "$dir/submit.log"; exit 1; }
end=$(date +%s%N)
all_there() { [ "$(kubectl get pods -l spark-role=driver -o name | wc -l)" = "$count" ] && [ "$(kubectl get configmaps -l spark-role=driver -o name | wc -l)" = "$count" ]; }
check "$count submissions one after the other: all pods and config maps are there" all_there
awk -v n="$count" -v t=$((end - begin)) 'BEGIN { printf "BENCH kubernetes_submits %.1f 1/s\n", n * 1e9 / t }'
exit $failed
