"""What diagnostics can measure."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics("diagnostics", higher={"share": "knn_agreement"}, neither={"per image": "labels_named pairs_named"})
