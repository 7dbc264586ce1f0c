{{/* Names are fixed, as with kustomize: two releases in a namespace would share one Lease and one key. */}}

{{- define "dayone.selectorLabels" -}}
app.kubernetes.io/name: dayone
app.kubernetes.io/component: controller
{{- end }}

{{- define "dayone.labels" -}}
app.kubernetes.io/name: dayone
app.kubernetes.io/part-of: metal3
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The values may have one of dayone's own labels, and YAML refuses a key that appears twice. */}}
{{- define "dayone.monitoringLabels" -}}
{{- mergeOverwrite (include "dayone.labels" . | fromYaml) (.Values.monitoring.labels | default dict) | toYaml -}}
{{- end }}

{{- define "dayone.publishUrl" -}}
{{- if .Values.publishUrl -}}
{{ .Values.publishUrl }}
{{- else -}}
{{ ternary "https" "http" (not (empty .Values.tls.secret)) }}://dayone.$(POD_NAMESPACE).svc.cluster.local/
{{- end -}}
{{- end }}

{{/* A value as text. Helm reads numbers as floating-point numbers, and would write 1000000 as 1e+06. */}}
{{- define "dayone.scalar" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{ int64 . }}
{{- else -}}
{{ toString . }}
{{- end -}}
{{- end }}

{{/* The Pods cannot start with more than one source of base images. Settings that the Deployment sets itself would have no effect. */}}
{{- define "dayone.checkValues" -}}
{{- if and .Values.bases.claim .Values.bases.machineOsImages.image -}}
{{- fail "bases.claim and bases.machineOsImages.image exclude each other: set only one of them" -}}
{{- end -}}
{{- if and .Values.bases.fetch (not .Values.bases.claim) -}}
{{- fail "bases.fetch needs bases.claim: the volume that the Job fills" -}}
{{- end -}}
{{- $files := dict -}}
{{- range .Values.bases.fetch -}}
{{- if hasKey $files .file -}}
{{- fail (printf "bases.fetch has the file %s twice, and the Job would keep either of them: give each file its own name" .file) -}}
{{- end -}}
{{- $_ := set $files .file true -}}
{{- end -}}
{{- $own := list "POD_NAME" "POD_NAMESPACE" "IMAGES_PUBLISH_ADDR" "IMAGE_SHARED_DIR" "DEPLOY_ISO" "DEPLOY_INITRD" "DEPLOY_KERNEL" -}}
{{- /* The variables of the Deployment's arguments, which override them. */ -}}
{{- $own = concat $own (list "DAYONE_IMAGES_BIND_ADDR" "DAYONE_IMAGES_PUBLISH_ADDR" "DAYONE_METRICS_ADDR" "DAYONE_CACHE_DIR" "DAYONE_SHUTDOWN_DELAY_SECONDS" "DAYONE_DRAIN_SECONDS") -}}
{{- if .Values.tls.secret -}}
{{- $own = concat $own (list "DAYONE_IMAGES_TLS_CERT_FILE" "DAYONE_IMAGES_TLS_KEY_FILE") -}}
{{- end -}}
{{- if .Values.siteKey.secret -}}
{{- $own = concat $own (list "DAYONE_SITE_CERTIFICATE" "DAYONE_SITE_KEY") -}}
{{- end -}}
{{- if not .Values.clusterWide -}}
{{- $own = append $own "WATCH_NAMESPACE" -}}
{{- end -}}
{{- with (.Values.settings | default dict).DAYONE_LEASE -}}
{{- if ne (toString .) "dayone" -}}
{{- fail (printf "settings.DAYONE_LEASE is %s, and the Role dayone-replicas allows the Pods only the Lease dayone: without it there is no election, and every replica writes. Remove the setting" (toString .)) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .Values.settings -}}
{{- if has $name $own -}}
{{- fail (printf "settings.%s would have no effect, because the Deployment sets it itself: remove it. publishUrl, clusterWide, bases, tls and siteKey set the URL, the namespaces, the base images, TLS and the site's key; shutdownDelaySeconds and drainSeconds set how the Pods stop" $name) -}}
{{- end -}}
{{- /* Helm reads numbers in files of values as floating-point numbers, which are not exact from 2^53 on. */ -}}
{{- if and (kindIs "float64" $value) (or (gt $value 9007199254740991.0) (lt $value -9007199254740991.0)) -}}
{{- fail (printf "settings.%s is a number that Helm does not keep exactly: write it in quotes" $name) -}}
{{- end -}}
{{- end -}}
{{- end }}
