"""Tables 1-5 of Xu et al.: diagnostic models under attack, under corruption and defended."""

from __future__ import annotations

from itertools import pairwise

from assay.data import published
from assay.flows.reproduce.paper_table import (
    Cell,
    Line,
    Ours,
    Result,
    Source,
    compared,
    number,
    paper_table,
    papers_number,
    share,
)

DATA = {"lesions": "sample/lesions", "fundus": "sample/fundus", "chest": "sample/chest"}
METRICS = {"ACC": "accuracy", "AUC": "auc", "FR": "fooling_rate"}
BECAUSE = "the images are simulated and the networks smaller"
_PGD, _EPS = "xu-pgd-4", "eps=4/255"


def _attacked(subject: published.Attacked) -> Source:
    lines = []
    for measure in published.XU_MEASURES:
        write = number(".3f") if measure == "AUC" else share()
        cells: list[Cell] = []
        for (of, group, images), value in zip(published.XU_CONDITIONS, subject.rows[measure], strict=True):
            metric = f"{'subject' if of == 'clean' else 'attack'}.{METRICS[measure]}"
            place = (metric, of, group + (", training" if images == "X" else ""), subject.subject)
            cells.append("–" if value is None else Ours(*place, write, (value,)))
        lines += compared([(subject.model, measure, "paper"), ("", "", "ours")], cells)
    return Source(subject.model, {subject.pipeline: DATA[subject.pipeline]}, lines, BECAUSE)


def _flips(row: published.FlipProbability) -> Source:
    ours = Ours("corruption.flip_probability", "mean", "all", row.subject, share(2), (row.flip_probability,))
    because = BECAUSE if row.model != "CheXNet" else f"the paper's number was not divided by n − 1, and {BECAUSE}"
    lines = [Line((row.model, papers_number(ours), ours))]
    return Source(row.model, {row.pipeline: DATA[row.pipeline]}, lines, because)


def _six_networks(row: published.Compared) -> Line:
    flips = Ours("corruption.flip_probability", "mean", "all", row.subject, lambda _: "1 (the reference)")
    relative = "corruption.relative_flip_probability"
    cells = (
        Ours("subject.accuracy", "clean", "", row.subject, share(2), (row.clean,)),
        Ours("attack.accuracy", _PGD, _EPS, row.subject, share(2), (row.attacked,)),
        Ours(relative, "mean", "all", row.subject, number(".2f"), (row.relative_flips,), otherwise=flips),
    )
    return Line((row.model, *(text for cell in cells for text in (papers_number(cell), cell))))


def _all_six() -> Source:
    pipelines = {"lesions-depth": DATA["lesions"]}
    lines = [_six_networks(row) for row in published.XU_TABLE_4]
    return Source("all six", pipelines, lines, BECAUSE, remarks=_with_depth)


def _with_depth(result: Result) -> list[str]:
    """Whether accuracy under attack falls, and RFP rises, from ResNet50 over 101 to 152, as it does in the paper."""
    sentences = []
    for metric, of, group, what, sign in (
        ("attack.accuracy", _PGD, _EPS, "accuracy under attack falls", -1),
        ("corruption.relative_flip_probability", "mean", "all", "RFP rises", 1),
    ):
        findings = [result.findings.get(metric, f"resnet{depth}", of, group) for depth in (50, 101, 152)]
        values = [finding.value for finding in findings if finding is not None and finding.value is not None]
        if len(values) == len(findings):
            shows = all(sign * (after - before) > 0 for before, after in pairwise(values))
            numbers = ", ".join(f"{value:.3f}" for value in values)
            sentences.append(f"Here {what} with depth: {'yes' if shows else 'no'} ({numbers}).")
    return sentences


def _defended(subject: published.Defended) -> Source:
    def ours(of: str, group: str, paper: float) -> Ours:
        return Ours("defense.accuracy", of, group, subject.subject, share(), (paper,))

    clean, attacked = ours("none", "clean", subject.none), ours("none", _EPS, subject.attack)
    lines = [
        Line((subject.model, "None", papers_number(clean), clean, "")),
        Line((subject.model, "Attack", papers_number(attacked), attacked, "")),
    ]
    for defence, value in subject.defences.items():
        starts: list[Cell] = ["–", "–", "–"]
        if value is not None:
            starts = [ours(f"{defence}-{start}", _EPS, value) for start in ("subject", "scratch")]
            starts = [papers_number(starts[0]), *starts]
        lines.append(Line((subject.model, published.XU_TABLE_5_DEFENCES[defence], *starts)))
    data_set = DATA[subject.pipeline.removesuffix("-defended")]
    return Source(subject.model, {subject.pipeline: data_set}, lines, BECAUSE, remarks=_degenerate)


def _degenerate(result: Result) -> list[str]:
    """The defended models that give one answer to (almost) everything, in one sentence."""
    findings = result.findings.select("defense.accuracy", group=_EPS)
    named = [f"{each.subject}+{each.of} ({each.verdict.partition(': ')[2]})" for each in findings if each.degenerate]
    return [f"Degenerate here: {', '.join(named)}."] if named else []


TABLES = (
    paper_table("xu-1", [_attacked(subject) for subject in published.XU_TABLE_1]),
    paper_table("xu-2", [_attacked(subject) for subject in published.XU_TABLE_2]),
    paper_table("xu-3", [_flips(row) for row in published.XU_TABLE_3]),
    paper_table("xu-4", [_all_six()]),
    paper_table("xu-5", [_defended(subject) for subject in published.XU_TABLE_5]),
)
