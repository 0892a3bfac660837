"""The page as a whole: well-formed, self-contained, escaped, complete without scripts, named for screen readers."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise

import pytest

from assay.tasks.reporting.layout import anchors, render_report, safe_link, status_tone
from assay.tasks.reporting.parts import (
    BarPlot,
    Column,
    DataTable,
    Estimate,
    Gallery,
    LinePlot,
    Mark,
    Panels,
    Paragraph,
    Part,
    Picture,
    Series,
    Strip,
    Verdict,
)
from assay.tasks.reporting.report import LineageRow, Report, SettingRow
from assay.tasks.statistics.findings import Finding

EVIL = "<script>alert('1')</script>\"><img src=x onerror=alert(2)>&amp;"


def test_page_is_well_formed_html(report, parsed):
    page = parsed(render_report(report))
    assert page.mistakes == []
    assert page.elements[0] == ("html", {"lang": "en"})


def test_ids_are_unique_and_links_lead_somewhere(report, parsed):
    page = parsed(render_report(report))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {a["href"][1:] for name, a in page.elements if name == "a" and a["href"].startswith("#")}
    named = {a[key] for _, a in page.elements for key in ("aria-labelledby", "aria-describedby") if key in a}
    assert targets | named <= set(ids)


def test_a_part_leads_to_its_own_findings(report, parsed):
    parts = [
        replace(part, findings={"ordering": "ordering.", "clean": "x."}.get(part.anchor, "")) for part in report.parts
    ]
    page = parsed(render_report(replace(report, parts=parts)))
    (link,) = [attributes for _, attributes in page.elements if attributes.get("class") == "own"]
    assert (link["href"], link["data-find"]) == ("#findings", "ordering.")


def test_page_asks_nothing_of_the_network(report, parsed):
    page = render_report(report)
    assert "//" not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert "@import" not in page
    assert "url(" not in page
    loads = {name for name, _ in parsed(page).elements} & {
        "link",
        "iframe",
        "object",
        "embed",
        "video",
        "audio",
        "source",
    }
    assert loads == set()


def test_policy_lets_in_only_our_own_script(report):
    page = render_report(report)
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
    assert len(scripts) == 1
    hashed = b64encode(sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{hashed}&#x27;" in page
    assert "default-src &#x27;none&#x27;" in page


def test_breast_cancer_report_is_under_300_kilobytes(report):
    assert len(render_report(report).encode()) < 300_000


def evil_report():
    series = [Series(EVIL, [1, 2], [0.1, 0.2]), Series(f"{EVIL} 2", [1, 2], [0.3, 0.4])]
    line = LinePlot(EVIL, series, EVIL, EVIL, EVIL, x_ticks={1: EVIL, 2: EVIL}, note=EVIL)
    table = DataTable(
        EVIL,
        [Column(EVIL, help=EVIL), Column("x", "bar"), Column("y"), Column("z", "number")],
        [[EVIL, Estimate(0.5), Mark(EVIL, "bad", EVIL), EVIL]],
        EVIL,
    )
    blocks = [
        line,
        Panels(EVIL, [line], EVIL),
        BarPlot(EVIL, [EVIL], [1.0], EVIL, EVIL, note=EVIL),
        table,
        replace(table, collapsed=True),
        replace(table, rows=[]),
        Paragraph(EVIL),
        Gallery(EVIL, [Strip(EVIL, [Picture(b"png", EVIL, EVIL, [Mark(EVIL, "bad", EVIL)])])], EVIL),
    ]
    return Report(
        EVIL,
        EVIL,
        EVIL,
        1.0,
        0,
        EVIL,
        [Verdict(EVIL, "bad")],
        [Part(EVIL, EVIL, blocks, EVIL, "bad", EVIL)],
        failures=[EVIL],
        not_asked=[EVIL],
        facts={EVIL: EVIL},
        findings=[Finding(EVIL, of=EVIL, group=EVIL, subject=EVIL, verdict=EVIL, unit=EVIL)],
        lineage=[LineageRow(EVIL, EVIL, EVIL, EVIL, 1, False, 1.0, EVIL)],
        settings=[SettingRow(EVIL, EVIL, EVIL)],
        versions={EVIL: EVIL},
        machine={EVIL: EVIL},
        index_link="javascript:alert(1)",
    )


def test_everything_from_data_is_escaped(parsed):
    html = render_report(evil_report())
    page = parsed(html)
    assert page.mistakes == []
    assert [name for name, _ in page.elements].count("script") == 1
    assert all(a["src"].startswith("data:image/png;base64,") for name, a in page.elements if name == "img")
    assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)
    assert "javascript:" not in html
    assert EVIL in page.words


def test_control_characters_of_data_become_visible(parsed):
    report = Report("r", "p\x00\x1b[31m", "", 1.0, 0, "completed", [], [Part("t", "a\u202eb \ud800")])
    html = render_report(report)
    assert "p\u2400\u241b[31m" in html
    assert not {"\x00", "\x1b", "\u202e", "\ud800"} & set(html)
    assert html.encode()


def test_every_plotted_number_is_there_as_text(report, parsed):
    page = parsed(render_report(report))
    curve = next(part for part in report.parts if part.anchor == "ordering").blocks[0]
    from assay.tasks.reporting.numerals import percent

    for series in curve.series:
        for column in (series.y, series.low or (), series.high or ()):
            for value in column:
                assert percent(value, sign=False) in page.words


def test_every_drawing_is_an_image_with_a_name_and_a_description(report, parsed):
    page = parsed(render_report(report))
    drawings = [a for name, a in page.elements if name == "svg" and a.get("aria-hidden") != "true"]
    assert len(drawings) >= 8
    for drawing in drawings:
        assert drawing["role"] == "img"
        assert drawing["aria-labelledby"].endswith("-t")
        assert drawing["aria-describedby"].endswith("-d")


def test_nothing_waits_for_a_script(report, parsed):
    without = re.sub(r"<script>.*?</script>", "", render_report(report), flags=re.S)
    page = parsed(without)
    assert not any("hidden" in attributes for _, attributes in page.elements)
    for part in report.parts:
        assert part.title in page.words
    for finding in report.findings:
        assert finding.metric in page.words


def test_scrolling_regions_are_named_and_reached_with_the_keyboard(report, parsed):
    regions = [a for _, a in parsed(render_report(report)).elements if a.get("class") == "scroll"]
    assert regions
    assert all(a["tabindex"] == "0" and a["role"] == "region" and a["aria-label"] for a in regions)


def test_headings_never_skip_a_level(report, parsed):
    levels = [int(name[1]) for name, _ in parsed(render_report(report)).elements if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_failures_and_what_was_not_asked_for_are_said(report, parsed):
    page = parsed(render_report(replace(report, failures=["The subject broke: no column 'x' in a.csv."])))
    assert "1 branch of this run failed" in page.words
    assert "no column 'x' in a.csv" in page.words
    assert "overfitting" in page.words


def test_lineage_says_what_was_cached(report, parsed):
    page = parsed(render_report(report))
    assert "7 artifacts, 1 of them cached" in page.words
    assert report.lineage[0].digest[:12] in page.words


def test_empty_report_is_still_a_page(parsed):
    page = parsed(render_report(Report("r", "p", "2026-11-22T02:00:00", 0.0, 0, "failed", [], [])))
    assert page.mistakes == []
    assert "22 November 2026" in page.words


def test_rendering_is_deterministic(report):
    assert render_report(report) == render_report(report)


def test_same_titles_get_different_anchors():
    assert anchors([Part("A b", ""), Part("A b", ""), Part("<>", ""), Part("A b", "")]) == [
        "a-b",
        "a-b-2",
        "part",
        "a-b-3",
    ]
    clashing = anchors([Part("a", ""), Part("a-2", ""), Part("a", "")])
    assert len(set(clashing)) == 3
    assert anchors([Part("Findings", "")]) == ["findings-2"]


@pytest.mark.parametrize(
    "link", ["https://x.y", "javascript:alert(1)", "//x.y/z", "/etc", "\\\\x\\y", "", "data:text/html,x"]
)
def test_links_that_leave_the_folder_are_no_links(link):
    assert not safe_link(link)


def test_unknown_status_has_no_colour():
    assert [status_tone(word) for word in ("done", "gate failed", "paused")] == ["good", "bad", "neutral"]


def test_the_table_of_contents_is_named_for_what_it_is_and_not_for_its_last_section(report, parsed):
    page = parsed(render_report(report))
    navigations = [attributes["aria-label"] for name, attributes in page.elements if name == "nav"]
    assert navigations[0] == "Contents"
