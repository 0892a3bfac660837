"""What corruptions can measure."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "corruption",
    higher={"share": "accuracy worst_accuracy"},
    lower={
        "share": "flip_probability worst_flip_probability",
        "ratio": "relative_flip_probability error relative_error",
    },
)
