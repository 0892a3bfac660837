"""What corruptions can measure."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "corruption",
    higher={"share": "accuracy"},
    lower={"share": "flip_probability", "ratio": "relative_flip_probability error relative_error"},
)
