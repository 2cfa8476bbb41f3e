"""A pod from the API server on stdin; as a client would send it on stdout."""
import json
import sys

pod = json.load(sys.stdin)
spec = pod["spec"]
tokens = {v["name"] for v in spec.get("volumes", []) if v["name"].startswith("kube-api-access-")}
spec["volumes"] = [v for v in spec.get("volumes", []) if v["name"] not in tokens]
for container in spec["containers"]:
    container["volumeMounts"] = [m for m in container.get("volumeMounts", []) if m["name"] not in tokens]
for name in ("nodeName", "priority", "preemptionPolicy", "enableServiceLinks", "dnsPolicy"):
    spec.pop(name, None)
spec["tolerations"] = [t for t in spec["tolerations"] if not t.get("key", "").startswith("node.kubernetes.io/")]
metadata = {k: pod["metadata"][k] for k in ("name", "namespace", "labels", "annotations") if k in pod["metadata"]}
json.dump({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, sys.stdout)
