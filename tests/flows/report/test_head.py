"""The head of a page answers a reader with one minute: held on the findings of five recorded runs."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from statistics import median

import pytest
from repository import ROOT

from assay.flows.audits.table import KINDS
from assay.flows.configuration.loading import load_project
from assay.flows.report.comparison import finding_changes
from assay.flows.report.head import change_in_words, state_of
from assay.flows.report.run_page import not_asked
from assay.flows.report.scorecard import scorecard
from assay.flows.report.sentences import sentences, settings_to_try
from assay.infra.storage.artifacts import RunRecord
from assay.tasks.reporting.head import SENTENCES, Head, head_markup
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.parts import NamedSample
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.between_runs import by_intervals
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.proportions import share

FIVE = ("first-night", "reviews-night", "breast-cancer", "spam-night", "digits-overfitting")
NUMBERS = ("value", "low", "high", "p_value", "p_adjusted")


@cache
def recorded(pipeline: str) -> FindingIndex:
    with (ROOT / "docs/results" / pipeline / "findings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return FindingIndex(
        Finding(
            **{name: row[name] for name in ("metric", "of", "group", "subject", "verdict", "unit")},
            **{name: float(row[name]) if row[name] else None for name in NUMBERS},
            n=int(row["n"]) if row["n"] else None,
        )
        for row in rows
    )


class Text(HTMLParser):
    """What a page says, without its markup."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    def __str__(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.said))


def test_a_broken_run_says_that_only_what_was_measured_got_no_worse() -> None:
    before = RunRecord("2026-11-24-0200-k3f9", "night", "2026-11-24T02:00:00+00:00", 0, "host", 1)
    state = state_of([], ["curation: no column"], before, 0).text
    assert state == "Broken: 1 part of the run failed · nothing that was measured got worse since 2026-11-24-0200-k3f9"


def page_of_run(pipeline: str) -> str:
    """The page of a recorded run as far as its parts: its head, and what it did not ask for."""
    findings = recorded(pipeline)
    before = RunRecord("2026-11-24-0200-k3f9", pipeline, "2026-11-24T02:00:00+00:00", 0, "host", 1)
    head = Head(
        state_of([], [], before, 0),
        scorecard=scorecard(findings),
        sentences=sentences(KINDS, findings),
        setting=next(settings_to_try(findings)),
        samples=[NamedSample("lesion-7", "called benign, in truth malignant", votes="border says benign")],
    )
    asked = load_project(ROOT / "pipelines.yaml", pipeline=pipeline).pipeline(pipeline)
    about = ("r", pipeline, "2026-11-25T02:00:00+00:00", 60.0, 0, "done", (), ())
    return render_report(Report(*about, head=head, not_asked=tuple(not_asked(asked))))


QUESTIONS = {
    "is it worse than yesterday?": dict.fromkeys(FIVE, "nothing got worse since 2026-11-24-0200-k3f9"),
    "how much is right, and how sure is that?": {
        "first-night": "net 90 % [86, 94] of 240",
        "reviews-night": "small-bert 51 % [43, 59] of 150",
        "breast-cancer": "subject 98 % [96, 99] of 569",
        "spam-night": "small-bert 86 % [80, 90] of 200",
        "digits-overfitting": "centred 52 % [49, 56] of 900",
    },
    "what does one constant answer get?": {
        "first-night": "One constant answer 60 % 0 % 60 % 60 %",
        "reviews-night": "are not shown to be right more often than one constant answer, which gets 50 %",
        "breast-cancer": "One constant answer 63 %",
        "spam-night": "One constant answer 53 %",
        "digits-overfitting": "One constant answer 10 %",
    },
    "which class suffers?": {
        "first-night": "net finds 88 % [78, 93] of malignant, its worst class; net+standard finds 76 % [65, 84]",
        "reviews-night": "small-bert finds 44 % [32, 57] of positive, its worst class",
        "breast-cancer": "95 % malignant [91, 98] of 212",
        "spam-night": "small-bert+on-noise finds 21 points [14, 29] less of ham",
        "digits-overfitting": "centred is right on 52 % [49, 56] of 900 samples",
    },
    "what does an attack leave, and what does a defence keep?": {
        "first-night": "At ε = 2/255 the strongest attack leaves net right on 40 % [34, 46]; net+standard keeps 76 %",
        "reviews-night": "The attack a2t changes the answer of small-bert on 71 % [50, 86] of the texts",
        "breast-cancer": "Not asked: attacks",
        "spam-night": "Not tried on small-bert: a2t and guided (its word vectors cannot tell synonyms from chance).",
        "digits-overfitting": "Not asked: defenses",
    },
    "can the attack be trusted?": {
        "first-night": "28 checks of the attacks raised no red flag",
        "reviews-night": "2 checks of the attacks raised no red flag",
        "breast-cancer": "Not asked: attacks",
        "spam-night": "2 checks of the attacks raised no red flag",
        "digits-overfitting": "Not asked: attacks",
    },
    "which corruption is worst?": {
        "first-night": "Under gaussian noise at severity 3 net is right on 70 %",
        "reviews-night": "50 % whitespace, severity 5",
        "breast-cancer": "Not asked: corruptions",
        "spam-night": "74 % homoglyphs, severity 5",
        "digits-overfitting": "Not asked: corruptions",
    },
    "is it right for the right reasons, or fitted to its test set?": {
        "first-night": "too few samples n = 240",
        "reviews-night": "43 % [32, 54] of what small-bert gets right is untrustworthy",
        "breast-cancer": "Not asked: trust",
        "spam-night": "2 % [1, 6] of what small-bert gets right is untrustworthy",
        "digits-overfitting": "The 900 test samples are too few to tell whether moved is fitted to them",
    },
    "what would a stronger test need?": {
        "first-night": "Audit 1 113 samples in place of 240",
        "reviews-night": "Train small-bert longer or on more samples",
        "breast-cancer": "Audit more samples (evaluation.limit, or more data)",
        "spam-night": "four times as many would halve it",
        "digits-overfitting": "Audit 1 355 samples in place of 900",
    },
    "which samples should a person look at?": dict.fromkeys(FIVE, "lesion-7 called benign, in truth malignant"),
}


@pytest.mark.parametrize("pipeline", FIVE)
def test_ten_questions_are_answered_before_the_parts_of_a_page(pipeline: str) -> None:
    page = str(Text(page_of_run(pipeline).split("<main")[1].split('class="appendix"')[0]))
    words = page.replace("\N{NARROW NO-BREAK SPACE}", " ").replace("\N{NO-BREAK SPACE}", " ")
    left_out = words.split("Not asked for by this pipeline, and so not in this report: ")[1].split(".")[0].split(", ")
    for question, answers in QUESTIONS.items():
        _, silent, stage = answers[pipeline].partition("Not asked: ")
        assert (stage in left_out) if silent else (answers[pipeline] in words), question


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", FIVE)
def test_the_answers_stand_in_the_first_1600_pixels(pipeline: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright
    from quiet_browser import QUIET, browser_here

    file = tmp_path / "index.html"
    file.write_text(page_of_run(pipeline), encoding="utf-8")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser_here(), args=list(QUIET))
        for width, tallest in ((390, 1_600), (1280, 1_600), (1920, 1_600)):
            page = chromium.new_page(viewport={"width": width, "height": 900})
            page.goto(file.as_uri(), wait_until="load")
            ends = [page.locator(place).bounding_box() for place in ("#state", "#verdicts", "#next", ".not-asked")]
            assert all(end is not None and end["y"] + end["height"] <= tallest for end in ends), width
        chromium.close()


def test_an_attack_on_few_of_the_texts_is_to_take_more_of_them() -> None:
    right = share("subject.accuracy", 70, 70, of="clean", subject="m")
    attacked = share("attack.accuracy", 15, 30, of="a2t", subject="m")
    said = next(line for line in settings_to_try(FindingIndex([right, attacked])) if "widest" in line)
    assert said.startswith("Attack more of the texts (the attack's texts). The widest interval is that of m, 50")
    said = next(line for line in settings_to_try(FindingIndex([right, replace(attacked, n=70)])) if "widest" in line)
    assert said.startswith("Audit more samples (evaluation.limit, or more data).")


def test_the_class_that_suffers_is_named_with_what_a_defence_makes_of_it() -> None:
    def of(name: str, subject: str, value: float, n: int, verdict: str = "") -> Finding:
        return Finding(f"subject.{name}", "clean", "", subject, value, value - 0.1, value + 0.1, n, verdict=verdict)

    findings = FindingIndex(
        [
            *(of("accuracy", subject, 0.95, 180) for subject in ("net", "net+standard")),
            of("worst_recall", "net", 0.47, 36, "malignant"),
            of("worst_recall", "net+standard", 0.31, 36, "malignant"),
        ]
    )
    line = sentences(KINDS, findings)[0]
    assert line.text.replace("\N{NARROW NO-BREAK SPACE}", " ") == (
        "net finds 47 % [37, 57] of malignant, its worst class; net+standard finds 31 % [21, 41]."
    )
    card = scorecard(findings)
    assert card is not None
    assert [cell and cell.text.split("\N{NARROW NO-BREAK SPACE}")[0] for cell in card.rows[1][1]] == ["95", "31"]


RECORDED = sorted(file.parent.name for file in (ROOT / "docs/results").glob("*/findings.csv"))


def test_every_recorded_head_is_at_most_five_plain_sentences() -> None:
    for pipeline in RECORDED:
        lines = [line.text for line in sentences(KINDS, recorded(pipeline))]
        assert len(lines) <= SENTENCES, pipeline
        words = [len(re.sub(r" \[[^]]*\]", "", line).split(" ")) for line in lines]  # a number and its interval are one
        assert not words or median(words) <= 22, pipeline
        assert all(line.count("[") <= 2 for line in lines), pipeline
        assert not re.search(r"Holm|stratum|corrected|p [=<]", " ".join(lines)), pipeline


PLAIN = re.compile(
    "better|but|cannot|doe|guessing|image|kind|known|leave|most|owed|own|point|reject|related|repaint|rule|say|tell|tend|too|"
    "tried|trusted|un|unsure|untrustworthy|wa|worse"
)
"""Words of heads that need no glossary, without the s at their end."""


def test_no_word_of_a_head_stands_outside_the_glossary() -> None:
    glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").lower()
    assert len(RECORDED) > 40
    unknown = {}
    for pipeline in RECORDED:
        findings = recorded(pipeline)
        names = {name for each in findings for name in (each.subject, each.of, each.group, each.verdict)}
        names |= {name.partition(": ")[2] for name in names}  # why a flag is raised, with the names in it
        names |= {name.rpartition("/")[2].partition(",")[0].replace("-", " ") for name in names}  # as sentences do
        for line in sentences(KINDS, findings):
            text = line.text
            for name in sorted(names, key=len, reverse=True):
                text = text.replace(name, " ") if len(name) > 2 else text
            words = {
                word.lower().removesuffix("'s").rstrip("s'") for word in re.findall(r"[A-Za-z][A-Za-z0-9']+", text)
            }
            terms = {word for word in words if not PLAIN.fullmatch(word)}
            unknown |= {word: pipeline for word in terms if not re.search(rf"\b{re.escape(word)}", glossary)}
    assert unknown == {}


def test_a_class_that_is_never_found_is_underlined_since_one_constant_answer_gets_as_much() -> None:
    recalls = [share("subject.worst_recall", found, 33, of="gold", group="D5", subject=f"m{found}") for found in (0, 9)]
    card = scorecard(FindingIndex(recalls))
    assert card is not None
    assert [cell and cell.tone for _, cells in card.rows for cell in cells] == ["bad", "neutral"]


def test_a_legend_stands_only_where_something_is_held_against_a_constant_answer() -> None:
    terms, images = (Finding(metric, "clean", "", "mine", 0.9, 0.8, 1, 9) for metric in ("ner.f1", "subject.accuracy"))
    alone = Finding("subject.constant_accuracy", "clean", "", "mine", 0.5, 0.4, 0.6, 9)
    cards = [scorecard(FindingIndex(found)) for found in ([terms], [images, alone])]
    assert [card and card.note for card in cards] == ["", "Underlined: one constant answer may get as much."]


def test_measures_that_find_opposite_samples_hard_are_said_to() -> None:
    pair = Finding("hardness.association", "theta_l", "eps", "mine", -0.5, -0.6, -0.4, 161, verdict="opposite")
    said = "Of 1 pair of measures of hardness none is shown to find the same samples hard; 1 to find opposite ones."
    assert [line.text for line in sentences(KINDS, FindingIndex([pair]))] == [said]


def test_every_cell_of_the_scorecard_has_its_interval_and_its_n() -> None:
    for pipeline in FIVE:
        card = scorecard(recorded(pipeline))
        assert card is not None
        for _, cells in card.rows:
            for column, cell in zip(card.columns, cells, strict=True):
                assert cell is None or column == "Overfitting" or re.search(r"\[.+, .+\] of \d", cell.below), cell


def test_a_score_is_not_rounded_out_of_its_interval() -> None:
    r2 = Finding("regression.r2", "clean", "", "ours", 0.9964, 0.9938, 0.9981, 199)
    findings = FindingIndex([replace(r2, verdict="better than one constant number")])
    (said,) = sentences(KINDS, findings)
    assert said.text == "ours reaches R² 0.996 [0.994, 0.998]."
    card = scorecard(findings)
    assert card is not None
    assert "R² 0.996" in head_markup(Head(state_of([], [], None, 0), scorecard=card))


def test_a_score_that_nothing_could_be_measured_of_says_why() -> None:
    r2 = Finding("regression.r2", "clean", "", "ours", n=300, verdict="not measured: all true numbers are equal")
    (said,) = sentences(KINDS, FindingIndex([r2]))
    assert said.text == "ours is not shown to predict better than one constant number: all true numbers are equal."


def test_the_strongest_attack_on_terms_is_that_on_all_of_them_not_on_one_kind() -> None:
    def score(of: str, group: str, value: float, n: int) -> Finding:
        return Finding("ner.f1", of, group, "mine", value, value - 0.1, value + 0.1, n)

    findings = FindingIndex(
        [
            score("clean", "", 0.9, 164),
            score("keyboard", "share=1, changes=1", 0.48, 164),
            score("swap", "share=1, changes=1", 0.6, 164),
            score("swap", "share=1, changes=1, type=Disease", 0.37, 67),
            Finding("ner.drop", "keyboard", "share=1, changes=1", "mine", 0.42, 0.3, 0.5, 164, verdict="lower"),
        ]
    )
    assert sentences(KINDS, findings)[0].text == "F1 of mine falls from 0.900 to 0.480 [0.380, 0.580] under keyboard."
    card = scorecard(findings)
    assert card is not None
    below = [cell.below for _, cells in card.rows for cell in cells if cell is not None]
    assert below[-1] == "keyboard\n[0.380, 0.580] of 164"


def test_the_copies_of_a_tagger_stand_beside_it_under_an_attack_that_all_of_them_met() -> None:
    def score(subject: str, changes: int, value: float) -> Finding:
        return Finding("ner.f1", "swap", f"share=1, changes={changes}", subject, value, value - 0.1, value + 0.1, 164)

    clean = [Finding("ner.f1", "clean", "", name, 0.8, 0.7, 0.9, 164) for name in ("small", "small+on-swap")]
    findings = FindingIndex([*clean, score("small", 1, 0.47), score("small", 2, 0.38), score("small+on-swap", 1, 0.6)])
    card = scorecard(findings)
    assert card is not None
    assert [cells[-1] and cells[-1].text for _, cells in card.rows] == ["F1 0.470", "F1 0.600"]
    assert sentences(KINDS, findings)[0].text.endswith("; small+on-swap keeps 0.600 [0.500, 0.700].")


def test_a_red_flag_says_in_the_head_why_it_is_raised() -> None:
    why = "99 % of the images are called benign (gap at ε = 11/255)"
    flag = Finding("attack.red_flag", "majority-predictor", subject="net", value=1.0, n=300, verdict=f"raised: {why}")
    assert [line.text for line in sentences(KINDS, FindingIndex([flag]))] == [
        "What attacks say of net cannot be trusted as it stands, for the accuracy is that of one constant answer: "
        f"{why}."
    ]


@pytest.mark.parametrize("verdict", ["too few samples", "no drop shown"])
def test_a_score_falls_under_attack_only_where_a_drop_is_shown(verdict: str) -> None:
    findings = FindingIndex(
        [
            Finding("sts.pearson", "clean", "", "mine", 0.6, n=22),
            Finding("sts.pearson", "keyboard", "share=1, changes=1", "mine", 0.35, n=22),
            Finding("sts.drop", "keyboard", "share=1, changes=1", "mine", 0.25, n=22, verdict=verdict),
        ]
    )
    told = "Pearson's r of mine goes from 0.600 to 0.350 under keyboard, not shown to be more than chance."
    assert [line.text for line in sentences(KINDS, findings)] == [told]


def test_of_a_tagger_that_names_nothing_the_head_says_that_and_not_that_its_score_stands() -> None:
    silent = "degenerate: it names no entity"
    scores = [Finding("ner.f1", of, "", "mine", 0.0, 0.0, 0.08, 94, verdict=silent) for of in ("clean", "swap")]
    told = "mine is degenerate: it names no entity, and attacks on it tell nothing."
    assert [line.text for line in sentences(KINDS, FindingIndex(scores))] == [told]


def test_a_copy_keeps_what_it_keeps_under_the_same_attack_not_under_its_own_worst() -> None:
    scores = {("mine", "swap"): 0.23, ("mine", "synonymy"): 0.43, ("mine+on-swap", "swap"): 0.59}
    scores |= {("mine+on-swap", "synonymy"): 0.39, ("mine", "clean"): 0.8, ("mine+on-swap", "clean"): 0.76}
    findings = FindingIndex(
        [Finding("sts.pearson", of, "", name, value, n=150) for (name, of), value in scores.items()]
        + [Finding("sts.drop", "swap", "", "mine", 0.57, 0.4, 0.7, 150, verdict="lower")]
    )
    told = "Pearson's r of mine falls from 0.800 to 0.230 under swap; mine+on-swap keeps 0.590."
    assert [line.text for line in sentences(KINDS, findings)] == [told]
    rates = {("bert", "a2t"): 0.6, ("bert", "pwws"): 0.2, ("bert+on-a2t", "a2t"): 0.1, ("bert+on-a2t", "pwws"): 0.3}
    findings = FindingIndex(
        [Finding("attack.success_rate", of, "", name, rate, n=90) for (name, of), rate in rates.items()]
        + [Finding("attack.accuracy", of, "", name, 1 - rate, n=90) for (name, of), rate in rates.items()]
    )
    told = "The attack a2t changes the answer of bert on 60 % of the texts it attacks, that of bert+on-a2t on 10 %."
    assert told in [line.text.replace("\u202f", " ").replace("\u00a0", " ") for line in sentences(KINDS, findings)]


def test_a_change_names_whose_number_moved_from_where_to_where() -> None:
    before = Finding("attack.accuracy", "pgd", "eps=0.1", "net", 0.5, 0.45, 0.55, 400)
    after = Finding("attack.accuracy", "pgd", "eps=0.1", "net", 0.3, 0.26, 0.35, 400)
    (change,) = finding_changes([before], [after], by_intervals)
    line = change_in_words(change, KINDS)
    assert line.tone == "bad"
    assert line.text.startswith("net: accuracy under the strongest attack (pgd, eps=0.1) 50.0")


def test_what_comes_from_data_is_escaped() -> None:
    evil = "<script>x</script>"
    card = scorecard(FindingIndex([Finding("subject.accuracy", "clean", "", evil, 0.5, 0.4, 0.6, 9)]))
    page = head_markup(
        Head(state_of([], [evil], None, 0), scorecard=card, samples=[NamedSample(evil, evil, text=evil)])
    )
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_head_names_the_strongest_attack_in_whichever_norm_it_is() -> None:
    def left(subject: str, group: str, right: int) -> Finding:
        return share("attack.accuracy", right, 100, of="pgd", group=group, subject=subject)

    findings = FindingIndex(
        [
            *(share("subject.accuracy", 95, 100, of="clean", subject=name) for name in ("net", "net+standard")),
            *(left(name, group, 95) for name in ("net", "net+standard") for group in ("eps=0", "l2=0", "patch=0")),
            *(left("net", group, right) for group, right in (("eps=0.1", 40), ("l2=1", 30), ("patch=0.05", 10))),
            *(
                left("net+standard", group, right)
                for group, right in (("eps=0.1", 80), ("l2=1", 25), ("patch=0.05", 60))
            ),
        ]
    )
    lines = [line.text.replace("\N{NARROW NO-BREAK SPACE}", " ") for line in sentences(KINDS, findings)]
    at_patch = "At ε = 0.05 of the picture the strongest attack leaves net right on 10 % [6, 17]"
    assert f"{at_patch}; net+standard keeps 60 % [50, 69]." in lines
    card = scorecard(findings)
    assert card is not None
    assert card.columns == ["Clean", "Under attack"]
    cells = [(cells[1].text[:2], cells[1].below.partition("\n")[0]) for _, cells in card.rows if cells[1]]
    assert cells == [("10", "ε = 0.05 of the picture"), ("25", "ε = 1 in L2")]
