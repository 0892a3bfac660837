"""What is measured of people's answers."""

from assay.tasks.statistics.metrics import metrics

METRICS = metrics("answers", higher={"share": "given unanimous"}, lower={"share": "overruled"})
