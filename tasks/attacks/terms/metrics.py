"""What attacks on terms can measure of taggers (`ner`) and of scorers (`sts`)."""

from assay.tasks.statistics.metrics import metrics

_GAINS = "gain gain_over_control own_gain own_gain_over_control"

METRICS = (
    *metrics(
        "ner",
        higher={"share": "precision recall recovered", "": f"f1 {_GAINS}"},
        lower={"": "cost drop"},
        neither={"samples": "cut", "p": "drop_p"},
    ),
    *metrics(
        "sts",
        higher={"share": "recovered", "": f"pearson spearman {_GAINS}"},
        lower={"": "cost drop mae"},
        neither={"samples": "cut", "p": "drop_p"},
    ),
)
