"""The head of a page answers a reader with one minute: held on the findings of five recorded runs."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser
from statistics import median

import pytest
from repository import ROOT

from assay.flows.audits.table import KINDS
from assay.flows.report.comparison import finding_changes
from assay.flows.report.head import change_in_words, state_of
from assay.flows.report.scorecard import scorecard
from assay.flows.report.sentences import sentences, settings_to_try
from assay.infra.storage.artifacts import RunRecord
from assay.tasks.reporting.head import SENTENCES, Head, head_markup
from assay.tasks.reporting.parts import NamedSample
from assay.tasks.statistics.between_runs import by_intervals
from assay.tasks.statistics.findings import Finding, FindingIndex

FIVE = ("first-night", "reviews-night", "lesions-night", "breast-cancer", "abstracts-ner")
NUMBERS = ("value", "low", "high", "p_value", "p_adjusted")


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


def head_of_run(pipeline: str, worse: int = 0) -> str:
    findings = recorded(pipeline)
    before = RunRecord("2026-11-24-0200-k3f9", pipeline, "2026-11-24T02:00:00+00:00", 0, "host", 1)
    return head_markup(
        Head(
            state_of([], [], before, worse),
            scorecard=scorecard(findings),
            sentences=sentences(KINDS, findings),
            setting=next(settings_to_try(findings), ""),
            samples=[NamedSample("lesion-7", "called benign, in truth malignant")],
        )
    )


@pytest.mark.parametrize(
    ("pipeline", "question", "answer"),
    [
        ("first-night", "is it worse than yesterday?", "nothing got worse since 2026-11-24-0200-k3f9"),
        ("first-night", "which class suffers, and what does a defence cost it?", "net+standard finds 76 % [65, 84]"),
        ("first-night", "what does an attack leave?", "At ε = 2/255 the strongest attack leaves net right on 40 %"),
        ("first-night", "what does a defence keep?", "net+standard keeps 76 %"),
        ("first-night", "can the attack be trusted?", "28 checks of the attacks raised no red flag"),
        ("first-night", "is it fitted to its test set?", "too few samples"),
        ("first-night", "what would a stronger test need?", "so many would show overfitting"),
        ("first-night", "which samples should a person look at?", "lesion-7 called benign, in truth malignant"),
        ("first-night", "which corruption is worst?", "Under gaussian noise at severity 3 net is right on 70 %"),
        (
            "reviews-night",
            "is it right for the right reasons?",
            "43 % [32, 54] of what small-bert gets right is untrustworthy",
        ),
        (
            "reviews-night",
            "what comes first?",
            "small-bert and small-bert+on-noise are not shown to be right more often",
        ),
        ("lesions-night", "can the attack be trusted?", "cannot be trusted as it stands"),
        ("breast-cancer", "are the rules' labels worse where they doubt?", "65 % [51, 76] in the hardest"),
        ("abstracts-ner", "what does an attack on terms do?", "F1 of small falls from 0.78 to 0.37"),
    ],
)
def test_a_question_is_answered_in_the_head(pipeline: str, question: str, answer: str) -> None:
    said = str(Text(head_of_run(pipeline))).replace("\N{NARROW NO-BREAK SPACE}", " ").replace("\N{NO-BREAK SPACE}", " ")
    assert answer in said, question


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


@pytest.mark.parametrize("pipeline", FIVE)
def test_the_head_is_at_most_five_plain_sentences(pipeline: str) -> None:
    lines = [line.text for line in sentences(KINDS, recorded(pipeline))]
    assert 1 <= len(lines) <= SENTENCES
    assert median(len(line.split()) for line in lines) <= 22
    assert max(line.count("[") for line in lines) <= 2
    assert not re.search(r"Holm|stratum|corrected|p [=<]", " ".join(lines))


PLAIN = re.compile(
    "but|cannot|doe|image|kind|known|leave|most|owed|own|point|reject|related|repaint|rule|say|tell|tend|too|tried|"
    "trusted|un|unsure|untrustworthy|wa|worse"
)
"""Words of heads that need no glossary, without the s at their end."""


def test_no_word_of_a_head_stands_outside_the_glossary() -> None:
    glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").lower()
    pages = sorted(file.parent.name for file in (ROOT / "docs/results").glob("*/findings.csv"))
    assert len(pages) > 40
    unknown = {}
    for pipeline in pages:
        findings = recorded(pipeline)
        names = {name for each in findings for name in (each.subject, each.of, each.group, each.verdict)}
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


def test_every_cell_of_the_scorecard_has_its_interval_and_its_n() -> None:
    for pipeline in FIVE:
        card = scorecard(recorded(pipeline))
        assert card is not None
        for _, cells in card.rows:
            for column, cell in zip(card.columns, cells, strict=True):
                assert cell is None or column == "Overfitting" or re.search(r"\[.+, .+\] of \d", cell.below), cell


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
