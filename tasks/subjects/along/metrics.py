"""What is measured of subjects of images and texts along the order."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics("along", higher={"share": "accuracy", "": "gain"}, neither={"": "auc", "p": "trend_p gain_trend_p"})
