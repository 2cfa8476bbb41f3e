#!/bin/bash
# Builds the node's program into $1: five minutes the first time, then Go's cache has it. Versions are Kubernetes' own
# choice, but for that of Kubernetes.
set -euo pipefail
kubernetes=1.34.4
helm=3.19.4  # of the same Kubernetes
out=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

go=$("$here/../../scripts/go.sh")
cp "$here"/*.go "$work"
cd "$work"
{
  printf 'module node\ngo 1.24.0\nrequire k8s.io/kubernetes v%s\nrequire helm.sh/helm/v3 v%s\n' "$kubernetes" "$helm"
  # Kubernetes names its own parts by v0.0.0.
  for part in api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap \
    code-generator component-base component-helpers controller-manager cri-api cri-client csi-translation-lib \
    dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy \
    kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver sample-cli-plugin \
    sample-controller; do
    echo "replace k8s.io/$part => k8s.io/$part v0${kubernetes#1}"
  done
} >go.mod
export GOFLAGS=-buildvcs=false GOTOOLCHAIN=local CGO_ENABLED=0
"$go" mod tidy
"$go" build -trimpath -ldflags '-s -w' -o "$out.new" .
mv "$out.new" "$out"
