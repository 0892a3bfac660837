"""Tables 3 and 4 of Nguyen Tung et al. (TOKI): how good the trust oracles are, and the attack that one guides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.data.published import TOKI_MEASURES, TOKI_TABLE_3, TOKI_TABLE_4, Attack, AttackRow, TokiRow
from assay.flows.reproduce.paper_table import (
    Cell,
    Line,
    Ours,
    Result,
    Source,
    UsersOwn,
    number,
    paper_table,
    papers_number,
)
from assay.tasks.attacks.table import TEXT_ATTACKS
from assay.tasks.attacks.texts.page import WordFindings, limits_in_short
from assay.tasks.statistics.findings import Finding

PIPELINES = {
    "CAMS": ("cams", "cams"),
    "HateXplain": ("hatexplain", "hatexplain"),
    "ag_news": ("ag-news", "ag-news"),
    "rotten_tomatoes": ("rotten-tomatoes", "rt-polarity"),
    "emotion": ("emotion", "emotion"),
}
"""Per data set of the paper, the pipeline on it and what it is called here."""

PLANTED = {"reviews-weak": "60 %", "reviews": "75 %", "reviews-strong": "85 %"}
"""The pipelines on planted shortcuts, and how often a shortcut holds in their training texts."""

ORACLES = {"toki": "TOKI", "toki-ki": "TOKI(-K.I)", "naive": "Naive"}
BROUGHT = {
    "Dong's": "its verdicts are not public; with a table of them, set trust.truth in a pipeline of your own",
    "Ours": "the authors' verdicts are not public; with a table of your own, set trust.truth in a pipeline of your own",
}
_NO_PIPELINE = "no pipeline; with texts of your own, add attacks: [a2t, guided] and trust"


def _oracles(data_set: str) -> Source:
    def lines(result: Result | None) -> list[Line]:
        return [line for row in TOKI_TABLE_3 if row.data_set == data_set for line in _oracle(row, result)]

    pipeline = dict([PIPELINES[data_set]]) if data_set in PIPELINES else {}
    because = "the subject is another, smaller one, and only some texts are explained"
    return Source(data_set, pipeline, lines, because, instead=BROUGHT.get(data_set, ""), about=_spaces)


def _oracle(row: TokiRow, result: Result | None) -> list[Line]:
    """A line of the paper, and ours beneath; its Naive has no explainer, ours has one per explainer."""
    lines, subject = [], _subject(result)
    for explainer in [row.explainer] if row.explainer else _explainers(result) or [""]:
        cells = [
            Ours(f"trust.{name}", row.oracle, explainer, subject, paper=(value,))
            for name, value in zip(TOKI_MEASURES, row.measures, strict=True)
        ]
        times: list[Cell] = ["", ""]
        if row.oracle == "toki":
            write = number(".0f")
            times = [Ours(f"trust.{name}_seconds", explainer, "", subject, write) for name in ("keyword", "label")]
        spent = ["" if seconds is None else f"{seconds:.0f}" for seconds in (row.keyword_seconds, row.label_seconds)]
        labels = (row.data_set, ORACLES[row.oracle])
        theirs = (*labels, row.explainer, "paper", "", *map(papers_number, cells), *spent)
        ours = (*labels, explainer, "ours", _true_labels(result, explainer), *cells, *times)
        lines += [Line(theirs), Line(ours, ours=True)]
    return [line for at, line in enumerate(lines) if line.ours or at == 0]


def _true_labels(result: Result | None, explainer: str) -> str:
    """How many predictions are trustworthy and how many are not, by the true labels."""
    if result is None:
        return ""
    labels = ("trustworthy", "untrustworthy")
    shares = (result.findings.get("trust.truth", _subject(result), explainer, label) for label in labels)
    return "/".join("?" if share is None else str(round((share.value or 0.0) * (share.n or 0))) for share in shares)


def _planted(pipeline: str, strength: str) -> Source:
    def lines(result: Result | None) -> list[Line]:
        subject = _subject(result)
        lines = []
        for explainer in _explainers(result):
            means = [Ours("trust.g_mean", oracle, explainer, subject) for oracle in ORACLES]
            auc = Ours("trust.confidence_auc", "naive", explainer, subject)
            lines.append(Line((pipeline, strength, explainer, *means, auc), ours=True))
        return lines

    return Source(pipeline, {pipeline: f"sample/{pipeline}"}, lines, about=_spaces, extra=True)


def _spaces(result: Result) -> list[str]:
    """By which vector spaces words were related."""
    spaces = result.findings.distinct("group", "trust.theta_relate")
    return [f"vector spaces: {', '.join(spaces)}"] if spaces else []


def _subject(result: Result | None) -> str:
    """Whose predictions were explained; the first of several."""
    return next(iter([] if result is None else result.findings.distinct("subject", "trust.trustworthy")), "")


def _explainers(result: Result | None) -> list[str]:
    return [] if result is None else result.findings.distinct("of", "trust.trustworthy")


def _attack(row: AttackRow) -> Source:
    pipeline = dict([PIPELINES[row.data_set]]) if row.data_set in PIPELINES else {}

    def lines(result: Result | None) -> Sequence[Line]:
        return [_papers_attack(row), *_attack_lines(row.data_set, result, row)]

    because = "the subject and the limits on words are others, and fewer texts are attacked"
    return Source(row.data_set, pipeline, lines, because, "" if pipeline else _NO_PIPELINE, _limits)


def _unpublished(called: str, pipelines: Mapping[str, str | None]) -> Source:
    return Source(called, pipelines, lambda result: _attack_lines(called, result), about=_limits, extra=True)


def _papers_attack(row: AttackRow) -> Line:
    def cells(attack: Attack) -> list[str]:
        return [f"{value:.3f}" for value in (attack.success_rate, attack.perturbed_words, attack.bert, attack.use)]

    apart = f"{row.guided.success_rate - row.a2t.success_rate:+.3f}"
    return Line((row.data_set, "paper", str(row.instances), *cells(row.guided), *cells(row.a2t), apart, ""))


def _attack_lines(called: str, result: Result | None, row: AttackRow | None = None) -> list[Line]:
    """One line per attack that the guided one stands beside."""
    compared_with = None if result is None else _compared(result)
    if result is None or compared_with is None:
        return []
    subject, guided, others = compared_with
    return [_attack_line(called, result, subject, guided, other, row) for other in others or ("",)]


def _attack_line(called: str, result: Result, subject: str, guided: str, other: str, row: AttackRow | None) -> Line:
    pair = f"{guided} - {other}"
    papers = (row.guided.success_rate - row.a2t.success_rate,) if row is not None and other == "a2t" else ()
    apart = Ours("attack.success_difference", pair, "", subject, _plain_p)
    return Line(
        (
            called,
            "ours" if other in ("", "a2t") else f"ours, {other}",
            Ours("attack.success_rate", guided, "", subject, lambda finding: str(finding.n)),
            *_attack_cells(result, subject, guided, None if row is None else row.guided),
            *_attack_cells(result, subject, other, row.a2t if row is not None and other == "a2t" else None),
            Ours("attack.success_difference", pair, "", subject, number("+.3f"), papers),
            Ours("attack.mcnemar_p", pair, "", subject, _plain_p, otherwise=apart),
        ),
        ours=True,
    )


def _attack_cells(result: Result, subject: str, attack: str, paper: Attack | None) -> list[Cell]:
    """Success rate and words changed, and both similarities, the attack's own encoder first."""
    papers = ((), ()) if paper is None else ((paper.success_rate,), (paper.perturbed_words,))
    encoders = WordFindings(result.findings).groups("similarity", subject, attack)
    return [
        Ours("attack.success_rate", attack, "", subject, paper=papers[0]),
        Ours("attack.perturbed_words", attack, "", subject, paper=papers[1]),
        *(Ours("attack.similarity", attack, encoder, subject) for encoder in encoders[:2]),
        *[""] * (2 - len(encoders[:2])),
    ]


def _plain_p(finding: Finding) -> str:
    return "" if finding.concluded_p is None else f"{finding.concluded_p:.3g}"


def _compared(result: Result) -> tuple[str, str, tuple[str, ...]] | None:
    """The first subject that a guided attack came through on, that attack, and the A2Ts beside it."""
    findings, names = WordFindings(result.findings), _names(result.settings)
    for guided in names["guided"]:
        for subject in findings.subjects:
            if findings.get("success_rate", subject, guided) is not None:
                return subject, guided, tuple(name for name in names["a2t"] if (subject, name) in findings.tried)
    return None


def _names(settings: Mapping[str, object]) -> dict[str, list[str]]:
    """What a run's pipeline calls its attacks, by their kind; the kind itself where it gives no name."""
    attacks = _attacks_asked(settings)
    return {
        kind: [str(attack.get("name") or kind) for attack in attacks if attack.get("attack") == kind] or [kind]
        for kind in (attack.word for attack in TEXT_ATTACKS if attack.swaps_words)
    }


def _attacks_asked(settings: Mapping[str, object]) -> list[Mapping[str, object]]:
    attacks = settings.get("attacks")
    return [attack for attack in attacks if isinstance(attack, dict)] if isinstance(attacks, list | tuple) else []


def _limits(result: Result) -> list[str]:
    """On which subject it was, and how similar words had to be."""
    compared_with = _compared(result)
    if compared_with is None:
        return []
    subject, guided, others = compared_with
    findings = WordFindings(result.findings)
    limits = {attack: limits_in_short(findings.limits(subject, attack)) or "any cosine" for attack in (guided, *others)}
    return [f"subject {subject}", *(f"{attack} takes words at {limit}" for attack, limit in limits.items())]


TABLES = (
    paper_table(
        "toki-3",
        [_oracles(data_set) for data_set in dict.fromkeys(row.data_set for row in TOKI_TABLE_3)],
        [_planted(pipeline, strength) for pipeline, strength in PLANTED.items()],
    ),
    paper_table(
        "toki-4",
        [
            *map(_attack, TOKI_TABLE_4),
            *(_unpublished(name, {name: f"sample/{name}"}) for name in ("reviews", "reviews-weak", "reviews-strong")),
        ],
        users_own=UsersOwn(
            lambda settings: any(attack.get("attack") == "guided" for attack in _attacks_asked(settings)),
            lambda called: _unpublished(called, {}),
        ),
    ),
)
