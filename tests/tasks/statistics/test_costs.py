"""What errors cost where a miss of one class costs more than one of another."""

import numpy as np
import pytest

from assay.infra.errors import InputError
from assay.tasks.statistics.class_scores import class_counts, cost_findings
from assay.tasks.statistics.classification_findings import About, recall_findings

CLASSES = ["benign", "malignant"]


def recalls(found: int, benign: int = 140) -> list:
    """Of 144 benign samples and 36 malignant ones so many are found."""
    truth = np.repeat([0, 1], [144, 36])
    answers = np.concatenate([np.arange(144) >= benign, np.arange(36) < found]).astype(np.int64)
    return recall_findings(About("subject", "clean", subject="net"), class_counts(answers, truth, 2), CLASSES)


def test_the_expected_cost_is_that_of_every_error_over_all_samples() -> None:
    cost, constant = cost_findings(recalls(17), {"malignant": 10})
    assert cost.value == pytest.approx((4 + 10 * 19) / 180)
    assert cost.low < cost.value < cost.high
    assert (constant.value, constant.verdict) == (pytest.approx(144 / 180), "malignant")
    assert (cost.metric, cost.of, cost.group, cost.subject, cost.n) == (
        "subject.expected_cost",
        "clean",
        "",
        "net",
        180,
    )


def test_where_all_errors_cost_one_it_is_the_share_of_wrong_answers() -> None:
    cost, constant = cost_findings(recalls(17), {})
    assert cost.value == pytest.approx(1 - (140 + 17) / 180)
    assert (constant.value, constant.verdict) == (pytest.approx(36 / 180), "benign")


def test_a_class_that_is_none_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match="'melanoma', and the classes of the samples are benign, malignant"):
        cost_findings(recalls(17), {"melanoma": 10})


def test_the_expected_cost_is_covered_where_the_dear_class_is_rare() -> None:
    draws, held = np.random.default_rng(0), 0
    for _ in range(300):
        cost, _ = cost_findings(recalls(draws.binomial(36, 0.5), draws.binomial(144, 0.95)), {"malignant": 10})
        held += cost.low <= (144 * 0.05 + 10 * 36 * 0.5) / 180 <= cost.high
    assert 0.92 <= held / 300 <= 0.99
