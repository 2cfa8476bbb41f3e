#!/bin/bash
# The programs of examples/, pi and pagerank in local and local-cluster mode, each against an independent computation by Python or awk.
# word_count and inverted_index have tests of their own: readme_test.sh, outside_app_test.sh.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
tinderbox=$(realpath "${TINDERBOX:-build/tinderbox}")
examples=$(realpath "${EXAMPLES:-build/examples}") page_ranks=$(realpath tests/scripts/page_ranks.awk)
t=$(mktemp -d "${TMPDIR:-/tmp}/tinderbox-examples-XXXXXX")
failed=0
trap '[ $failed != 0 ] || rm -rf "$t"' EXIT
cd "$t" || exit 1
export LC_ALL=C

# run FILE CLASS ARGUMENTS…: in the mode of this round.
run() { timeout 60 "$tinderbox" submit --master "$mode" --class "$2" "$examples/$1" "${@:3}" 2>"$t/log"; }
# built_in APPLICATION ARGUMENTS…: one of tinderbox's own.
built_in() { timeout 60 "$tinderbox" run-example --master "$mode" "$@" 2>"$t/log"; }
# same NAME: what the example printed (got) is what Python says (want), numbers to nine digits.
same() {
  local verdict=ok
  python3 - >"$t/check.log" 2>&1 <<'END' || verdict=FAILED failed=1
import math
got, want = (open(f).read().split() for f in ("got", "want"))
def alike(a, b):
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-5, abs_tol=1e-9)
    except ValueError:
        return a == b
assert want, "nothing is wanted"
assert len(got) == len(want), f"{len(got)} words instead of {len(want)}"
for g, w in zip(got, want):
    assert alike(g, w), f"{g} instead of {w}"
END
  echo "$verdict - $1, $mode"
  [ $verdict = ok ] || cat "$t/check.log" "$t/log"
}

python3 - <<'END'
import math, random
random.seed(7)
gauss = random.gauss
with open("points", "w") as f:
    for i in range(3000):
        x, y = [(0, 0), (4, 3), (-5, 2)][i % 3]
        print("%.6f %.6f" % (gauss(x, 1.5), gauss(y, 1.5)), file=f)
with open("labelled", "w") as f:
    for i in range(2000):
        x, y = gauss(0, 1), gauss(0, 1)
        print(int(random.random() < 1 / (1 + math.exp(-(0.5 + 2 * x - y)))), "%.6f %.6f" % (x, y), file=f)
with open("edges", "w") as f:
    for i in range(400):
        print(random.randrange(600), random.randrange(600), file=f)
    for i in range(1000, 1030):  # a long chain
        print(i + 1, i, file=f)
with open("web.log", "w") as f:
    for i in range(5000):
        if i % 97 == 0:
            print("a line of another kind", i, file=f)
        size = random.choice(["-", str(random.randrange(100000))])
        print('10.0.0.%d - - [10/Oct/2000:13:55:36 -0700] "GET /page%d HTTP/1.0" %d %s'
              % (random.randrange(20), random.randrange(30), random.choice([200, 200, 404, 500]), size), file=f)
END

for mode in 'local[2]' 'local-cluster[2,1,1024]'; do
  run k_means k_means points 3 >got
  python3 - >want <<'END'
points = [tuple(map(float, line.split())) for line in open("points")]
centres = points[:3]
while True:
    parts = [[] for _ in centres]
    for p in points:
        distances = [sum((a - b) ** 2 for a, b in zip(c, p)) for c in centres]
        parts[distances.index(min(distances))].append(p)
    moved = [tuple(sum(x) / len(part) for x in zip(*part)) for part in parts]
    if moved == centres:
        break
    centres = moved
for c in centres:
    print(*("%.6g" % x for x in c))
END
  same "k_means: the centres of Lloyd's algorithm"

  run connected_components connected_components edges >got
  python3 - >want <<'END'
root = {}
def find(n):
    while root.setdefault(n, n) != n:
        n = root[n]
    return n
for line in open("edges"):
    a, b = sorted(find(int(n)) for n in line.split())
    root[b] = a
for n in sorted(root):
    print(n, find(n))
END
  same "connected_components: those of union-find"

  run logistic_regression logistic_regression labelled 40 >got
  python3 - >want <<'END'
import math
points = [list(map(float, line.split())) for line in open("labelled")]
weights = [0.0] * 3
for _ in range(40):
    gradient = [0.0] * 3
    for label, x, y in points:
        row = (1, x, y)
        off = label - 1 / (1 + math.exp(-sum(w * r for w, r in zip(weights, row))))
        gradient = [g + off * r for g, r in zip(gradient, row)]
    weights = [w + g / len(points) for w, g in zip(weights, gradient)]
print(*weights, sep="\n")
END
  same "logistic_regression: the weights of a plain loop"

  run log_analysis log_analysis web.log >got
  {
    awk '/HTTP/ { n++; next } { strange++ } END { print n " requests, " strange " strange lines" }' web.log
    awk '/HTTP/ { n[$9]++ } END { for (s in n) print "status " s ": " n[s] }' web.log | sort
    awk '/HTTP/ { n[$1] += $10 } END { for (c in n) print n[c], c }' web.log | sort -k1,1nr -k2 | awk 'NR <= 3 { print "client " $2 ": " $1 " bytes" }'
    awk '/HTTP/ { if ($10 + 0 >= n[$7] + 0) n[$7] = $10 + 0 } END { for (p in n) print p, n[p] }' web.log | sort -k1,1 | awk '{ print "path " $1 ": " $2 }'
  } >want
  same "log_analysis: what awk counts"

  rm -rf generated sorted
  run tera_sort tera_gen 20000 generated
  run tera_sort tera_sort generated sorted
  run tera_sort tera_validate sorted >got
  sort -k1,1 generated/part-* >want.all
  cat sorted/part-* | cmp - want.all && sed 's/ checksum.*//' got >got.words && mv got.words got
  echo "20000 records in order," >want
  same "tera_gen, tera_sort, tera_validate: what sort(1) makes of it"
  run tera_sort tera_validate generated >got
  grep -c "^Error: .* comes after" log >>got
  echo 1 >want
  same "tera_validate: an unsorted file is refused"

  run pipe pipe web.log awk '/ 404 /{ print $1 }' | sort >got
  awk '/ 404 /{ print $1 }' web.log | sort >want
  same "pipe: lines through awk"

  built_in pi 2 >got
  python3 - >want <<'END'
def mixed(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31
step, inside = 0x9E3779B97F4A7C15, 0
for slice in range(2):
    state = mixed(mixed(42 + step) ^ slice)
    def coordinate():
        global state
        state = (state + step) % 2**64
        return (mixed(state) >> 11) / 2**52 - 1
    for _ in range(100000):
        x, y = coordinate(), coordinate()
        inside += x * x + y * y <= 1
print("Pi is roughly %.6f" % (4 * inside / 200000))
END
  same "pi: the points of SplitMix64 in the circle"

  built_in pagerank edges 10 | sort >got
  sort -u edges | awk -f "$page_ranks" | sort >want
  same "pagerank: the ranks of a plain loop"
done
mode='local[2]'
for wrong in "k_means k_means points 0" "k_means k_means points x" "logistic_regression logistic_regression labelled 1.5" "tera_sort tera_gen -1 out"; do
  # shellcheck disable=SC2086  # words
  run $wrong && echo "it ended with 0" >>log
  tail -n 1 log | sed -n "s/^Error: .* takes .*, a positive number, but got '.*'$/refused/p" >got
  echo refused >want
  same "what is no number of anything is refused: $wrong"
done
exit $failed
