"""Kubernetes objects as flat tables of path → value, with everything that differs from one submission to the next made
the same."""
import json
import re

DROPPED = {"creationTimestamp", "resourceVersion", "uid", "generation", "managedFields", "status", "clusterIP", "clusterIPs", "pod-template-hash"}
OF_NAMESPACE = {"kube-root-ca.crt", "tinderbox-applications"}
SAME = [
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"spark-[0-9a-f]{32}"), "APP"),
    (re.compile(r"(spark-[ds]-APP-\d-)[0-9a-z]{6,}"), r"\1HASH"),
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])"), "ID"),
    (re.compile(r"kube-api-access-\w{5}"), "kube-api-access"),
    (re.compile(r"\b1[0-9]{12}\b"), "MILLISECONDS"),
    (re.compile(r"@10\.99\.0\.1:[0-9]+"), "@DRIVER"),
]


def same(text):
    for pattern, name in SAME:
        text = pattern.sub(name, text)
    return text


def properties(text):
    pairs = {}
    for line in text.splitlines():
        if line and line[0] not in "#!":
            key, _, value = line.partition("=")
            pairs[key] = value.replace("\\:", ":").replace("\\=", "=").replace("\\!", "!").replace("\\#", "#")
    return pairs


def free(name, taken):
    """name, or name with a number when it is taken already."""
    found, times = name, 1
    while found in taken:
        times += 1
        found = f"{name} {times}"
    taken.add(found)
    return found


def flat(value, path, out):
    if isinstance(value, dict):
        for key in value:
            if key in DROPPED:
                continue
            part = value[key]
            if key == "spark.properties":
                part = properties(part)
            flat(part, f"{path}.{key}" if path else key, out)
        if not value:
            out[path] = "{}"
    elif isinstance(value, list):
        seen = set()
        for i, one in enumerate(value):
            name = i
            if isinstance(one, dict):
                name = one.get("mountPath") or one.get("name") or one.get("resourceName") or one.get("key") or one.get("uid") or i
            flat(one, free(f"{path}[{same(str(name))}]", seen), out)
        if not value:
            out[path] = "[]"
    else:
        out[path] = same(str(value))


def table(texts):
    """{kind: {path: value}} of the items of lists as kubectl prints them; a second object of a kind has a number."""
    found = {}
    seen = set()
    for text in texts:
        for item in json.loads(text)["items"]:
            name = same(item["metadata"]["name"])
            if name in OF_NAMESPACE:
                continue
            who = item["kind"]
            if who == "ConfigMap":
                who += next(" " + part for part in ("podspec", "drv", "exec") if part in name)
            if who == "Pod":
                who = item["metadata"]["labels"]["spark-role"] + " Pod"
            if who == "PersistentVolumeClaim":
                who = ("driver " if "-driver-" in name else "executor ") + who
            out = {}
            flat(item, "", out)
            found[free(who, seen)] = out
    return found
