"""What defences and certificates can measure."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "defense",
    higher={"share": "accuracy best_accuracy certified_accuracy gain gain_over_control"},
    lower={"share": "abstains"},
    neither={"p": "between_p control_mcnemar_p mcnemar_p"},
)
