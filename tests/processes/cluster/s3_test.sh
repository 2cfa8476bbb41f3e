#!/usr/bin/env bash
# Paths of an object store and of web servers in place of local ones: Versity's gateway is a real S3 server that keeps
# objects as files, so what it holds is compared with what coreutils say. tests/apps/stores.cpp is the application.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/processes/checks.sh
STORES=$(realpath "${STORES:-build/tests/stores}") LARGER=$(realpath "${LARGER:-build/tests/larger}")
gateway=$(tests/scripts/go_program.sh github.com/versity/versitygw/cmd/versitygw@v1.8.0) || exit 1
# The store's folder must be on a file system with extended attributes.
mkdir -p "$dir/store/data" "$dir/work"
unset "${!AWS_@}" http_proxy HTTP_PROXY all_proxy ALL_PROXY

# start_gateway SCHEME [OPTIONS…]: a port that is free now may be taken before the gateway has it: the next one then.
start_gateway() {
  local scheme=$1 port tries
  shift
  for port in $(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport, "\n" for 1 .. 5'); do
    "$gateway" --access KEY --secret hidden-word --keep-alive --quiet --port "127.0.0.1:$port" --health /health "$@" \
      posix "$dir/store" >"$dir/gateway.log" 2>&1 &
    pid=$!
    tries=500
    while kill -0 $pid 2>/dev/null && (( tries-- > 0 )); do
      endpoint=$scheme://127.0.0.1:$port
      curl -skf --noproxy '*' "$endpoint/health" && { pids+=("$pid"); return 0; }
      read -rt 0.02 <> <(:) || true
    done
  done
  cat "$dir/gateway.log" >&2
  return 1
}
check "a real S3 server is there" start_gateway http
[ $failed = 0 ] || exit 1
store=(--conf "spark.hadoop.fs.s3a.endpoint=$endpoint" --conf spark.hadoop.fs.s3a.access.key=KEY)
secret=(--conf spark.hadoop.fs.s3a.secret.key=hidden-word)
# Executors have work directories of their own, so all paths are whole ones.
submit() { # MASTER OPTIONS… CLASS ARGUMENTS…
  local master=$1 class application=$STORES options=()
  shift
  while [[ $1 == --* ]]; do options+=("$1" "$2"); shift 2; done
  class=$1; shift
  [ "$class" = stores ] || application=$TINDERBOX
  (cd "$dir/work" && timeout 30 "$application" submit --master "$master" --conf spark.log.level=WARN --conf spark.local.dir="$dir/local" \
    "${options[@]}" --class "$class" "$application" "$@")
}
local='local[2]' cluster='local-cluster[2,1,1024]'
s3() { local master=$1; shift; submit "$master" "${store[@]}" "${secret[@]}" "$@"; }
# refused WORDS COMMAND…: fails, and its last line says so.
refused() { local words=$1; shift; ! "$@" >"$dir/refused" 2>&1 && tail -n 1 "$dir/refused" && tail -n 1 "$dir/refused" | grep -qF -- "$words"; }
# unfinished: parts of uploads that nobody completed, and temporary files of the gateway.
unfinished() { find "$dir/store/data/.sgwtmp" -type f 2>/dev/null; }
nothing_unfinished() { [ -z "$(unfinished)" ] || { unfinished; return 1; }; }

seq 200000 >"$dir/store/data/numbers.txt"
mkdir -p "$dir/store/data/book/2024" "$dir/store/data/book/2025"
for year in 2024 2025; do
  for month in 1 2 3; do
    awk -v y=$year -v m=$month 'BEGIN { for (i = 1; i <= 3000; i++) print "year" y, "month" m, "line", i % 70 }' \
      >"$dir/store/data/book/$year/m-$month.txt"
  done
done
gzip -n "$dir/store/data/book/2025/m-2.txt"
echo no >"$dir/store/data/book/2024/_hidden"
cp "$dir/store/data/book/2024/m-1.txt" "$dir/store/data/book/a key+with %41, and more.txt"
counted() { zcat -f "$@" | tr -s ' \t' '\n' | grep . | LC_ALL=C sort | uniq -c | awk '{ print $2 "\t" $1 }' | LC_ALL=C sort; }
# counts OUT IN…: the word count in the store's OUT is that of coreutils over IN, and whole.
counts() {
  local out=$dir/store/data/$1
  shift
  cmp <(LC_ALL=C sort "$out"/part-*) <(counted "$@") && [ -e "$out/_SUCCESS" ] && nothing_unfinished
}
book=$dir/store/data/book
word_count() { s3 "$1" wordcount "$2" "s3a://data/$3"; }
from_to() { word_count "$local" 's3a://data/book/{2024,2025}/m-[12]*' out/local && counts out/local "$book"/202?/m-[12]*; }
check "word count from the store to the store, by a pattern, with gzip" from_to
on_cluster() { word_count "$cluster" 's3a://data/book/2024,s3://data/book/*/m-3.txt' out/cluster && counts out/cluster "$book"/2024/m-* "$book"/*/m-3.txt; }
check "the same by executors, of a directory and a pattern, s3: too" on_cluster
odd_key() { word_count "$local" 's3a://data/book//a key*' out/odd && counts out/odd "$book"/a*; }
check "a key with spaces and signs" odd_key
of_environment() {
  AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=hidden-word AWS_ENDPOINT_URL_S3=$endpoint submit "$cluster" \
    --conf spark.executorEnv.AWS_SECRET_ACCESS_KEY= wordcount s3a://data/book/2024 s3a://data/out/env && counts out/env "$book"/2024/m-*
}
check "credentials of the driver's environment reach the executors" of_environment

once() { s3 "$1" stores once s3a://data/numbers.txt 37 200000 && cmp <(s3 "$local" stores once s3a://data/numbers.txt 37 200000) <(printf '%s\n' '37 partitions' 'once: right'); }
check "a file in 37 ranges: every line once" once "$local"
check "compressed, objects, keys with values, whole files, a checkpoint: written and read back" s3 "$cluster" stores kinds s3a://data/out/kinds
larger() {
  timeout 120 "$LARGER" submit --master "$cluster" --conf spark.executor.memory=400m "${store[@]}" "${secret[@]}" --class larger \
    "$LARGER" 400 100 s3a://data/out/larger | grep '^all right' && nothing_unfinished
}
check "400 MB saved as objects, checkpointed, read: executors hold 100 MB at most" larger
mkdir "$dir/store/data/many"
seq 1100 | split -l 1 -a 4 - "$dir/store/data/many/x"
check "more objects than a page of a list has" s3 "$local" stores once s3a://data/many 2 1100
head -c 70000 /dev/urandom >"$dir/store/data/bin"
records() { s3 "$local" stores records "$1" 7 | tee "$dir/records" && grep -qx '10000 records' "$dir/records"; }
check "records of a fixed length" records s3a://data/bin

existing() { refused 'Output directory s3a://data/out/local already exists' word_count "$local" s3a://data/bin out/local; }
check "an output that is there is refused" existing
disturbed() { # STEP MASTER OPTIONS…: its output is that of an undisturbed run
  local step=$1 master=$2
  shift 2
  s3 "$master" "$@" stores "$step" "s3a://data/out/$step" && cmp <(cat "$dir/store/data/out/$step"/part-*) <(seq -f '%.0f and filling so' 2000000) &&
    [ "$(ls -A "$dir/store/data/out/$step" | tr '\n' ' ')" = '_SUCCESS part-00000 part-00001 ' ] && nothing_unfinished
}
check "an attempt that fails in the middle of an upload leaves nothing" disturbed throws "$cluster"
check "so does one whose process is killed" disturbed dies "$cluster"
whole_kinds() { # STEP MASTER OPTIONS…: what it saved is read whole by itself, and nothing else is there
  local step=$1 kind
  s3 "${@:2}" stores "$step" "s3a://data/out/$step" && nothing_unfinished || return 1
  for kind in objects sequence; do
    [ "$(ls -A "$dir/store/data/out/$step/$kind" | tr '\n' ' ')" = '_SUCCESS part-00000 part-00001 ' ] || return 1
  done
}
for step in kinds-throw kinds-die; do check "objects, keys with values: $step" whole_kinds $step "$cluster"; done
# A copy of a task runs on another host.
start_master
start_worker worker1 --cores 1 --memory 1g
start_worker worker2 --cores 1 --memory 1g --host 127.0.0.2
check "a task that runs twice writes once" disturbed lingers "$master_url" "${speculation[@]}"
check "so it does with objects, keys with values" whole_kinds kinds-linger "$master_url" "${speculation[@]}"
# One task after the other: a part that is on its way while its upload is aborted may stay in a store.
job_fails() { refused 'every attempt fails' s3 'local[1]' stores always-throws s3a://data/out/fails && [ ! -e "$dir/store/data/out/fails/_SUCCESS" ] && [ ! -e "$dir/store/data/out/fails/part-00001" ] && nothing_unfinished; }
check "a job that fails leaves no upload and no _SUCCESS" job_fails

# Python's own server knows no ranges, the gateway does: it is a web server too.
python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/store/data" 0 >"$dir/python.out" 2>"$dir/python.log" &
pids+=("$!")
web=http://127.0.0.1:$(wait_line "$dir/python.out" 'port [0-9]+' | grep -oE 'port [0-9]+' | grep -oE '[0-9]+')
check "a web server without ranges: every line once" submit "$local" stores once "$web/numbers.txt" 5 200000
check "its compressed file" submit "$local" wordcount "$web/book/2025/m-2.txt.gz" "file:$dir/gz-counts"
gz_counts() { cmp <(LC_ALL=C sort "$dir"/gz-counts/part-*) <(counted "$book/2025/m-2.txt.gz"); }
check "holds what it should" gz_counts
check "its records of a fixed length" records "$web/bin"
# The gateway keeps a bucket's policy so.
public() {
  python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.policy", b"""{"Version": "2012-10-17", "Statement": [{"Effect": "Allow",
    "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::data/*"}]}""")' "$dir/store/data" &&
    curl -sf --noproxy '*' "$endpoint/data/bin" | cmp - "$dir/store/data/bin"
}
check "the gateway lets everybody read" public
ranged() { submit "$cluster" stores once "$endpoint/data/numbers.txt?x=*" 12 200000 | grep -x '12 partitions'; }
check "a web server with ranges: 12 of them, every line once" ranged
check "no pattern for a web server" refused 'web servers cannot be searched' submit "$local" wordcount "$web/*.txt"
check "nothing there" refused "Input path does not exist: $web/none; the server answered status 404" submit "$local" wordcount "$web/none"
check "no output to a web server" refused "Cannot save to $web/out: web servers are only read" submit "$local" wordcount "$web/bin" "$web/out"

# The same store over TLS.
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key" -out "$dir/crt" -subj /CN=store -addext subjectAltName=IP:127.0.0.1 -days 1 2>/dev/null
plain=$endpoint
check "the S3 server by https" start_gateway https --cert "$dir/crt" --key "$dir/key"
by_tls() { SSL_CERT_FILE=$dir/crt s3 "$1" --conf "spark.hadoop.fs.s3a.endpoint=$endpoint" wordcount s3a://data/book/2024 s3a://data/out/tls && counts out/tls "$book"/2024/m-*; }
check "word count from the store to the store by https, with executors" by_tls "$cluster"
untrusted() { refused "$1" s3 "$local" --conf "spark.hadoop.fs.s3a.endpoint=$endpoint" wordcount s3a://data/book/2024 s3a://data/out/untrusted; }
check "a certificate that nobody vouches for" untrusted 'is not trusted'
endpoint=$plain

check "a wrong secret, in the store's words" refused ': HTTP 403 SignatureDoesNotMatch: ' \
  submit "$local" "${store[@]}" --conf spark.hadoop.fs.s3a.secret.key=wrong wordcount s3a://data/numbers.txt
check "no credentials" refused 'no credentials: set spark.hadoop.fs.s3a.access.key' \
  submit "$local" --conf "spark.hadoop.fs.s3a.endpoint=$endpoint" wordcount s3a://data/numbers.txt
check "no such bucket" refused 'HTTP 404 NoSuchBucket' s3 "$local" wordcount 's3a://none/x*'
check "no bucket to write to" refused 'HTTP 404 NoSuchBucket' s3 "$local" wordcount s3a://data/numbers.txt s3a://none/out
check "no such object" refused 'Input path does not exist: s3a://data/none; check bucket and key' s3 "$local" wordcount s3a://data/none
check "a pattern that nothing matches" refused 'Input Pattern s3a://data/none* matches 0 files' s3 "$local" wordcount 's3a://data/none*'
check "no store at that address" refused ': no connection' \
  submit "$local" --conf spark.hadoop.fs.s3a.endpoint=http://127.0.0.1:9 --conf spark.hadoop.fs.s3a.access.key=K "${secret[@]}" wordcount s3a://data/x
unseen() {
  s3 "$cluster" --conf spark.logConf=true --conf spark.log.level=INFO stores once s3a://data/numbers.txt 2 200000 >"$dir/log" 2>&1 &&
    grep -qF 'secret.key=*********(redacted)' "$dir/log" && ! grep -rF hidden-word "$dir/log" "$dir/work"
}
check "no log shows the secret" unseen
exit $failed
