"""timed.py REPORT COMMAND…: runs it; REPORT says when it began (s since 1970), its processor time (ms) and memory (MB)."""
import resource
import subprocess
import sys
import time

begin = time.time()
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as report:
    report.write(f"{begin} {1000 * (used.ru_utime + used.ru_stime):.1f} {used.ru_maxrss / 1024:.1f}\n")
sys.exit(code)
