#!/bin/bash
# Files of the submitter by way of a real S3 server (Versity's gateway, where each folder is a bucket): to spark.kubernetes.file.upload.path and from there to the driver's
# pod, which has no credentials; what a store refuses.
set -uo pipefail
. tests/kubernetes/checks.sh
server=
trap '[ -z "$server" ] || kill "$server"; end_case' EXIT
make_namespace
mkdir -p "$dir/store/apps" "$dir/out"
chmod 777 "$dir/out"
gateway=$(tests/scripts/go_program.sh github.com/versity/versitygw/cmd/versitygw@v1.8.0) || exit 1
setsid "${enter[@]}" "$gateway" --access KEY --secret hidden-word --port 10.99.0.1:9000 --health /health \
  posix "$dir/store" >"$dir/server.log" 2>&1 &
server=$!
check "a real S3 server is there" until_true 20 "${enter[@]}" curl -sf http://10.99.0.1:9000/health
store=(--conf spark.hadoop.fs.s3a.endpoint=http://10.99.0.1:9000 --conf spark.hadoop.fs.s3a.access.key=KEY)
secret=(--conf spark.hadoop.fs.s3a.secret.key=hidden-word)
upload=(--conf spark.kubernetes.file.upload.path=s3a://apps/up)
strip -o "$dir/engine" build/tests/engine
stored() { find "$dir/store/apps" -type f -path "*$1*" | wc -l; }

uploaded() {
  # shellcheck disable=SC2046  # words
  submit $(shared) --name engine --num-executors 2 "${store[@]}" "${secret[@]}" "${upload[@]}" "$dir/engine" "$dir/out/1" &&
    driver_log | grep 'all steps: right results' && [ "$(stored /up/spark-upload-)" = 1 ] &&
    cmp "$dir"/store/apps/up/spark-upload-*/engine "$dir/engine"
}
check "an application goes to the store and from there to the driver, executors have it from the driver" uploaded
unseen() { ! kubectl get pods -o yaml | grep hidden-word; }
check "no pod shows the store's secret" unseen
check "nothing of it stays in the cluster" forget_driver

there_already() {
  cp "$dir/engine" "$dir/store/apps/engine"
  # shellcheck disable=SC2046
  AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=hidden-word AWS_ENDPOINT_URL=http://10.99.0.1:9000 submit $(shared) \
    --name engine --num-executors 2 "s3a://apps/engine#sha256=$(sha256sum "$dir/engine" | cut -c1-64)" "$dir/out/2" &&
    driver_log | grep 'all steps: right results'
}
check "an application that is in the store already, with credentials of the environment" there_already
check "nothing of that stays" forget_driver

# refused WHAT OPTIONS…: the submission ends with these words; nothing is created, nothing stays in the store
refused() {
  local words=$1 before
  shift
  before=$(stored /)
  ! submit --name engine "${store[@]}" "${upload[@]}" "$@" "$dir/engine" x 2>"$dir/err" &&
    grep -F -- "$words" "$dir/err" && [ "$(stored /)" = "$before" ] && all_gone
}
check "a wrong secret: in the store's words, nothing created" \
  refused ': HTTP 403 SignatureDoesNotMatch' --conf spark.hadoop.fs.s3a.secret.key=wrong
check "a bucket that is not there" refused 'HTTP 404 NoSuchBucket' "${secret[@]}" --conf spark.kubernetes.file.upload.path=s3a://none/up
check "a pod that is refused: the store has back what it had" \
  refused 'cannot create the driver pod' "${secret[@]}" --conf spark.kubernetes.driver.label.bad='no label!'
check "no store at that address" refused ': no connection' "${secret[@]}" --conf spark.hadoop.fs.s3a.endpoint=http://10.99.0.1:9
exit $failed
