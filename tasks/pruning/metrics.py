"""What pruning can measure."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics("pruning", neither={"functions": "constant kept"})
