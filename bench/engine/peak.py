# peak.py PROGRAM ARGUMENTS…: runs it, then prints `MB N`: the most memory that one of its processes had.
import resource
import subprocess
import sys

code = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL).returncode
print("MB", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, flush=True)
sys.exit(code)
