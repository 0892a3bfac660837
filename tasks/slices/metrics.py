"""What slices measure: how right subjects are on each, on the worst of them, and on those that a search finds."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics(
    "slices", higher={"share": "accuracy confirmed_accuracy rest_accuracy worst_accuracy"}, neither={"p": "worse_p"}
)
