#!/usr/bin/env bash
# Builds Kubernetes for the tests with Go, once: ./tests/kubernetes.sh FOLDER
#
# FOLDER/bin then holds a control plane (kube-apiserver, kube-controller-manager, kube-scheduler, kubectl,
# etcd), kwok, which plays nodes, and what a real node needs beside a container runtime (kubelet,
# kube-proxy, coredns, metrics-server); FOLDER/stages how kwok plays nodes and pods. Modules and objects
# lie in FOLDER/go meanwhile, and go.
set -euo pipefail

kubernetes_version=1.36.3
etcd_version=3.6.8
kwok_version=0.8.0
coredns_version=1.14.7
metrics_server_version=0.9.0

# What the folder is called by whoever keeps several: ./tests/kubernetes.sh --name
if [ "${1:-}" = --name ]; then
  echo "kubernetes-$kubernetes_version-etcd-$etcd_version-kwok-$kwok_version-coredns-$coredns_version-metrics-server-$metrics_server_version"
  exit
fi
root=${1:?usage: ./tests/kubernetes.sh FOLDER}
coredns_main="$(cd "$(dirname "$0")" && pwd)/coredns.go"
mkdir -p "$root/modules" "$root/stages"
root=$(cd "$root" && pwd)

export GOPATH="$root/go" GOMODCACHE="$root/go/modules" GOCACHE="$root/go/objects"
export GOFLAGS=-modcacherw GOWORK=off CGO_ENABLED=0

# module NAME PACKAGE@VERSION...: a module of its own whose tools are those packages.
module() {
  local name=$1
  shift
  rm -rf "$root/modules/$name"
  mkdir -p "$root/modules/$name"
  cd "$root/modules/$name"
  go mod init "assay.test/$name"
  # Kubernetes names its own libraries by a version that exists in its repository only.
  [ "$name" != kubernetes ] || replacements
  [ $# -eq 0 ] || go get -tool "$@"
}

replacements() {
  local library
  for library in api apiextensions-apiserver apimachinery apiserver cli-runtime client-go \
    cloud-provider cluster-bootstrap code-generator component-base component-helpers \
    controller-manager cri-api cri-client cri-streaming csi-translation-lib \
    dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator \
    kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics mount-utils \
    pod-security-admission sample-apiserver streaming; do
    go mod edit -replace "k8s.io/$library=k8s.io/$library@v0${kubernetes_version#1}"
  done
}

# build PACKAGE NAME [LINKER FLAGS]: with the same flags for all, so that they share what is compiled.
build() {
  [ ! -x "$root/bin/$2" ] || return 0
  mkdir -p "$root/built"
  go build -trimpath -buildvcs=false -ldflags "-s -w ${3:-}" -o "$root/built/$2" "$1"
  mkdir -p "$root/bin"
  mv "$root/built/$2" "$root/bin/$2"
}

# Without its version, clients cannot read what the server says about itself.
version="k8s.io/component-base/version"
minor=${kubernetes_version#1.}
stamp="-X $version.gitVersion=v$kubernetes_version -X $version.gitMajor=1"
stamp+=" -X $version.gitMinor=${minor%%.*} -X $version.gitTreeState=clean"

module kubernetes k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubectl,kubelet,kube-proxy}@v$kubernetes_version
for name in kube-apiserver kubectl kube-controller-manager kube-scheduler kubelet kube-proxy; do
  build "k8s.io/kubernetes/cmd/$name" "$name" "$stamp"
done

module etcd "go.etcd.io/etcd/server/v3@v$etcd_version"
build go.etcd.io/etcd/server/v3 etcd

module kwok "sigs.k8s.io/kwok/cmd/kwok@v$kwok_version"
build sigs.k8s.io/kwok/cmd/kwok kwok
stages="$GOMODCACHE/sigs.k8s.io/kwok@v$kwok_version/kustomize/stage"
for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease \
  pod/fast/pod-ready pod/fast/pod-complete pod/fast/pod-delete; do
  cp "$stages/$stage.yaml" "$root/stages/"
done

module metrics-server "sigs.k8s.io/metrics-server/cmd/metrics-server@v$metrics_server_version"
build sigs.k8s.io/metrics-server/cmd/metrics-server metrics-server

module coredns
cp "$coredns_main" main.go
go get "github.com/coredns/coredns@v$coredns_version"
go mod tidy
build . coredns

# Only what is complete has this; then the gigabytes that made it go.
touch "$root/complete"
rm -rf "$root/go" "$root/modules" "$root/built"
