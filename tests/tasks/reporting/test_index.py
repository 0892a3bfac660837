"""The index: every run once, newest first, a trend per headline, nothing that leaves the folder."""

import re
from datetime import datetime, timedelta

from assay.tasks.reporting.index import render_index
from assay.tasks.reporting.report import Headline, Moved, RunEntry, entry_of


def entry(night, pipeline="breast-cancer", **more):
    started = (datetime(2026, 11, 1, 2) + timedelta(days=night)).isoformat()
    values = {"status": "completed", "link": f"run-{night}/index.html", "verdict": "fine", "seconds": 4.0} | more
    agreement = Headline(name="Agreement", value=0.9 - night / 100, low=0.8, high=0.95, n=569, scale="percent")
    return RunEntry(run=f"run-{night}", pipeline=pipeline, started=started, **({"headlines": (agreement,)} | values))


def test_index_is_well_formed_and_links_to_every_run(parsed):
    page = parsed(render_index([entry(i) for i in range(12)]))
    assert page.mistakes == []
    assert {f"run-{i}/index.html" for i in range(12)} <= {a.get("href") for _, a in page.elements}


def test_newest_run_comes_first_whatever_the_order_of_the_entries():
    page = render_index([entry(3), entry(11), entry(7)])
    assert re.findall(r'index.html">(run-\d+)<', page) == ["run-11", "run-7", "run-3"]


def test_trend_shows_the_latest_value_with_interval_and_n(parsed):
    page = parsed(render_index([entry(0), entry(10)]))
    assert "80.0\u202f%" in page.words
    assert "[80.0, 95.0] n = 569" in page.words


def test_every_value_of_a_trend_is_in_its_description(parsed):
    page = parsed(render_index([entry(i) for i in range(5)]))
    assert all(f"run-{i} {90 - i}.0\u202f%" in page.words for i in range(5))


def test_what_all_nights_come_to_together_is_a_band_of_its_own_and_a_line(parsed):
    def of(night, so_far):
        return entry(night, headlines=(Headline(name="Right", value=0.9, low=0.87, high=0.93, so_far=so_far),))

    html = render_index([of(0, None), of(1, (0.9, 0.86, 0.94)), of(2, (0.9, 0.88, 0.92))])
    assert html.count('<path class="band"') == 2
    assert "all nights so far 0.900 [0.880, 0.920]" in parsed(html).words


def test_night_without_a_number_is_a_gap_in_the_trend(parsed):
    html = render_index([entry(0), entry(1), entry(2, headlines=(), status="failed"), entry(3), entry(4)])
    assert parsed(html).mistakes == []
    assert "over 4 runs" in parsed(html).words
    assert (html.count('<path class="line"'), html.count('<path class="band"')) == (2, 2)


def test_pipelines_stand_apart(parsed):
    page = parsed(render_index([entry(0), entry(1, "digits"), entry(2, "<script>")]))
    assert "3 runs of 3 pipelines" in page.words
    assert [name for name, _ in page.elements].count("script") == 1


def test_link_that_leaves_the_folder_is_plain_text():
    page = render_index([entry(0, link="javascript:alert(1)")])
    assert "javascript" not in page
    assert ">run-0</th>" in page


def test_no_runs_is_a_page_too(parsed):
    assert "No run has been reported yet." in parsed(render_index([])).words


def test_report_becomes_an_entry_and_comes_back_from_json(report):
    made = entry_of(report, "run/index.html")
    assert RunEntry.model_validate_json(made.model_dump_json()) == made
    names = [headline.name for headline in made.headlines]
    assert "Right labels above wrong ones in the order (majority)" in names
    assert "Agreement with the weak labels (logistic, D10)" in names
    assert made.verdict in [line.text for line in report.verdicts]


def number(name, **more):
    return Headline(name=name, value=0.5, **more)


def test_spare_number_is_the_past_of_a_trend_and_none_by_itself(parsed):
    nights = [
        entry(0, headlines=(number("At 0.1", spare=True), number("At 0.2"))),
        entry(1, headlines=(number("At 0.1"), number("At 0.2", spare=True))),
    ]
    page = parsed(render_index(nights))
    assert "At 0.1 over 2 runs" in page.words
    assert "At 0.2" not in page.words


def test_trends_beyond_the_first_nine_are_folded_away():
    page = render_index([entry(0, headlines=tuple(number(f"N{at:02}") for at in range(11)))])
    open_ones, folded = page.split("<summary>2 more trends</summary>")
    assert "<h3>N08</h3>" in open_ones
    assert "<h3>N09</h3>" in folded


def test_run_without_a_report_has_its_line(parsed):
    page = parsed(render_index([entry(0), entry(1, status="crashed", link="", verdict="killed", headlines=())]))
    assert "crashed" in page.words
    assert "killed" in page.words
    assert "over 1 run" in page.words


def test_pipelines_stand_at_a_glance_the_bad_ones_first(parsed):
    page = render_index([entry(0, "fine"), entry(0, "zapped", status="crashed", flags=("one-step (plain)",))])
    glance = page.split('class="states"')[1].split("</ul>")[0]
    assert glance.index("zapped") < glance.index("fine")
    assert "1 red flag: one-step (plain)" in glance
    assert parsed(page).mistakes == []


def test_a_night_that_did_not_end_well_is_marked_under_the_trend():
    page = render_index([entry(0), entry(1, status="gate failed"), entry(2)])
    assert page.count('class="crossed"') == page.count("<title>run-1: gate failed</title>") == 1
    assert page.count('<span class="night bad" title="run-1: gate failed">') == 1


def test_a_night_that_did_not_come_has_a_square_a_line_and_a_gap_in_the_trend(parsed):
    gone = {"link": "", "verdict": "No run came.", "headlines": (), "seconds": 0.0}
    nights = [
        entry(0),
        entry(1),
        RunEntry.model_validate({**entry(2, status="missed", **gone).model_dump(), "run": ""}),
    ]
    page = render_index([*nights, entry(3), entry(4), entry(0, "other")])
    assert parsed(page).mistakes == []
    assert "5 runs of 2 pipelines, 1 night missed" in page
    assert page.count("<title>no run for 2026-11-03 02:00 UTC: missed</title>") == 1  # under the trend
    assert page.count('<span class="night missed" title="no run for 2026-11-03 02:00 UTC: missed">') == 1
    assert page.count('<path class="line"') == 2
    assert "no run" in page.split("<tbody>")[1].split("<tr>")[3]


def test_baselines_and_changes_that_gates_found_are_marked_in_the_trend(parsed):
    marks = {"accepted": "run-1, accepted by <ada>", "judged": ("a.b fell by 0.1: more than 0.02.",)}
    page = render_index([entry(0), entry(1, **marks), entry(2)])
    assert parsed(page).mistakes == []
    assert page.count('class="baseline"') == page.count('class="judged"') == 1
    assert "<title>Baseline: run-1, accepted by &lt;ada&gt;</title>" in page
    assert "<title>run-1: a.b fell by 0.1: more than 0.02.</title>" in page


def test_what_changed_in_the_last_night_of_each_pipeline_stands_first_the_worst_on_top(parsed):
    def moved(text, gain):
        return Moved(text=text, gain=gain)

    nights = [
        entry(0, changes=(moved("net: long ago", -0.9),)),
        entry(1, changes=(moved("net: 90 → 80 %, −10 points [−15, −5]", -0.1), moved("net: better", 0.2))),
        entry(1, "digits", changes=(moved("cnn: <fell>", -0.3),)),
        entry(1, "fine"),
    ]
    page = parsed(render_index(nights))
    assert page.mistakes == []
    assert "All ended well · 2 numbers got worse since the baseline or the night before" in page.words
    places = [page.words.index(line) for line in ("digits · cnn: <fell>", "breast-cancer · net: 90", "net: better")]
    assert places == sorted(places)
    assert "long ago" not in page.words
    assert "1 of 1 last nights did not end well: a · nothing got worse" in render_index(
        [entry(0, "a", status="crashed")]
    )


def test_of_many_changes_the_worst_ten_are_listed():
    page = render_index([entry(0, changes=tuple(Moved(text=f"m{at:02}", gain=at - 20) for at in range(14)))])
    assert (page.count("breast-cancer · m"), "4 more changes, on the runs" in page) == (10, True)


def test_what_a_run_says_is_escaped_at_a_glance():
    page = render_index([entry(0, "a", verdict="<b>x", flags=("<i>",)), entry(0, "b")])
    assert "<b>x" not in page
    assert "<i>" not in page


def test_the_line_of_a_run_is_its_worst_one(report):
    bad = [line.text for line in report.verdicts if line.tone == "bad"]
    made = entry_of(report, "x")
    assert made.verdict == (bad[-1] if report.status == "gate failed" else bad[0]) if bad else report.verdicts[0].text
