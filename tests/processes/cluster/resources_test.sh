#!/usr/bin/env bash
# Custom resources with real processes: a worker whose discovery script finds two addresses, executors and drivers that
# get them, tasks that say which one they have, and resource profiles. The application is tests/apps/resources.cpp.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/checks.sh
RESOURCES=$(realpath "${RESOURCES:-build/tests/resources}")

cat > "$dir/gpus" <<'END'
#!/bin/sh
echo '{"name": "gpu", "addresses": ["0", "1"]}'
END
chmod +x "$dir/gpus"
GPUS=(--conf spark.worker.resource.gpu.amount=2 --conf spark.worker.resource.gpu.discoveryScript="$dir/gpus")

# run_case NAME [OPTIONS…]
run_case() {
  local name=$1
  shift
  timeout 100 "$RESOURCES" submit --master "$master_url" --conf spark.log.level=WARN --executor-memory 256m "$@" \
    --class resources "$RESOURCES" "$name" > "$dir/$name.out" 2>&1 \
    && grep -q 'right result' "$dir/$name.out" || { cat "$dir/$name.out"; false; }
}
# refused LINE NAME [OPTIONS…]: it fails, and says so
refused() {
  local line=$1
  shift
  ! run_case "$@" > /dev/null && grep -q "$line" "$dir/$1.out" || { cat "$dir/$1.out"; false; }
}
json_has() {
  grep -qF "$1" <(http_get "$master_ui/json/" | tr -d ' \n')
}

start_master
start_worker worker1 --cores 8 --memory 4g "${GPUS[@]}"
check "the master shows what the worker found" \
  json_has '"resourcesfree":{"gpu":{"name":"gpu","addresses":["0","1"]}}'
EACH=(--conf spark.executor.resource.gpu.amount=1 --conf spark.task.resource.gpu.amount=1 --executor-cores 1)
BOTH=(--conf spark.executor.resource.gpu.amount=2 --executor-cores 2)
check "two executors with one address each: tasks have their executor's" run_case one_each "${EACH[@]}"
check "one executor with two addresses: each of two tasks has its own" \
  run_case of_two "${BOTH[@]}" --conf spark.task.resource.gpu.amount=1
check "four tasks at a time share two addresses" \
  run_case of_two --conf spark.executor.resource.gpu.amount=2 --executor-cores 4 --conf spark.task.resource.gpu.amount=0.5
check "a resource profile gets executors of its own by dynamic allocation" \
  run_case own_profile --executor-cores 1 --conf spark.dynamicAllocation.enabled=true \
  --conf spark.dynamicAllocation.initialExecutors=1 --conf spark.dynamicAllocation.schedulerBacklogTimeout=200ms
check "a profile of tasks alone runs on the executors that there are" run_case task_profile --executor-cores 2
check "a driver in client mode finds its own" \
  run_case of_driver --conf spark.driver.resource.gpu.amount=2 \
  --conf spark.driver.resource.gpu.discoveryScript="$dir/gpus"
driver_on_worker() {
  timeout 60 "$RESOURCES" submit --master "$master_url" --deploy-mode cluster --driver-memory 256m \
    --conf spark.driver.resource.gpu.amount=2 --conf spark.standalone.submit.waitAppCompletion=true \
    --conf spark.cores.max=1 --executor-memory 256m --class resources "$RESOURCES" of_driver > "$dir/cluster.out" 2>&1
  grep -q 'right result' "$dir"/worker1/driver-*/stdout || { cat "$dir/cluster.out" "$dir"/worker1/driver-*/std*; false; }
}
check "a driver on a worker gets the worker's" driver_on_worker
check "all addresses are free again" json_has '"resourcesfree":{"gpu":{"name":"gpu","addresses":["0","1"]}}'

check "more for a task than its executor has is refused" \
  refused 'amount: 1 needs to be >= the task resource request amount of 2' of_two \
  --conf spark.executor.resource.gpu.amount=1 --conf spark.task.resource.gpu.amount=2
check "a share that is none is refused" \
  refused 'amount 0.7 of gpu for a task must be either <= 0.5, or a whole number' of_two \
  --conf spark.executor.resource.gpu.amount=1 --conf spark.task.resource.gpu.amount=0.7
check "a profile of executors needs dynamic allocation" \
  refused 'only supported for standalone clusters with dynamic allocation enabled' own_profile
check "a driver that does not find enough is refused" \
  refused 'with addresses: 0,1 is less than what the user requested: 3' of_driver \
  --conf spark.driver.resource.gpu.amount=3 --conf spark.driver.resource.gpu.discoveryScript="$dir/gpus"
cat > "$dir/endless" <<'END'
#!/bin/sh
echo $$ > "$0.pid"
exec sleep 1000
END
chmod +x "$dir/endless"
stopped_in_script() { # MASTER OWNER: driver, worker
  local status=0
  rm -f "$dir/endless.pid"
  "$RESOURCES" submit --master "$1" --conf spark.local.dir="$dir/local" --conf "spark.$2.resource.gpu.amount=2" \
    --conf "spark.$2.resource.gpu.discoveryScript=$dir/endless" --class resources "$RESOURCES" of_driver > "$dir/endless.out" 2>&1 &
  driver=$!
  wait_line "$dir/endless.pid" . > /dev/null && kill -TERM $driver || return 1
  timeout 10 tail --pid=$driver -f /dev/null || return 1
  wait $driver || status=$?
  driver=
  cat "$dir/endless.out"
  [ $status = 143 ] && [ -z "$(ls "$dir/local")" ] && [ ! -e "/proc/$(cat "$dir/endless.pid")" ]
}
check "SIGTERM while a driver's discovery script runs ends both" stopped_in_script 'local[2]' driver
check "the same of a worker in local-cluster" stopped_in_script 'local-cluster[1,1,1024]' worker

LOCAL=(--master 'local[2]' --conf spark.executor.resource.gpu.amount=2 --conf spark.task.resource.gpu.amount=1)
check "an executor in local mode finds its own" \
  run_case of_two "${LOCAL[@]}" --conf spark.executor.resource.gpu.discoveryScript="$dir/gpus"
check "one that finds nothing fails the job" \
  refused 'Error running the resource discovery script /bin/false for gpu' of_two "${LOCAL[@]}" \
  --conf spark.executor.resource.gpu.discoveryScript=/bin/false

# worker_refused LINE OPTIONS…: the worker ends with 1 and that line
worker_refused() {
  local line=$1 code=0
  shift
  timeout 20 "$TINDERBOX" worker --host 127.0.0.1 --port 0 --webui-port 0 --work-dir "$dir/refused" "$@" \
    "$master_url" > "$dir/refused.log" 2>&1 || code=$?
  [ $code = 1 ] && grep -q "$line" "$dir/refused.log" || { echo "exit $code"; cat "$dir/refused.log"; false; }
}
check "a worker that finds too few does not start" \
  worker_refused 'Failed to setup worker resources: Resource: gpu, with addresses: 0,1 is less than' \
  --conf spark.worker.resource.gpu.amount=3 --conf spark.worker.resource.gpu.discoveryScript="$dir/gpus"
echo '[{"id": {"componentName": "spark.worker", "resourceName": "gpu"}, "addresses": ["7", "8"]}]' > "$dir/gpus.json"
check "nor one whose file of resources has too few" \
  worker_refused 'Failed to setup worker resources: Resource: gpu, with addresses: 7,8 is less than' \
  --conf spark.worker.resource.gpu.amount=3 --conf spark.worker.resourcesFile="$dir/gpus.json"
check "nor one whose script fails" \
  worker_refused 'Failed to setup worker resources: Error running the resource discovery script /bin/false for gpu' \
  --conf spark.worker.resource.gpu.amount=1 --conf spark.worker.resource.gpu.discoveryScript=/bin/false
stop_cluster
check "no process is left" no_process_left
exit $failed
