"""What attacks on images and texts can measure, seen from the subject: better is what withstands more."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "attack",
    higher={
        "share": "accuracy accuracy_change modified_share recall transfer worst_accuracy",
        "": "auc class_auc",
        "queries": "queries",
        "steps": "steps",
        "words": "perturbed_words",
    },
    lower={"share": "flip_rate fooling_rate success_rate", "": "aurc brier ece red_flag"},
    neither={
        "": "synonym_auc",
        "share": "degenerate majority_rate skipped success_difference unchanged winner",
        "bits": "prediction_entropy",
        "p": "mcnemar_p",
        "cosine": "limit similarity",
        "of [0, 1]": "distance",
        "L2": "distance_l2",
        "queries": "queries_difference",
        "words": "perturbed_words_difference",
        "replacements": "refused",
    },
)
