"""What the trust oracle can measure."""

from assay.tasks.statistics.metrics import Metric, metrics

SPREAD = "_spread"
"""What stands behind the name of a trust finding that says how far the repeats lie apart."""

_MEASURED = metrics(
    "trust",
    higher={
        "share": "accuracy balance explanation_precision f1 g_mean precision sensitivity specificity trustworthy",
        "": "accuracy_difference confidence_auc g_mean_difference",
    },
    lower={"share": "faint out_of_scope undecided untrustworthy untrustworthy_corrected"},
    neither={"": "keyword_seconds label_seconds theta_relate", "share": "truth"},
)
METRICS = (*_MEASURED, *(Metric(f"{one.name}{SPREAD}", one.unit, "lower") for one in _MEASURED))
