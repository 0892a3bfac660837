"""What the report shows of hardness."""

import pyarrow as pa

from assay.tasks.hardness.page import HardSample, page
from assay.tasks.statistics.findings import FindingIndex


def hard(subject: str, place: int, sample: str, predicted: str) -> HardSample:
    return HardSample(subject, place, sample, "malignant", predicted, {}, text=f"the text of {sample}")


def test_a_sample_that_is_hard_for_two_subjects_is_named_once_with_whose_answer_it_shows():
    samples = [
        hard("net", 1, "a", "benign"),
        hard("net", 2, "b", "malignant"),
        hard("weak", 1, "b", "benign"),
        hard("weak", 2, "c", "benign"),
    ]
    part = page(FindingIndex([]), pa.table({"subject": pa.array([], pa.string())}), samples)
    assert [(sample.id, sample.note) for sample in part.samples] == [
        ("a", "net: benign, in truth malignant"),
        ("b", "net: malignant"),
        ("c", "weak: benign, in truth malignant"),
    ]
