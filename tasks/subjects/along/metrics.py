"""What is measured of subjects of images and texts along the order."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics("along", higher={"share": "accuracy"}, neither={"": "auc", "p": "trend_p"})
