"""What is measured of subjects before anything is done to them."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "subject",
    higher={"share": "accuracy first_tenth last_tenth lessons_right recall taught", "": "auc class_auc"},
    lower={"": "aurc brier ece"},
    neither={
        "share": "degenerate majority_rate",
        "bits": "prediction_entropy",
        "": "auc_gain spearman",
        "p": "permutation_p trend_p",
    },
)
