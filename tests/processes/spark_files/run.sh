#!/bin/bash
# Sequence files that Apache Spark (PyPI's pyspark; Scala in its JVM) reads of tinderbox, and tinderbox of Spark.
set -euo pipefail
cd "$(dirname "$0")/../../.."
SPARK_HOME=$(deploy/packages.sh spark)
export SPARK_HOME SPARK_LOCAL_IP=127.0.0.1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ours() { build/tests/spark_files submit --master 'local[2]' --class spark_files build/tests/spark_files "$@"; }
ours write "$dir/tinderbox"
"$SPARK_HOME/bin/spark-shell" --master 'local[2]' --conf spark.files.folder="$dir" --conf spark.ui.enabled=false \
  -i tests/processes/spark_files/spark_files.scala >"$dir/spark.out" 2>"$dir/spark.log" || true
grep -E '^(ok  |FAIL) ' "$dir/spark.out" || true
if grep -q '^FAIL ' "$dir/spark.out" || ! grep -qx DONE "$dir/spark.out"; then
  tail -n 20 "$dir/spark.out" "$dir/spark.log" >&2
  exit 1
fi
ours read "$dir/spark"
