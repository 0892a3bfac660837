"""What ordering can measure; right labels are to fall along the order, so ρ and p are better the lower they are."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "ordering",
    higher={
        "share": "accuracy accuracy_easiest first_tenth",
        "scores": "distinct_scores",
        "p": "permutation_p_violation",
        "": "auc auc_gain",
    },
    lower={
        "ρ": "spearman spearman_disjoint spearman_tie_free",
        "p": "permutation_p trend_p",
        "samples": "largest_tie",
        "": "aurc",
    },
    neither={"share": "accuracy_hardest accuracy_undecided last_tenth"},
)
