"""What tests of independence can measure."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "overfitting",
    higher={"": "p_value"},
    lower={
        "": "adversarial_error error gap minimum_gap risk samples_needed",
        "share": "attackable rejected rejected_basic",
    },
    neither={
        "": "counts_from density estimate h_adversarial h_original level look_up look_ups seed_gap seed_p_value",
        "share": "error_by_offset seed_error",
        "passes per image": "passes",
    },
)
