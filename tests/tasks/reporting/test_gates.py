"""The page of gates says which failed and why, and what the correction for many tests did."""

from assay.tasks.reporting.gates import page, verdict
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.gates import judge
from assay.tasks.statistics.multiplicity import COMPARED, OWN_LEVEL, corrected
from assay.tasks.statistics.settings import Gate, Statistics

FINDINGS = corrected(
    [
        Finding("a.p", of=str(i), value=p, p_value=p, n=50, verdict="adverse", unit="p")
        for i, p in enumerate((0.001, 0.008, 0.5))
    ],
    0.01,
)
GATES = [Gate(finding="a.p", of="0", at_most=0.01), Gate(finding="a.p", of="2", at_most=0.01)]


def test_failed_gates_are_counted_and_explained():
    part = page(FindingIndex(FINDINGS), judge(GATES, FINDINGS), Statistics())
    assert (part.verdict, part.judged) == ("bad", "1 gate failed")
    assert part.sentence == "1 of 2 gates failed. a.p (of 2) is 0.5 (n = 50), above 0.01."
    assert [row[1].text for row in part.blocks[0].rows] == ["passed", "failed"]


def test_verdict_line_names_the_failed_gates():
    (line,) = verdict(judge(GATES, FINDINGS))
    assert (line.text, line.tone) == ("1 of 2 gates passed; failed: a.p (of 2) at most 0.01", "bad")
    assert verdict(judge(GATES[:1], FINDINGS))[0].tone == "good"
    assert verdict([]) == ()


def test_holm_is_explained_with_the_number_of_tests():
    text = page(FindingIndex(FINDINGS), [], Statistics()).blocks[0].text
    assert "This run made 3 tests" in text
    assert "Holm's method" in text
    assert "2 of them reach that level uncorrected, 1 after the correction" in text


def test_no_correction_is_said_too():
    assert (
        "not corrected for their number, as asked"
        in page(FindingIndex(FINDINGS), [], Statistics(correction="none")).blocks[0].text
    )


def test_run_without_tests_has_nothing_to_correct():
    part = page(FindingIndex([Finding("a.b", value=1.0)]), [], Statistics())
    assert "made no statistical test" in part.blocks[0].text
    assert len(part.blocks) == 1


def test_tests_that_keep_a_level_of_their_own_are_no_tests_that_were_not_made():
    own = Finding(
        "overfitting.p_value",
        of="orbit",
        subject="mem",
        value=1e-5,
        p_value=1e-5,
        p_adjusted=1e-5,
        n=150,
        verdict="overfit",
        unit=OWN_LEVEL,
    )
    part = page(FindingIndex([own, Finding("a.b", value=1.0)]), [], Statistics())
    assert "no statistical test" not in part.blocks[0].text
    assert "1 test keeps a level of its own" in part.blocks[0].text
    (table,) = part.blocks[1:]
    assert [(row[0], row[-1]) for row in table.rows] == [("overfitting.p_value", "overfit")]
    compared = corrected([*FINDINGS, Finding("a.p", of="other", p_value=0.5, unit=COMPARED)], 0.01)
    both = page(FindingIndex([own, *compared]), [], Statistics())
    text = both.blocks[0].text
    assert "This run made 3 tests" in text
    assert "2 of them reach that level uncorrected, 1 after the correction. 1 more test is only compared" in text
    assert [block.title for block in both.blocks[1:]] == [
        "The tests of this run",
        "Tests that keep a level of their own",
    ]


def test_tests_are_listed_smallest_p_first():
    table = page(FindingIndex(FINDINGS), [], Statistics()).blocks[-1]
    assert [row[4] for row in table.rows] == [0.001, 0.008, 0.5]
