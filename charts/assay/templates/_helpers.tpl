{{/* Shared names and values. */}}

{{/* The name of the API, with which the names of all objects begin: that of the release, if no value says otherwise. */}}
{{- define "assay.fullname" -}}
{{- $name := .Values.nameOverride | default .Release.Name -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name -}}
{{- end -}}
{{- end }}

{{/* The full name of an image: {root, image}. */}}
{{- define "assay.image" -}}
{{- $registry := .image.registry | default .root.Values.imageRegistry -}}
{{- if $registry }}{{ trimSuffix "/" $registry }}/{{ end }}{{ .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The name of the installation in the cluster. */}}
{{- define "assay.instance" -}}
{{- .Values.instance | default .Release.Name -}}
{{- end }}

{{/* The labels that select the pods of a component: {root, component}. They never change. */}}
{{- define "assay.selector" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The labels of the pods of a component: {root, component}. Without the version: a chart upgrade must not
restart a database without persistent storage. */}}
{{- define "assay.podLabels" -}}
{{ include "assay.selector" . }}
app.kubernetes.io/part-of: assay
assay.dev/mode: {{ .root.Values.mode }}
{{- end }}

{{/* The labels of the objects of a component: {root, component}. */}}
{{- define "assay.labels" -}}
{{ include "assay.podLabels" . }}
assay.dev/instance: {{ include "assay.instance" .root }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of an object: {root, component, name}. */}}
{{- define "assay.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "assay.labels" . | nindent 2 }}
{{- end }}

{{/* The Secrets with the URLs of database and cache, as YAML of {name, key}. */}}
{{- define "assay.databaseSecret" -}}
{{- if eq .Values.mode "evaluation" -}}
{name: {{ include "assay.fullname" . }}-evaluation, key: database-url}
{{- else -}}
{{- .Values.database.secret | toJson -}}
{{- end -}}
{{- end }}

{{- define "assay.operatorSecret" -}}
{{- if and (eq .Values.mode "production") .Values.database.operatorSecret.name -}}
{{- .Values.database.operatorSecret | toJson -}}
{{- else -}}
{{- include "assay.databaseSecret" . -}}
{{- end -}}
{{- end }}

{{- define "assay.ingestSecret" -}}
{{- if and (eq .Values.mode "production") .Values.database.ingestSecret.name -}}
{{- .Values.database.ingestSecret | toJson -}}
{{- else -}}
{{- include "assay.databaseSecret" . -}}
{{- end -}}
{{- end }}

{{- define "assay.cacheSecret" -}}
{{- if eq .Values.mode "evaluation" -}}
{name: {{ include "assay.fullname" . }}-evaluation, key: redis-url}
{{- else if .Values.cache.secret.name -}}
{{- .Values.cache.secret | toJson -}}
{{- end -}}
{{- end }}

{{/* The binding of a role to the operator's account: {root, kind, metadata}. The role has the same name. */}}
{{- define "assay.operatorBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  {{- toYaml .metadata | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .metadata.name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "assay.fullname" .root }}-operator
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{/* The namespaces that the operator watches, its own first, separated by commas. */}}
{{- define "assay.watchedNamespaces" -}}
{{- prepend .Values.operator.namespaces .Release.Namespace | uniq | join "," -}}
{{- end }}

{{/* The Secret with the token of chain servers, as YAML of {name, key}. */}}
{{- define "assay.chainTokenSecret" -}}
{{- if .Values.chains.tokenSecret.name -}}
{{- .Values.chains.tokenSecret | toJson -}}
{{- else -}}
{name: {{ include "assay.fullname" . }}-chain-token, key: token}
{{- end -}}
{{- end }}

{{/* The texts of the evaluation's Secret, by key, as JSON: {root, password}. */}}
{{- define "assay.evaluationTexts" -}}
{{- $name := (include "assay.fullname" .root) -}}
{{- toJson (dict
  "password" .password
  "database-url" (printf "postgres://assay:%s@%s-postgresql:5432/assay" .password $name)
  "redis-url" (printf "redis://default:%s@%s-redis:6379" .password $name)
  "redis.conf" (printf "requirepass %s\n%s" .password (.root.Files.Get "files/redis.conf"))
) -}}
{{- end }}

{{/* The texts of the Secrets that are generated in the cluster, by Secret and key, as JSON. `{random}` stands for the
random text of a Secret. */}}
{{- define "assay.generatedTexts" -}}
{{- $texts := dict -}}
{{- if not .Values.chains.tokenSecret.name -}}
{{- $_ := set $texts (printf "%s-chain-token" (include "assay.fullname" .)) (dict "token" "{random}") -}}
{{- end -}}
{{- if and (eq .Values.mode "evaluation") (not .Values.evaluation.password) -}}
{{- $evaluation := include "assay.evaluationTexts" (dict "root" . "password" "{random}") | fromJson -}}
{{- $_ := set $texts (printf "%s-evaluation" (include "assay.fullname" .)) $evaluation -}}
{{- end -}}
{{- toJson $texts -}}
{{- end }}

{{/* Proxies and the CA bundle, as YAML of a RiskService's `egress`. */}}
{{- define "assay.egress" -}}
{{- $egress := dict -}}
{{- with .Values.proxy -}}
{{- if .https }}{{ $_ := set $egress "httpsProxy" .https }}{{ end -}}
{{- if .http }}{{ $_ := set $egress "httpProxy" .http }}{{ end -}}
{{- if and .bypass (or .https .http) }}{{ $_ := set $egress "noProxy" .bypass }}{{ end -}}
{{- end -}}
{{- with .Values.caBundle -}}
{{- if .configMap }}{{ $_ := set $egress "caBundle" (dict "configMap" .configMap "key" .key) }}{{ end -}}
{{- if .secret }}{{ $_ := set $egress "caBundle" (dict "secret" .secret "key" .key) }}{{ end -}}
{{- end -}}
{{- toJson $egress -}}
{{- end }}

{{- define "assay.imagePullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "string" . }}{{ . }}{{ else }}{{ .name }}{{ end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The names of the Secrets for pulling images, as JSON. */}}
{{- define "assay.imagePullSecretNames" -}}
{{- $names := list -}}
{{- range .Values.imagePullSecrets -}}
{{- if kindIs "string" . }}{{ $names = append $names . }}{{ else }}{{ $names = append $names .name }}{{ end -}}
{{- end -}}
{{- toJson $names -}}
{{- end }}

{{/* The pull policy of a container, if the values name one. */}}
{{- define "assay.imagePullPolicy" -}}
{{- with .Values.imagePullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{/* The security contexts of every pod and container: no privileges. {user} */}}
{{- define "assay.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .user }}
runAsGroup: {{ .user }}
fsGroup: {{ .user }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "assay.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Checks that two installations share no name, no namespace and no objects. The operator refuses it too. It renders nothing. */}}
{{- define "assay.installation" }}
{{- if .Capabilities.APIVersions.Has "assay.dev/v1alpha1/Installation" }}
{{- $instance := include "assay.instance" . }}
{{- $namespace := .Release.Namespace }}
{{- range (lookup "assay.dev/v1alpha1" "Installation" "" "").items }}
{{- if and (eq .metadata.name $instance) (ne .spec.namespace $namespace) }}
{{- fail (printf "the instance name `%s` belongs to the installation in namespace `%s`: set `instance` to another name; or, if that installation no longer exists, run: kubectl delete installation %s" $instance .spec.namespace $instance) }}
{{- else if and (ne .metadata.name $instance) (eq .spec.namespace $namespace) }}
{{- fail (printf "the namespace `%s` belongs to the instance `%s`: set `instance` to `%s` to continue that installation, or use another namespace; or, if that installation no longer exists, run: kubectl delete installation %s" $namespace .metadata.name .metadata.name .metadata.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
