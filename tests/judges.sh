#!/usr/bin/env bash
# Fetches who judges manifests for the tests, once: ./tests/judges.sh FOLDER
#
# FOLDER then holds bin/kubeconform, built with Go, checkov/bin/checkov, and in definitions/ the kinds of
# others that the chart and its examples use. Modules and objects lie in FOLDER/go meanwhile, and go.
set -euo pipefail

kubeconform_version=0.8.0
checkov_version=3.3.30

# What the folder is called by whoever keeps several: ./tests/judges.sh --name
if [ "${1:-}" = --name ]; then
  echo "judges-kubeconform-$kubeconform_version-checkov-$checkov_version"
  exit
fi
root=${1:?usage: ./tests/judges.sh FOLDER}
mkdir -p "$root/definitions"
root=$(cd "$root" && pwd)

export GOPATH="$root/go" GOMODCACHE="$root/go/modules" GOCACHE="$root/go/objects" GOBIN="$root/bin"
export GOFLAGS=-modcacherw GOWORK=off CGO_ENABLED=0

go install "github.com/yannh/kubeconform/cmd/kubeconform@v$kubeconform_version"

# definition MODULE VERSION FILE...
definition() {
  local module=$1 version=$2 folder file
  shift 2
  folder=$(go mod download -json "$module@v$version" | jq -r .Dir)
  for file in "$@"; do
    install -m 644 "$folder/$file" "$root/definitions/"
  done
}
definition github.com/prometheus-operator/prometheus-operator 0.85.0 \
  example/prometheus-operator-crd/monitoring.coreos.com_{servicemonitors,prometheusrules}.yaml
definition sigs.k8s.io/gateway-api 1.4.1 \
  config/crd/standard/gateway.networking.k8s.io_{gateways,httproutes}.yaml
definition github.com/cert-manager/cert-manager 1.21.2 deploy/crds/cert-manager.io_certificates.yaml
definition github.com/external-secrets/external-secrets 1.3.2 \
  config/crds/bases/external-secrets.io_externalsecrets.yaml
definition github.com/cloudnative-pg/cloudnative-pg 1.27.0 \
  config/crd/bases/postgresql.cnpg.io_clusters.yaml

rm -rf "$root/checkov"
python3 -m venv "$root/checkov"
"$root/checkov/bin/pip" install --quiet --disable-pip-version-check "checkov==$checkov_version"

touch "$root/complete"
rm -rf "$root/go"
