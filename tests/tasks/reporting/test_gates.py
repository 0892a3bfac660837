"""The page of gates says which failed and why, and what the correction for many tests did."""

from dataclasses import replace

from assay.tasks.reporting.gates import page, verdict
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.gates import judge
from assay.tasks.statistics.multiplicity import COMPARED, OWN_LEVEL, PRIMARY, corrected
from assay.tasks.statistics.settings import Claim, Gate, Statistics

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


def families(part):
    """The rows of the table of families: name, tests, how many reach the level, the level."""
    (table,) = [block for block in part.blocks[1:] if block.title == "What each level covers"]
    return [tuple(row[:4]) for row in table.rows]


def test_what_each_level_covers_is_said_and_nothing_wider():
    part = page(FindingIndex(FINDINGS), [], Statistics())
    assert "Holm's method corrects all 3 tests together as well" in part.blocks[0].text
    assert "within itself at its level; over several of them it is larger" in part.blocks[0].text
    assert "whole run" not in part.blocks[0].text
    assert families(part) == [("All other tests of the run", 3, 1, "0.01")]


def test_one_test_is_not_said_to_be_corrected_together_with_others():
    text = page(FindingIndex(FINDINGS[:1]), [], Statistics()).blocks[0].text
    assert "until one is not shown: none is shown so. This run made only one test. Each family" in text


def test_a_primary_claim_is_not_paid_for_by_side_tests_and_stands_apart():
    side = [Finding("b.p", of=str(at), value=0.5, p_value=0.5, n=9, unit="p") for at in range(20)]
    claims = [Claim(finding="a.p", of=of, verdict="adverse") for of in ("0", "1", "2")]
    shown = corrected([*FINDINGS[:1], *FINDINGS[2:], *side], 0.01, claims=claims)
    part = page(FindingIndex(shown), [], Statistics())
    assert families(part) == [("Primary claims", 1, 1, "0.01"), ("All other tests of the run", 21, 0, "0.01")]
    (table,) = [block for block in part.blocks[1:] if block.title == "Primary claims that are shown"]
    assert [(row[1], row[-1]) for row in table.rows] == [("0", "adverse")]


def test_no_correction_is_said_too():
    assert (
        "not corrected for their number, as asked"
        in page(FindingIndex(FINDINGS), [], Statistics(correction="none")).blocks[0].text
    )


def test_run_without_tests_has_nothing_to_correct():
    part = page(FindingIndex([Finding("a.b", value=1.0)]), [], Statistics())
    assert "made no test" in part.blocks[0].text
    assert len(part.blocks) == 1


def test_families_that_keep_a_level_of_their_own_are_listed_beside_the_others():
    own = Finding("overfitting.p_value", subject="mem", value=1e-5, p_value=1e-5, p_adjusted=1e-5, unit=OWN_LEVEL)
    flags = [Finding("attack.red_flag", of=str(at), subject="net", value=float(at == 0), n=9) for at in range(21)]
    compared = corrected([*FINDINGS, Finding("a.p", of="other", p_value=0.5, unit=COMPARED)], 0.01)
    assert families(page(FindingIndex([own, *flags, *compared]), [], Statistics())) == [
        ("All other tests of the run", 3, 1, "0.01"),
        ("What is only compared with these", 1, 0, "0.01"),
        ("Tests with a level of their own", 1, 1, "its own"),
        ("Red flags", 21, 1, "0.01 each"),
    ]


def test_changes_above_the_noise_floor_are_listed_as_tests_of_which_none_is_corrected():
    shown = Finding("attack.above_chance", "a2t", "", "net", 0.1, n=9, p_value=0.001, verdict="more than chance")
    above = [
        shown,
        replace(shown, metric="corruption.above_chance"),
        replace(shown, of="noise", p_value=0.3, verdict="no more than chance"),
        replace(shown, of="swap", value=None, n=0, p_value=None, verdict="not measured"),
    ]
    part = page(FindingIndex(above), [], Statistics())
    assert families(part) == [("Changes above the noise floor", 3, 2, "0.01")]
    assert part.blocks[-1].rows[0][-1] == "not corrected for their number"


def test_primary_claims_are_listed_smallest_p_first():
    claims = [replace(finding, unit=PRIMARY) for finding in FINDINGS if finding.p_value is not None]
    table = page(FindingIndex(claims), [], Statistics()).blocks[-1]
    assert [row[4] for row in table.rows] == [0.001, 0.008, 0.5]
