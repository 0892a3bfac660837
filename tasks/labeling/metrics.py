"""What labelling can measure."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "labeling",
    higher={"share": "accuracy coverage"},
    lower={"share": "conflicts faults"},
    neither={"share": "overlaps", "": "functions"},
)
