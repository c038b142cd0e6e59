#!/usr/bin/env bash
# Builds Helm for the tests with Go, once: ./tests/helm.sh FOLDER
#
# FOLDER/bin then holds helm. Modules and objects lie in FOLDER/go meanwhile, and go.
set -euo pipefail

helm_version=4.3.1

# What the folder is called by whoever keeps several: ./tests/helm.sh --name
if [ "${1:-}" = --name ]; then
  echo "helm-$helm_version"
  exit
fi
root=${1:?usage: ./tests/helm.sh FOLDER}
mkdir -p "$root/module"
root=$(cd "$root" && pwd)

export GOPATH="$root/go" GOMODCACHE="$root/go/modules" GOCACHE="$root/go/objects"
export GOFLAGS=-modcacherw GOWORK=off CGO_ENABLED=0

# A tool of a module of its own. Without the linked version, Helm says another one of itself.
package=helm.sh/helm/v4
cd "$root/module"
rm -f go.mod go.sum
go mod init assay.test/helm
go get -tool "$package/cmd/helm@v$helm_version"
go build -trimpath -buildvcs=false \
  -ldflags "-s -w -X $package/internal/version.version=v$helm_version" \
  -o "$root/built/helm" "$package/cmd/helm"
rm -rf "$root/bin"
mv "$root/built" "$root/bin"

# Only what is complete has this; then what made it goes.
touch "$root/complete"
rm -rf "$root/go" "$root/module"
