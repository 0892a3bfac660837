"""What agreement measures: of all annotators together, of each pair of them, and of each with gold."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics("annotators", higher={"α": "alpha", "share": "with_gold"}, neither={"share": "labelled"})
