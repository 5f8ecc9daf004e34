{{- define "pruning.selector" -}}
app.kubernetes.io/name: pyhudi-pruning
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pruning.labels" -}}
{{ include "pruning.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* Those of the pods: the service and the budget select by the chart's own. */}}
{{- define "pruning.podLabels" -}}
{{- range $name, $value := include "pruning.selector" . | fromYaml }}
{{- if hasKey $.Values.podLabels $name }}
{{- fail (printf "podLabels: the chart itself sets %s, by which it selects the pods; use another label" $name) }}
{{- end }}
{{- end }}
{{- mergeOverwrite (include "pruning.labels" . | fromYaml) .Values.podLabels | toYaml }}
{{- end }}

{{/* podAnnotations replace the chart's own, except the one by which other settings make other pods. */}}
{{- define "pruning.podAnnotations" -}}
{{- $own := dict "prometheus.io/scrape" "true" "prometheus.io/port" (toString .Values.metricsPort) }}
{{- $settings := dict "pyhudi.io/settings" (include "pruning.toml" . | sha256sum | trunc 16) }}
{{- mergeOverwrite $own .Values.podAnnotations $settings | toYaml }}
{{- end }}

{{/* The service would not start, or would not read a secret that a user has named. */}}
{{- define "pruning.checkCallers" -}}
{{- if not (or .Values.callers.certificate .Values.callers.token) }}
{{- fail "callers: certificate and token are both false, so anyone who reaches the service could ask it; set callers.certificate or callers.token to true" }}
{{- end }}
{{- if and .Values.tokenSecret (not .Values.callers.token) }}
{{- fail (printf "tokenSecret: %s has a token, but callers.token is false, so no token would be asked for; set callers.token to true, or tokenSecret to \"\"" .Values.tokenSecret) }}
{{- end }}
{{- end }}

{{/* A root that no pod can see would leave every table unpruned. */}}
{{- define "pruning.checkRoots" -}}
{{- $path := trimSuffix "/" .Values.tables.path }}
{{- range .Values.settings.table_roots }}
{{- if hasPrefix "/" . }}
{{- if not $.Values.tables.claim }}
{{- fail (printf "settings.table_roots: %s is a directory, but tables.claim is empty; name the claim, or the URIs of object stores" .) }}
{{- else if not (hasPrefix (print $path "/") (print . "/")) }}
{{- fail (printf "settings.table_roots: %s is not below tables.path, %s, where tables.claim is mounted" . $.Values.tables.path) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "pruning.toml" -}}
host = "0.0.0.0"
port = {{ .Values.port }}
metrics_address = "0.0.0.0:{{ .Values.metricsPort }}"
tls_certificate = "/run/pyhudi/tls.crt"
tls_key = "/run/pyhudi/tls.key"
{{- if .Values.callers.certificate }}
tls_client_ca = "/run/pyhudi/ca.crt"
{{- end }}
{{- if .Values.callers.token }}
token_file = "/run/pyhudi/token"
{{- end }}
snapshot_dir = "/var/cache/pyhudi"
{{- range $name, $value := .Values.settings }}
{{ $name }} = {{ $value | toJson }}
{{- end }}
{{- end }}
