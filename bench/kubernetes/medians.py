"""medians.py PREFIX: of lines of name=value on stdin, the median of each name as a BENCH line."""
import statistics
import sys

table = {}
for line in sys.stdin:
    for word in line.split():
        name, value = word.split("=")
        table.setdefault(name, []).append(float(value))
for name, values in table.items():
    unit = "ms" if name.endswith("_ms") else "MB" if name.endswith("_mb") else "s"
    print(f"BENCH {sys.argv[1]}_{name} {statistics.median(values):.3f} {unit} ({min(values):.3f} to {max(values):.3f}, {len(values)} times)")
