"""What is measured of subjects before anything is done to them."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "subject",
    higher={"share": "accuracy recall", "": "auc class_auc"},
    neither={"share": "degenerate majority_rate", "bits": "prediction_entropy", "": "spearman", "p": "trend_p"},
)
