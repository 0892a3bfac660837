"""For findings drawn at random: no line concludes what its finding's corrected conclusion does not; gates agree."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data.schemas import CuratedSets, OrderingCurve
from assay.flows.audits.table import KINDS
from assay.flows.report.sentences import order_in_words, sentences
from assay.tasks.ordering.page import page as ordering_page
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.gates import judge
from assay.tasks.statistics.multiplicity import CONCLUDED, corrected, not_shown
from assay.tasks.statistics.settings import Gate
from assay.tasks.subjects.page import page as subjects_page
from assay.tasks.trust.page import page as trust_page

LEVEL = 0.01
FORBIDDEN = ("no difference", "adverse, but", ", but not after", "chance that the label", "for the wrong reasons")
CLAIMS = {"weak": "its agreement falls along the order (", "gold": ": the hard end is hard for it ("}
CURVE = pa.Table.from_pylist([{"approach": "ours", "labeler": "majority", "dataset": 1}], schema=OrderingCurve.schema)
CURATED = CuratedSets.schema.empty_table()
shares = st.none() | st.floats(0, 1)
p_values = st.none() | st.floats(1e-6, 1) | st.floats(1e-4, 0.02)


def share(metric: str, value: float | None, **about: str) -> Finding:
    if value is None:
        return Finding(metric, n=0, verdict="not measured", **about)
    return Finding(metric, value=value, low=max(0, value - 0.1), high=min(1, value + 0.1), n=50, **about)


def along(stage: str, p: float | None, area: float, first: float | None, last: float | None, **about: str):
    worse = area > 0.5
    verdict = ("adverse" if worse else "violation") if p is not None and p <= LEVEL else not_shown(LEVEL)
    if p is None:
        return [Finding(f"{stage}.trend_p", n=0, verdict="not measured: no true label is known", **about)]
    return [
        Finding(f"{stage}.trend_p", value=p, p_value=p, n=500, verdict=verdict, unit=CONCLUDED, **about),
        share(f"{stage}.auc", area, **about),
        share(f"{stage}.first_tenth", first, **about),
        share(f"{stage}.last_tenth", last, **about),
    ]


@st.composite
def runs(draw: st.DrawFn) -> FindingIndex:
    found: list[Finding] = []
    found += along(
        "ordering", draw(p_values), draw(st.floats(0.2, 0.8)), draw(shares), draw(shares), of="ours", group="majority"
    )
    for yardstick in ("weak", "gold"):
        found += along(
            "subject",
            draw(p_values),
            draw(st.floats(0.2, 0.8)),
            draw(shares),
            draw(shares),
            of=yardstick,
            subject="mine",
        )
    about = {"of": "lime", "group": "all", "subject": "mine"}
    found += [share("trust.trustworthy", draw(shares), **about), share("trust.untrustworthy", draw(shares), **about)]
    if draw(st.booleans()):
        found.append(share("trust.untrustworthy_corrected", draw(shares), **about))
    if draw(st.booleans()):
        found.append(
            Finding("subject.degenerate", of="clean", subject="mine", value=1.0, n=50, verdict="degenerate: all alike")
        )
    found += [
        Finding("a.b", of=str(at), p_value=draw(st.floats(0, 1)), unit=CONCLUDED)
        for at in range(draw(st.integers(0, 6)))
    ]
    return FindingIndex(corrected(found, LEVEL))


@given(runs())
@settings(max_examples=60, deadline=None)
def test_no_line_concludes_what_its_finding_does_not(run: FindingIndex) -> None:
    order = run.entry("ordering.trend_p", of="ours", group="majority")
    ((line, tone),) = order_in_words(run)
    said = [line, ordering_page(run, CURVE, CURATED, {}, 0).sentence]
    worse = order.verdict == "adverse"
    assert worse is (
        order.concluded_p is not None
        and order.concluded_p <= LEVEL
        and run.get("ordering.auc", of="ours", group="majority").value > 0.5
    )
    for sentence in said:
        assert sentence.startswith("The rules' labels get worse along the order") is worse
    assert (tone == "good") is worse
    for sentence in [subjects_page(run).sentence, *(line.text for line in sentences(KINDS, run))]:
        for yardstick, claim in (
            ("weak", "its agreement falls along the order ("),
            ("gold", ": the hard end is hard for it ("),
        ):
            test = run.get("subject.trend_p", "mine", yardstick)
            concluded = test is not None and test.concluded_p <= LEVEL and test.verdict == "adverse"
            assert concluded or claim not in sentence


@given(runs())
@settings(max_examples=60, deadline=None)
def test_a_gate_on_the_order_passes_only_where_the_verdict_concludes_something(run: FindingIndex) -> None:
    (result,) = judge([Gate(finding="ordering.trend_p", of="ours", group="majority", at_most=LEVEL)], run)
    order = run.entry("ordering.trend_p", of="ours", group="majority")
    assert result.passed is (order.verdict in ("adverse", "violation"))


@given(runs())
@settings(max_examples=60, deadline=None)
def test_forbidden_words_never_appear_and_an_oracles_share_is_the_oracles(run: FindingIndex) -> None:
    trust = trust_page(run).sentence
    said = [line.text for line in sentences(KINDS, run)]
    said += [trust, subjects_page(run).sentence]
    assert not [word for word in FORBIDDEN for sentence in said if word in sentence]
    if run.get("trust.untrustworthy", "mine", "lime", "all") is None:
        return
    if any(one.degenerate for one in run.select("subject.degenerate")):
        assert "untrustworthy" not in trust
    else:
        corrected_share = run.entry("trust.untrustworthy_corrected", "mine", "lime", "all")
        assert trust.startswith("TOKI calls ")
        assert ("corrected by how often it is right" in trust) is (
            corrected_share is not None and corrected_share.value is not None
        )


def test_an_oracle_that_may_be_guessing_is_said_to_and_not_to_be_of_unknown_worth() -> None:
    about = {"of": "lime", "group": "all", "subject": "mine"}
    called = [share("trust.untrustworthy", 0.5, **about), share("subject.accuracy", 0.9, of="clean", subject="mine")]
    guessing = Finding("trust.untrustworthy_corrected", **about, verdict="not measured: TOKI is not known to be better")
    for beside, said in (
        ([], ", but how often TOKI is right here is not known."),
        ([guessing], ", but TOKI is not known to be better."),
        ([share("trust.untrustworthy_corrected", 0.4, **about)], ", its own errors allowed for."),
    ):
        (line,) = [one.text for one in sentences(KINDS, FindingIndex([*called, *beside])) if "TOKI" in one.text]
        assert line.endswith(f"of what mine gets right is untrustworthy{said}")
