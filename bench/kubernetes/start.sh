#!/usr/bin/env bash
# From `submit` to the result of Pi with two tasks and one executor, image present: ROUNDS=10 medians by phase, without and
# with an init container that gets the application; the submitter's processor time and memory. Part of
# `make bench-kubernetes`.
set -uo pipefail
. tests/kubernetes/checks.sh
trap end_case EXIT
make_namespace
rounds=${ROUNDS:-10}
here=$(dirname "$0")
strip -o "$dir/application" "$TINDERBOX"
printf '#!/bin/sh\nexec python3 %q %q %q "$@"\n' "$(realpath "$here/timed.py")" "$dir/submitter" "$TINDERBOX" >"$dir/timed"
chmod +x "$dir/timed"

# once RESOURCE: one line of numbers, see phases.py.
once() {
  BINARY=$dir/timed submit --name start --class pi --num-executors 1 --conf spark.log.level=INFO "$1" 2 >"$dir/submit.log" 2>&1 ||
    { tail -n 5 "$dir/submit.log"; return 1; }
  kubectl logs "$(driver_pod)" -c spark-kubernetes-driver --timestamps >"$dir/driver.log"
  python3 "$here/phases.py" "$dir/submitter" "$state/audit.log" "$dir/driver.log" "$ns" || return 1
  forget_driver
}
for how in image init; do
  resource=local:///tinderbox
  [ $how = image ] || resource=$dir/application
  once "$resource" >/dev/null || exit 1  # warm
  for i in $(seq "$rounds"); do
    # The kubelet looks at its containers once a second, and a round ends with such a look: they begin anywhere between two.
    sleep "$(printf '0.%03d' $((i * 1000 / rounds % 1000)))"
    once "$resource" || exit 1
  done >"$dir/$how"
  python3 "$here/medians.py" "kubernetes_start_$how" <"$dir/$how"
done
check "Pi ran $((2 * rounds)) times" [ "$(cat "$dir/image" "$dir/init" | wc -l)" = $((2 * rounds)) ]
exit $failed
