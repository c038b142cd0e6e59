#!/usr/bin/env bash
# Builds Helm for the tests with Go, once: ./tests/helm.sh 3|4 FOLDER
#
# FOLDER/bin then holds helm. Modules and objects lie in FOLDER/go meanwhile, and go.
set -euo pipefail

usage="usage: ./tests/helm.sh 3|4 FOLDER"
# Folders are found by what their names begin with.
case "${1:-}" in
  3) version=3.22.0 name=helm3-3.22.0 package=helm.sh/helm/v3 ;;
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

# A tool of a module of its own. Without the linked version, Helm says another one of itself.
cd "$root/module"
rm -f go.mod go.sum
go mod init assay.test/helm
go get -tool "$package/cmd/helm@v$version"
go build -trimpath -buildvcs=false \
  -ldflags "-s -w -X $package/internal/version.version=v$version" \
  -o "$root/built/helm" "$package/cmd/helm"
rm -rf "$root/bin"
mv "$root/built" "$root/bin"

# Only what is complete has this; then what made it goes.
touch "$root/complete"
rm -rf "$root/go" "$root/module"
