"""What ordering can measure; accuracy is to fall along the order, so ρ and p are better the lower they are."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "ordering",
    higher={"share": "accuracy accuracy_easiest", "scores": "distinct_scores", "p": "permutation_p_violation"},
    lower={"ρ": "spearman spearman_disjoint spearman_tie_free", "p": "permutation_p", "samples": "largest_tie"},
    neither={"share": "accuracy_hardest"},
)
