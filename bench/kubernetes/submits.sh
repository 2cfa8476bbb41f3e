#!/usr/bin/env bash
# COUNT=200 submissions one after the other from one shell loop, of pods that nobody schedules: how many a second. Part of
# `make bench-kubernetes`.
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
