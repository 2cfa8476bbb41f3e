"""phases.py SUBMITTER AUDIT DRIVER_LOG NAMESPACE: prints name=value of each phase of one application's start, from the
submitter's report, the API server's audit log and the driver's log with the kubelet's time stamps."""
import json
import re
import sys
from datetime import datetime

submitter, audit, driver_log, namespace = sys.argv[1:]


def seconds(stamp):
    stamp = re.sub(r"(\.\d{6})\d*", r"\1", stamp).replace("Z", "+00:00")
    return datetime.fromisoformat(stamp).timestamp()


begin, cpu, memory = map(float, open(submitter).read().split())
driver = executor = None
for line in open(audit):
    if namespace not in line or '"verb":"create"' not in line:
        continue
    entry = json.loads(line)
    target = entry.get("objectRef", {})
    if target.get("resource") != "pods" or target.get("namespace") != namespace or target.get("subresource"):
        continue
    at = seconds(entry["stageTimestamp"])
    if at < begin:
        continue
    if entry["user"]["username"].endswith(":spark"):
        executor = executor or at
    else:
        driver = driver or at
lines = [line.split(" ", 1) for line in open(driver_log)]


def first(what):
    return next(seconds(stamp) for stamp, text in lines if what in text)


stages = [
    ("pod_created", driver),
    ("driver_speaks", seconds(lines[0][0])),
    ("executor_pod_created", executor),
    ("executor_registered", first("Ready for scheduling")),
    ("result", first("Pi is roughly")),
]
words, last = [], begin
for name, at in stages:
    words.append(f"{name}={at - last:.3f}")
    last = at
print(*words, f"total={last - begin:.3f}", f"submitter_cpu_ms={cpu}", f"submitter_mb={memory}")
