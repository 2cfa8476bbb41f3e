"""compare.py DOCUMENT SPARK OURS: objects that Spark and tinderbox made of the same conf, field by field. A difference must
stand in the table "What differs from Spark's objects" of DOCUMENT, whose first column names object and path (`*` is any
part of a path), with a conf before them where it is of this conf alone; it is an error when one does not, or when a row is
true of nothing. SPARK and OURS are folders, one a conf."""
import fnmatch
import os
import sys

from objects import table

document, spark, ours = sys.argv[1:]


def rows():
    inside = False
    for line in open(document):
        if line.startswith("## "):
            inside = line.startswith("## What differs from Spark's objects")
        cells = [c.strip() for c in line.split("|")]
        if inside and len(cells) > 4:
            yield from (quoted for quoted in cells[1].split("`")[1::2] if ": " in quoted)


def texts(folder):
    return [open(os.path.join(folder, name)).read() for name in sorted(os.listdir(folder)) if name.endswith(".json")]


intended = {pattern: 0 for pattern in rows()}
confs = sorted(os.listdir(spark))


def matches(conf, field, pattern):
    first, _, rest = pattern.partition(": ")
    if ": " in rest:
        if not fnmatch.fnmatchcase(conf, first):
            return False
        pattern = rest
    return fnmatch.fnmatchcase(field, pattern.replace("[", "[[]"))


wrong = fields = 0
kinds = set()
for conf in confs:
    theirs, mine = table(texts(os.path.join(spark, conf))), table(texts(os.path.join(ours, conf)))
    kinds |= theirs.keys() & mine.keys()
    for who in sorted(theirs.keys() | mine.keys()):
        a, b = theirs.get(who, {}), mine.get(who, {})
        for path in sorted(a.keys() | b.keys()):
            fields += 1
            if a.get(path) == b.get(path):
                continue
            field = f"{who}: {path}"
            found = [p for p in intended if matches(conf, field, p)]
            for p in found:
                intended[p] += 1
            if not found:
                wrong += 1
                print(f"{conf}: {field}: Spark {a.get(path)!r}, tinderbox {b.get(path)!r}")
for pattern, times in intended.items():
    if times == 0:
        wrong += 1
        print(f"listed, but no difference: {pattern}")
print(f"{fields} fields of {', '.join(sorted(kinds))} compared, {sum(intended.values())} differences intended, {wrong} wrong")
print("FAILED" if wrong else "ok", "- objects differ from Spark's only as the document says")
sys.exit(wrong != 0)
