"""Kubernetes objects as flat tables of path → value, with everything that differs from one submission to the next made
the same."""
import json
import re

DROPPED = {"creationTimestamp", "resourceVersion", "uid", "generation", "managedFields", "status", "clusterIP", "clusterIPs"}
SAME = [
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"spark-[0-9a-f]{32}"), "APP"),
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
        for i, one in enumerate(value):
            name = i
            if isinstance(one, dict):
                name = one.get("mountPath") or one.get("name") or one.get("resourceName") or one.get("key") or one.get("uid") or i
            flat(one, f"{path}[{same(str(name))}]", out)
        if not value:
            out[path] = "[]"
    else:
        out[path] = same(str(value))


def table(texts):
    """{kind/name: {path: value}} of the items of lists as kubectl prints them. Names that only number are the same."""
    found = {}
    for text in texts:
        for item in json.loads(text)["items"]:
            name = same(item["metadata"]["name"])
            if item["kind"] == "ConfigMap" and name == "kube-root-ca.crt":
                continue
            who = item["kind"]
            if who == "ConfigMap":
                who += next(" " + part for part in ("podspec", "drv", "exec") if part in name)
            if who == "Pod":
                who = item["metadata"]["labels"]["spark-role"] + " Pod"
            out = {}
            flat(item, "", out)
            found.setdefault(who, out)
    return found
