{{/* Peers and rules of network policies. */}}

{{/* Networks as peers, as JSON: a list of CIDRs. */}}
{{- define "assay.networkPeers" -}}
{{- $peers := list -}}
{{- range . -}}
{{- $peers = append $peers (dict "ipBlock" (dict "cidr" .)) -}}
{{- end -}}
{{- toJson $peers -}}
{{- end }}

{{/* The pods of namespaces as peers, as JSON: a list of names. */}}
{{- define "assay.namespacePeers" -}}
{{- $peers := list -}}
{{- range . -}}
{{- $labels := dict "kubernetes.io/metadata.name" . -}}
{{- $peers = append $peers (dict "namespaceSelector" (dict "matchLabels" $labels)) -}}
{{- end -}}
{{- toJson $peers -}}
{{- end }}

{{/* Ports of TCP, as JSON: a list of numbers. */}}
{{- define "assay.tcpPorts" -}}
{{- $ports := list -}}
{{- range . -}}
{{- $ports = append $ports (dict "protocol" "TCP" "port" (int .)) -}}
{{- end -}}
{{- toJson $ports -}}
{{- end }}

{{/* The networks of hosts of which only the name is known, as JSON of peers. Public addresses are those of the
operator's policies. */}}
{{- define "assay.allowedNetworks" -}}
{{- $peers := list -}}
{{- if .Values.networkPolicy.publicEgress -}}
{{- $v4 := list "0.0.0.0/8" "10.0.0.0/8" "100.64.0.0/10" "127.0.0.0/8" "169.254.0.0/16" "172.16.0.0/12" "192.168.0.0/16" -}}
{{- $v6 := list "::1/128" "fc00::/7" "fe80::/10" -}}
{{- $peers = append $peers (dict "ipBlock" (dict "cidr" "0.0.0.0/0" "except" $v4)) -}}
{{- $peers = append $peers (dict "ipBlock" (dict "cidr" "::/0" "except" $v6)) -}}
{{- end -}}
{{- concat $peers (include "assay.networkPeers" .Values.networkPolicy.allowedPrivateCidrs | fromJsonArray) | toJson -}}
{{- end }}

{{/* The peers of a host in a URL, as JSON: {root, host}. An address is that address alone, and the name of a Service
the pods of its namespace; a name that may be either has the peers of both. */}}
{{- define "assay.hostPeers" -}}
{{- $name := .host | lower | trimSuffix "." -}}
{{- $private := include "assay.networkPeers" .root.Values.networkPolicy.allowedPrivateCidrs | fromJsonArray -}}
{{- $networks := include "assay.allowedNetworks" .root | fromJsonArray -}}
{{- $service := "^([^.]+[.])+([^.]+)[.]svc([.].*)?$" -}}
{{- if contains ":" $name -}}
{{- include "assay.networkPeers" (list (printf "%s/128" $name)) -}}
{{- else if regexMatch "^[0-9.]+$" $name -}}
{{- include "assay.networkPeers" (list (printf "%s/32" $name)) -}}
{{- else if not (contains "." $name) -}}
{{- prepend $private (dict "podSelector" dict) | toJson -}}
{{- else if regexMatch $service $name -}}
{{- $namespace := regexReplaceAll $service $name "${2}" -}}
{{- $others := ternary $private $networks (regexMatch "[.]svc([.]cluster[.]local)?$" $name) -}}
{{- concat (include "assay.namespacePeers" (list $namespace) | fromJsonArray) $others | toJson -}}
{{- else if regexMatch "^[^.]+[.][^.]+$" $name -}}
{{- $namespace := splitList "." $name | last -}}
{{- concat (include "assay.namespacePeers" (list $namespace) | fromJsonArray) $networks | toJson -}}
{{- else -}}
{{- toJson $networks -}}
{{- end -}}
{{- end }}

{{/* The rule for the API server, as JSON. It is no pod: no selector matches it. */}}
{{- define "assay.apiServerRule" -}}
{{- /* A release of an earlier chart whose values are reused has none of these. */ -}}
{{- $settings := .Values.networkPolicy.apiServer | default dict -}}
{{- $rule := dict "ports" (include "assay.tcpPorts" ($settings.ports | default (list 443 6443)) | fromJsonArray) -}}
{{- with $settings.cidrs -}}
{{- $_ := set $rule "to" (include "assay.networkPeers" . | fromJsonArray) -}}
{{- end -}}
{{- toJson $rule -}}
{{- end }}

{{/* The rule for the operator's database, as JSON. */}}
{{- define "assay.databaseRule" -}}
{{- $settings := .Values.networkPolicy.database | default dict -}}
{{- $networks := include "assay.networkPeers" ($settings.cidrs | default list) | fromJsonArray -}}
{{- $peers := concat $networks (include "assay.namespacePeers" ($settings.namespaces | default list) | fromJsonArray) -}}
{{- if eq .Values.mode "evaluation" -}}
{{- $labels := include "assay.selector" (dict "root" . "component" "postgresql") | fromYaml -}}
{{- $peers = list (dict "podSelector" (dict "matchLabels" $labels)) -}}
{{- else if not $peers -}}
{{- $private := include "assay.networkPeers" .Values.networkPolicy.allowedPrivateCidrs | fromJsonArray -}}
{{- $peers = prepend $private (dict "namespaceSelector" dict) -}}
{{- end -}}
{{- dict "to" $peers "ports" (include "assay.tcpPorts" ($settings.ports | default (list 5432)) | fromJsonArray) | toJson -}}
{{- end }}

{{/* The rules for the collector, as JSON: none without one. */}}
{{- define "assay.collectorRules" -}}
{{- $rules := list -}}
{{- with .Values.telemetry.otlpEndpoint -}}
{{- $url := urlParse . -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- $peers := include "assay.hostPeers" (dict "root" $ "host" $url.hostname) | fromJsonArray -}}
{{- /* A rule without peers would allow all. */ -}}
{{- if $peers -}}
{{- $rules = append $rules (dict "to" $peers "ports" (include "assay.tcpPorts" (list $port) | fromJsonArray)) -}}
{{- end -}}
{{- end -}}
{{- toJson $rules -}}
{{- end }}
