"""What weak labelling can measure."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics("weak_labels", lower={"share": "undecided", "": "brier ece"})
