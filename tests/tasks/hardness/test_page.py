"""What the report shows of hardness."""

import pyarrow as pa

from assay.tasks.hardness.page import HardSample, page
from assay.tasks.reporting.parts import Panels
from assay.tasks.statistics.findings import Finding, FindingIndex


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


def test_the_first_plot_shows_the_pair_that_the_sentence_is_about():
    def pair(metric: str, of: str, group: str, value: float, subject: str, verdict: str = "") -> Finding:
        ends = {"low": value - 0.1, "high": value + 0.1, "p_value": 0.001 if verdict else None}
        return Finding(f"hardness.{metric}", of, group, subject, value, n=90, verdict=verdict, **ends)

    pairs = [("unseen", "confidence", "eps", 0.9), ("net", "confidence", "margin", 0.99), ("net", "eps", "flips", 0.5)]
    findings = [pair("association", of, group, value, subject) for subject, of, group, value in pairs]
    findings.append(pair("association_p", "eps", "flips", 0.001, "net", "together"))
    drawn = [
        {"subject": subject, "first": of, "second": group, "x": x, "y": x, "low": x - 0.1, "high": x + 0.1}
        for subject, of, group, _ in pairs
        for x in (0.2, 0.8)
    ]
    part = page(FindingIndex(findings), pa.Table.from_pylist(drawn), [])
    assert part.sentence.startswith("Subject net: what falls at a small ε and what flips under corruption tend")
    first = next(block for block in part.blocks if isinstance(block, Panels))
    assert [plot.title for plot in first.plots] == ["small ε · flips", "unsure · narrow margin"]
