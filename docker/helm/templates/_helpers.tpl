{{- define "pruning.selector" -}}
app.kubernetes.io/name: pyhudi-pruning
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pruning.labels" -}}
{{ include "pruning.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
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
