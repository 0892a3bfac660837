"""What the audit of hardness can measure. Agreement is neither good nor bad; what ranks errors well is of use."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "hardness",
    higher={"": "auc auc_gain"},
    neither={"ρ": "association partial", "p": "association_p partial_p", "samples": "hardest"},
)
