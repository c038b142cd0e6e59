#!/usr/bin/env bash
# Builds Helm for the tests with Go, once: ./tests/helm.sh 3|4 FOLDER
#
# FOLDER/bin then holds helm. Modules and objects lie in FOLDER/go meanwhile, and go.
set -euo pipefail

usage="usage: ./tests/helm.sh 3|4 FOLDER"
# Folders are found by what their names begin with.
case "${1:-}" in
  3) version=3.22.0 name=helm3-3.22.0-2 package=helm.sh/helm/v3 ;;
  4) version=4.3.1 name=helm-4.3.1 package=helm.sh/helm/v4 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac

# What the folder is called by whoever keeps several: ./tests/helm.sh 4 --name
if [ "${2:-}" = --name ]; then
  echo "$name"
  exit
fi
root=${2:?$usage}
mkdir -p "$root/module"
root=$(cd "$root" && pwd)

export GOPATH="$root/go" GOMODCACHE="$root/go/modules" GOCACHE="$root/go/objects"
export GOFLAGS=-modcacherw GOWORK=off CGO_ENABLED=0

# A tool of a module of its own.
cd "$root/module"
rm -f go.mod go.sum
go mod init assay.test/helm
go get -tool "$package/cmd/helm@v$version"
# What is linked into a release: without it, Helm says another version of itself, and Helm 3 another one
# of Kubernetes where it is not told any, which is the one that its client was made for.
linked="-X $package/internal/version.version=v$version"
kubernetes=$(go list -m -f '{{.Version}}' k8s.io/client-go | cut -d. -f2)
for part in pkg/chartutil pkg/lint/rules; do
  linked+=" -X $package/$part.k8sVersionMajor=1 -X $package/$part.k8sVersionMinor=$kubernetes"
done
go build -trimpath -buildvcs=false -ldflags "-s -w $linked" \
  -o "$root/built/helm" "$package/cmd/helm"
rm -rf "$root/bin"
mv "$root/built" "$root/bin"

# Only what is complete has this; then what made it goes.
touch "$root/complete"
rm -rf "$root/go" "$root/module"
