"""Tables 1-5 of Xu et al.: diagnostic models under attack, under corruption and defended."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from assay.data import published
from assay.flows.reproduce.paper_table import (
    Cell,
    Grid,
    Line,
    Ours,
    PaperTable,
    Result,
    Source,
    compared,
    number,
    papers_number,
    share,
)

DATA = {"lesions": "sample/lesions", "fundus": "sample/fundus", "chest": "sample/chest"}
METRICS = {"ACC": "accuracy", "AUC": "auc", "FR": "fooling_rate"}
BECAUSE = "the images are simulated and the networks smaller"
_PGD, _EPS = "xu-pgd-4", "eps=4/255"
_SIMULATED = (
    "The images are simulated (sample/lesions, sample/fundus, sample/chest) and the networks smaller: the tables share "
    "their layout, attacks and measures with the paper's, and not their numbers."
)
_ATTACKED = (
    _SIMULATED,
    "Our ε is in pixel values. The authors' PGD took ε in normalised values, so that its 4/255 was 0.4 to 0.9 levels "
    "of a pixel; their GAP took it in pixel levels. So their two attacks are not comparable, and ours are.",
)
_MELANOMA = "Their AUC of Melanoma is that of hard answers (the balanced accuracy); ours is of probabilities."
_LABELS = "Their accuracy of CheXNet takes a label as said from 0.7 under PGD and from 0.5 elsewhere; ours, from 0.5."
_FLIPS = (
    _SIMULATED,
    "Our sequences have 31 frames with the clean image among them; theirs were cut at 10, and 9 of 14 never reach it. "
    "CheXNet's 38.09 % was not divided by n − 1 and is of the Scale sequences: about 4.2 % a step and label.",
)
_DEPTH = (
    _SIMULATED,
    "The paper reads from it that deeper residual networks are less robust, by accuracy under attack and by RFP.",
)
_DEFENCES = (
    _SIMULATED,
    "The authors trained from ImageNet's weights, chose the checkpoint that was best on the test images, and attacked "
    "at ε in normalised values; ours start at the subject's weights or at random ones, as Algorithms 1 and 2 say, keep "
    "the last epoch, and take ε in pixel values. Their Standard of 80.2 % is exactly the benign share of their test "
    "set, 304 of 379, and the 25.0 % of Inception_v3 is chance of four: read ours beside the majority rate.",
)


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


def _attacks(name: str, shows: str, subjects: Sequence[published.Attacked], note: str) -> PaperTable:
    grid = Grid(
        "Accuracy, AUC and fooling rate under attack (X: training images)",
        ("model", "", "", "clean", "PGD 2/255", "PGD 4/255", "GAP 7 X", "GAP 7 val", "GAP 11 X", "GAP 11 val"),
        [_attacked(subject) for subject in subjects],
        absent="–",
    )
    return PaperTable(name, f"Xu et al., Table {name[-1]}", shows, [grid], (*_ATTACKED, note))


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
    return [
        f"Here {finding.subject}+{finding.of} is {finding.verdict}."
        for finding in result.findings.select("defense.accuracy", group=_EPS)
        if finding.degenerate
    ]


TABLES = (
    _attacks(
        "xu-1",
        "Table 1: AttnMel on skin lesions and Inception-v3 on eye backgrounds under PGD and GAP.",
        published.XU_TABLE_1,
        _MELANOMA,
    ),
    _attacks(
        "xu-2",
        "Table 2: CheXNet on radiographs with several findings each, under PGD and GAP.",
        published.XU_TABLE_2,
        _LABELS,
    ),
    PaperTable(
        "xu-3",
        "Xu et al., Table 3",
        "Table 3: the flip probability of the three subjects over the Robust-Benchmark.",
        [Grid("Flip probability", ("model", "paper", "ours"), [_flips(row) for row in published.XU_TABLE_3])],
        _FLIPS,
    ),
    PaperTable(
        "xu-4",
        "Xu et al., Table 4",
        "Table 4: clean and attacked accuracy and relative flip probability of six networks on skin lesions.",
        [
            Grid(
                "Six networks on skin lesions",
                ("model", "Ori_ACC", "ours", "Adv_ACC", "ours", "RFP", "ours"),
                [
                    Source(
                        "all six",
                        {published.XU_TABLE_4_PIPELINE: DATA["lesions"]},
                        [_six_networks(row) for row in published.XU_TABLE_4],
                        BECAUSE,
                        remarks=_with_depth,
                    )
                ],
            )
        ],
        _DEPTH,
    ),
    PaperTable(
        "xu-5",
        "Xu et al., Table 5",
        "Table 5: three subjects without a defence, attacked, and attacked with each defence, from both starts.",
        [
            Grid(
                "Accuracy under PGD at 4/255, 4 steps (None: clean); ours from the subject's weights and from scratch",
                ("model", "accuracy", "paper", "ours", "from scratch"),
                [_defended(subject) for subject in published.XU_TABLE_5],
            )
        ],
        _DEFENCES,
    ),
)
