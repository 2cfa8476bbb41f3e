#!/bin/bash
# The objects that Apache Spark (PyPI's pyspark, its spark-submit) and tinderbox make of the same confs, by the same API
# server, compared field by field with the differences that docs/kubernetes.md lists.
set -uo pipefail
here=$(realpath "$(dirname "$0")")
. tests/kubernetes/checks.sh
SPARK_HOME=$(deploy/packages.sh spark) || exit 1
export SPARK_HOME
trap end_case EXIT
make_namespace
kubectl create secret generic keys --from-literal=token=x >/dev/null
kubectl create secret docker-registry registry --docker-server=r --docker-username=u --docker-password=p >/dev/null

# Pods stay pending: no node has this label.
cat >"$dir/template.yaml" <<END
apiVersion: v1
kind: Pod
metadata: {labels: {team: data}, annotations: {note: kept}}
spec:
  tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]
  securityContext: {fsGroup: 185}
  containers:
  - name: main
    env: [{name: FROM_TEMPLATE, value: "1"}]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
  - name: sidecar
    image: proxy:1
  volumes: [{name: scratch, emptyDir: {}}]
END
# The driver's pod that Spark wants to own its sets.
kubectl run notebook --image="$image" --overrides='{"spec": {"nodeSelector": {"nowhere": "here"}}}' >/dev/null
both() { printf 'spark.kubernetes.driver.%s\nspark.kubernetes.executor.%s\n' "$1" "$1"; }
conf_plain() { :; }
conf_everything() {
  {
    both "label.team data"
    both "annotation.run {{APP_ID}}"
    both "secrets.keys /keys"
    both "secretKeyRef.TOKEN keys:token"
    both "node.selector.zone a"
    both "request.cores 500m"
    both "limit.cores 2"
    both "volumes.hostPath.data.mount.path /data"
    both "volumes.hostPath.data.options.path /mnt/data"
    both "volumes.hostPath.data.mount.readOnly true"
    both "volumes.emptyDir.fast.mount.path /fast"
    both "volumes.emptyDir.fast.options.medium Memory"
    both "volumes.emptyDir.fast.options.sizeLimit 64Mi"
    both "volumes.nfs.share.mount.path /share"
    both "volumes.nfs.share.options.server nfs.example.com"
    both "volumes.nfs.share.options.path /exported"
    both "volumes.persistentVolumeClaim.claim.mount.path /claim"
    both "volumes.persistentVolumeClaim.claim.mount.subPath sub"
    both "volumes.persistentVolumeClaim.claim.options.claimName there"
  } | cat
  cat <<END
spark.kubernetes.driverEnv.MODE fast
spark.executorEnv.MODE fast
spark.kubernetes.container.image.pullSecrets registry
spark.kubernetes.scheduler.name default-scheduler
spark.kubernetes.local.dirs.tmpfs true
spark.driver.memory 2g
spark.driver.memoryOverhead 300m
spark.executor.memory 3g
spark.executor.cores 2
spark.decommission.enabled true
spark.driver.resource.gpu.amount 1
spark.driver.resource.gpu.vendor example.com
spark.executor.resource.gpu.amount 1
spark.executor.resource.gpu.vendor example.com
spark.kubernetes.driver.service.label.team data
spark.kubernetes.driver.service.annotation.note kept
END
}
conf_credentials() { echo "spark.kubernetes.authenticate.driver.oauthToken words"; }
conf_template() { both "podTemplateFile $dir/template.yaml"; }

conf_claims() {
  both "volumes.persistentVolumeClaim.disk.mount.path /disk"
  both "volumes.persistentVolumeClaim.disk.options.claimName OnDemand"
  both "volumes.persistentVolumeClaim.disk.options.storageClass none"
  both "volumes.persistentVolumeClaim.disk.options.sizeLimit 1Gi"
}

conf_long() { :; }

# Five, so that Spark's shuffled order is hardly ever ours.
conf_dirs_given() {
  echo "spark.local.dir /dirs/a,/dirs/b,/dirs/c,/dirs/d,/dirs/e"
  echo "spark.kubernetes.local.dirs.tmpfs true"
}

conf_dirs_mounted() {
  both "volumes.emptyDir.spark-local-dir-1.mount.path /local/1"
  both "volumes.emptyDir.spark-local-dir-1.options.medium Memory"
  both "volumes.hostPath.spark-local-dir-2.mount.path /local/2"
  both "volumes.hostPath.spark-local-dir-2.options.path /mnt/2"
}

conf_files() {
  echo "spark.files $dir/words.txt"
  echo "spark.kubernetes.file.upload.path file://$dir/uploaded"  # Spark needs it, tinderbox refuses it
}

conf_statefulset() {
  conf_claims
  echo "spark.kubernetes.allocation.pods.allocator statefulset"
}
conf_deployment() {
  echo "spark.kubernetes.allocation.pods.allocator deployment"
  echo "spark.kubernetes.executor.podDeletionCost 5"
}
# An application and a file that are not in the image.
cp "$TINDERBOX" "$dir/application"
echo "one two" >"$dir/words.txt"
mkdir "$dir/uploaded"
application_of() { if [ "$1" = files ]; then echo "$dir/application"; else echo local:///opt/app/app.jar; fi; }
name_of() { if [ "$1" = long ]; then printf 'Word-Count_%.0s' $(seq 20); else echo word-count; fi; }

keep() {  # WHO CONF RESOURCES SELECTOR FILE
  local folder=$dir/$1/$2
  mkdir -p "$folder"
  kubectl get "$3" ${4:+-l "$4"} -o json >"$folder/$5.json"
}
made() { [ -n "$(kubectl get pods -l "spark-role=$1" -o name)" ]; }
map_made() { [ -n "$(kubectl get configmaps -o name | grep "spark-$1-.*conf-map")" ]; }

said() { grep -m 1 Exception "$dir/$1.log" || tail -n 5 "$dir/$1.log"; }

in_cluster() {  # WHO CONF SUBMIT…
  local who=$1 c=$2
  shift 2
  [ "$who" = spark ] || sed -i '/^spark.kubernetes.file.upload.path /d' "$dir/$c.conf"
  SPARK_LOCAL_IP=10.99.0.1 setsid "${enter[@]}" "$@" --master "$master" --deploy-mode cluster --name "$(name_of "$c")" \
    --class org.example.WordCount --properties-file "$dir/$c.conf" "$(application_of "$c")" in out \
    >"$dir/$who-$c.log" 2>&1 </dev/null &
  local app=$!
  # Ours would wait for a pod to send files to.
  if [ "$c" = files ]; then
    until_true 60 map_made drv || { said "$who-$c"; return 1; }
    [ "$who" = spark ] || kill -9 -- -$app
  fi
  wait $app 2>/dev/null || [ "$who-$c" = ours-files ] || { said "$who-$c"; return 1; }
  keep "$who" "$c" pods spark-role=driver driver
  keep "$who" "$c" configmaps,services,networkpolicies,persistentvolumeclaims "" objects
  kubectl delete pods -l spark-role=driver >/dev/null
  until_true 30 eval '[ -z "$(kubectl get services -o name)$(kubectl get configmaps -l spark-role -o name)" ]'
}
in_client() {  # WHO CONF APPLICATION COMMAND…: COMMAND with APPLICATION ("" for none) asks for executors
  local who=$1 c=$2 application=$3 KUBECONFIG=$dir/driver.conf
  grep -v '^spark.driver.resource' "$dir/$c.conf" >"$dir/$c-client.conf"  # this machine has no such device
  shift 3
  case $c in statefulset | deployment) echo "spark.kubernetes.driver.pod.name notebook" >>"$dir/$c-client.conf" ;; esac
  [ "$c" = long ] || echo "spark.kubernetes.executor.podNamePrefix word-count" >>"$dir/$c-client.conf"
  SPARK_LOCAL_IP=10.99.0.1 setsid "${enter[@]}" "$@" --master "$master" --name "$(name_of "$c")" --properties-file "$dir/$c-client.conf" \
    --conf spark.driver.host=10.99.0.1 \
    ${application:+"$application"} >"$dir/$who-$c-client.log" 2>&1 </dev/null &
  local app=$!
  until_true 60 made executor && until_true 10 map_made exec || { said "$who-$c-client"; kill -9 -- -$app; return 1; }
  keep "$who" "$c" pods spark-role=executor executor
  keep "$who" "$c" configmaps,persistentvolumeclaims,statefulsets,deployments "" executor-objects
  kill -9 -- -$app  # setsid leads a group of its own
  wait $app 2>/dev/null
  kubectl delete statefulsets,deployments --all >/dev/null
  kubectl delete pods,configmaps -l spark-role=executor >/dev/null
  kubectl delete persistentvolumeclaims --all >/dev/null
}
echo 'Thread.sleep(100000)' >"$dir/wait.scala"

for c in ${CONFS:-plain everything credentials claims template long dirs_given dirs_mounted files statefulset deployment}; do
  {
    echo "spark.kubernetes.namespace $ns"
    echo "spark.kubernetes.container.image $image"
    echo "spark.kubernetes.authenticate.driver.serviceAccountName spark"
    echo "spark.kubernetes.node.selector.nowhere here"
    echo "spark.kubernetes.submission.waitAppCompletion false"
    echo "spark.executor.instances 1"
    conf_$c
  } >"$dir/$c.conf"
  own=$TINDERBOX
  [ "$c" != files ] || own=$dir/application
  # Spark's submitter makes claims itself, for which tinderbox's needs no right.
  KUBECONFIG=$state/admin.conf in_cluster spark "$c" "$SPARK_HOME/bin/spark-submit" && in_cluster ours "$c" "$TINDERBOX" submit &&
    in_client spark "$c" "" "$SPARK_HOME/bin/spark-shell" -i "$dir/wait.scala" &&
    in_client ours "$c" "$own" "$TINDERBOX" submit --class pi || { failed=1; exit 1; }
done
python3 "$here/compare.py" docs/kubernetes.md "$dir/spark" "$dir/ours" || { failed=1; exit 1; }
