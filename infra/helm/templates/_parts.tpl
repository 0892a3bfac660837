{{- define "assay.labels" -}}
app.kubernetes.io/name: assay
{{- end }}

{{- define "assay.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end }}

{{- define "assay.pipelines" -}}
{{ .Values.pipelines | default (.Files.Get "pipelines.yaml") }}
{{- end }}

{{- /* What every pod of ours has: no root, no token, a root file system that cannot be written. */ -}}
{{- define "assay.pod" -}}
automountServiceAccountToken: false
securityContext: {runAsNonRoot: true, runAsUser: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
{{- end }}

{{- define "assay.container" -}}
image: {{ include "assay.image" . }}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end }}

{{- define "assay.mounts" -}}
- {name: certs, mountPath: /certs, readOnly: true}
- {name: scratch, mountPath: /tmp}
- {name: scratch, mountPath: /home/assay, subPath: home}
{{- end }}

{{- define "assay.volumes" -}}
- {name: certs, secret: {secretName: {{ .Values.certificates }}, defaultMode: 0440}}
- {name: scratch, emptyDir: {}}
{{- end }}
