"""What stands in each table of the five papers: from their numbers to the findings that stand beside them, paper by
paper; and, of no paper, how far claims move when another seed trains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from math import exp
from statistics import median

from assay.data import published
from assay.data.published import AttackRow, TermsRow
from assay.flows.reproduce.leaderboards import MEDMNIST_C, ROBUSTBENCH
from assay.flows.reproduce.paper_table import (
    PLAIN,
    Cell,
    Line,
    Ours,
    PaperTable,
    Result,
    Source,
    UsersOwn,
    number,
    paper_table,
    papers_number,
    share,
    small,
    verdict,
)
from assay.flows.reproduce.published import OverSeeds
from assay.tasks.attacks.table import TEXT_ATTACKS
from assay.tasks.attacks.terms.measures import CLEAN, Stage
from assay.tasks.attacks.terms.page import TermFindings
from assay.tasks.attacks.texts.page import WordFindings, limits_in_short
from assay.tasks.statistics.findings import Finding

# Table 1 of Pugh et al.: does the accuracy of D_i fall along the order?


LABELERS = ("majority", "snorkel")


def rho_and_p(finding: Finding) -> str:
    """ρ and its p as the paper prints them.

    >>> rho_and_p(Finding("ordering.spearman", value=-0.5, p_value=0.1))
    '-0.500 (0.100)'
    """
    return number("+.3f")(finding) + ("" if finding.p_value is None else f" ({finding.p_value:.3f})")


def _study_line(study: published.Study, labeler: str, approach: str) -> Line:
    """Of a labeler and an approach the paper's ρ and p, ours, the tie-free ρ and the permutation p."""
    rho, p = study.published(labeler, approach)
    paper = rho_and_p(Finding("ordering.spearman", value=rho, p_value=p))
    ours = [
        Ours("ordering.spearman", approach, labeler, write=rho_and_p, paper=(rho,)),
        Ours("ordering.spearman_tie_free", approach, labeler, write=number("+.3f")),
        Ours("ordering.permutation_p", approach, labeler, write=number(".4f")),
        Ours("ordering.trend_p", approach, labeler, write=verdict),
    ]
    return Line((study.name, labeler, approach, paper, *ours))


def _study(study: published.Study) -> Source:
    real, brought = study.pipeline in ("youtube-spam", "weather-crowd"), study.why == published.BROUGHT
    data_set = None if brought else study.pipeline if real else f"sample/{study.pipeline}"
    way = f"no run yet; its data is not public; with data and rules of your own, call the pipeline {study.pipeline}"
    lines = [_study_line(study, labeler, approach) for labeler in LABELERS for approach in published.PUGH_APPROACHES]
    return Source(study.name, {study.pipeline: data_set}, lines, study.why, way if brought else "")


PUGH = paper_table("pugh-1", [_study(study) for study in published.PUGH_TABLE_1])


# Tables 1-5 of Xu et al.: diagnostic models under attack, under corruption and defended.


XU_DATA = {"lesions": "sample/lesions", "fundus": "sample/fundus", "chest": "sample/chest"}
XU_METRICS = {"ACC": "accuracy", "AUC": "auc", "FR": "fooling_rate"}
XU_BECAUSE = "the images are simulated and the networks smaller"
_XU_PGD, _XU_EPS = "xu-pgd-4", "eps=4/255"


def _attacked(subject: published.Attacked) -> Source:
    lines = []
    for measure in published.XU_MEASURES:
        write = number(".3f") if measure == "AUC" else share()
        cells: list[Cell] = []
        for (of, group, images), value in zip(published.XU_CONDITIONS, subject.rows[measure], strict=True):
            metric = f"{'subject' if of == 'clean' else 'attack'}.{XU_METRICS[measure]}"
            place = (metric, of, group + (", training" if images == "X" else ""), subject.subject)
            cells.append("–" if value is None else Ours(*place, write, (value,)))
        lines.append(Line((subject.model, measure, "paper", *map(papers_number, cells))))
        lines.append(Line(("", "", "ours", *cells), ours=True))
    return Source(subject.model, {subject.pipeline: XU_DATA[subject.pipeline]}, lines, XU_BECAUSE)


def _flips(row: published.FlipProbability) -> Source:
    ours = Ours("corruption.flip_probability", "mean", "all", row.subject, share(2), (row.flip_probability,))
    because = XU_BECAUSE if row.model != "CheXNet" else f"the paper's number was not divided by n − 1, and {XU_BECAUSE}"
    lines = [Line((row.model, papers_number(ours), ours))]
    return Source(row.model, {row.pipeline: XU_DATA[row.pipeline]}, lines, because)


def _six_networks(row: published.Compared) -> Line:
    flips = Ours("corruption.flip_probability", "mean", "all", row.subject, lambda _: "1 (the reference)")
    relative = "corruption.relative_flip_probability"
    cells = (
        Ours("subject.accuracy", "clean", "", row.subject, share(2), (row.clean,)),
        Ours("attack.accuracy", _XU_PGD, _XU_EPS, row.subject, share(2), (row.attacked,)),
        Ours(relative, "mean", "all", row.subject, number(".2f"), (row.relative_flips,), otherwise=flips),
    )
    return Line((row.model, *(text for cell in cells for text in (papers_number(cell), cell))))


def _with_depth(result: Result) -> list[str]:
    """Whether accuracy under attack falls, and RFP rises, from ResNet50 over 101 to 152, as it does in the paper."""
    sentences = []
    for metric, of, group, what, sign in (
        ("attack.accuracy", _XU_PGD, _XU_EPS, "accuracy under attack falls", -1),
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

    clean, attacked = ours("none", "clean", subject.none), ours("none", _XU_EPS, subject.attack)
    lines = [
        Line((subject.model, "None", papers_number(clean), clean, "")),
        Line((subject.model, "Attack", papers_number(attacked), attacked, "")),
    ]
    for defence, value in subject.defences.items():
        starts: list[Cell] = ["–", "–", "–"]
        if value is not None:
            starts = [ours(f"{defence}-{start}", _XU_EPS, value) for start in ("subject", "scratch")]
            starts = [papers_number(starts[0]), *starts]
        lines.append(Line((subject.model, published.XU_TABLE_5_DEFENCES[defence], *starts)))
    data_set = XU_DATA[subject.pipeline.removesuffix("-defended")]
    return Source(subject.model, {subject.pipeline: data_set}, lines, XU_BECAUSE, remarks=_degenerate)


def _degenerate(result: Result) -> list[str]:
    """The defended models that give one answer to (almost) everything, in one sentence."""
    findings = result.findings.select("defense.accuracy", group=_XU_EPS)
    named = [f"{each.subject}+{each.of} ({each.verdict.partition(': ')[2]})" for each in findings if each.degenerate]
    return [f"Degenerate here: {', '.join(named)}."] if named else []


_SIX = [_six_networks(row) for row in published.XU_TABLE_4]
_ALL_SIX = Source("all six", {"lesions-depth": XU_DATA["lesions"]}, _SIX, XU_BECAUSE, remarks=_with_depth)
XU = (
    paper_table("xu-1", [_attacked(subject) for subject in published.XU_TABLE_1]),
    paper_table("xu-2", [_attacked(subject) for subject in published.XU_TABLE_2]),
    paper_table("xu-3", [_flips(row) for row in published.XU_TABLE_3]),
    paper_table("xu-4", [_ALL_SIX]),
    paper_table("xu-5", [_defended(subject) for subject in published.XU_TABLE_5]),
)


# Tables 3 and 4 of Nguyen Tung et al. (TOKI): how good the trust oracles are, and the attack that one guides.


TOKI_PIPELINES = {
    "CAMS": ("cams", "cams"),
    "HateXplain": ("hatexplain", "hatexplain"),
    "ag_news": ("ag-news", "ag-news"),
    "rotten_tomatoes": ("rotten-tomatoes", "rt-polarity"),
    "emotion": ("emotion", "emotion"),
}
"""Per data set of the paper, the pipeline on it and what it is called here."""

PLANTED_SHORTCUTS = {"reviews-weak": "60 %", "reviews": "75 %", "reviews-strong": "85 %"}
"""The pipelines on planted shortcuts, and how often a shortcut holds in their training texts."""

TOKI_ORACLES = {"toki": "TOKI", "toki-ki": "TOKI(-K.I)", "naive": "Naive"}
VERDICTS_BROUGHT = {
    "Dong's": "its verdicts are not public; with a table of them, set trust.truth in a pipeline of your own",
    "Ours": "the authors' verdicts are not public; with a table of your own, set trust.truth in a pipeline of your own",
}
_NO_PIPELINE = "no pipeline; with texts of your own, add attacks: [a2t, guided] and trust"


def _oracles(data_set: str) -> Source:
    def lines(result: Result | None) -> list[Line]:
        return [line for row in published.TOKI_TABLE_3 if row.data_set == data_set for line in _oracle(row, result)]

    pipeline = dict([TOKI_PIPELINES[data_set]]) if data_set in TOKI_PIPELINES else {}
    because = "the subject is another, smaller one, and only some texts are explained"
    return Source(data_set, pipeline, lines, because, instead=VERDICTS_BROUGHT.get(data_set, ""), about=_spaces)


def _oracle(row: published.TokiRow, result: Result | None) -> list[Line]:
    """A line of the paper, and ours beneath; its Naive has no explainer, ours has one per explainer."""
    lines, subject = [], _explained_subject(result)
    for explainer in [row.explainer] if row.explainer else _explainers(result) or [""]:
        cells = [
            Ours(f"trust.{name}", row.oracle, explainer, subject, paper=(value,))
            for name, value in zip(published.TOKI_MEASURES, row.measures, strict=True)
        ]
        times: list[Cell] = ["", ""]
        if row.oracle == "toki":
            write = number(".0f")
            times = [Ours(f"trust.{name}_seconds", explainer, "", subject, write) for name in ("keyword", "label")]
        spent = ["" if seconds is None else f"{seconds:.0f}" for seconds in (row.keyword_seconds, row.label_seconds)]
        labels = (row.data_set, TOKI_ORACLES[row.oracle])
        theirs = (*labels, row.explainer, "paper", "", *map(papers_number, cells), *spent)
        ours = (*labels, explainer, "ours", _true_labels(result, explainer), *cells, *times)
        lines += [Line(theirs), Line(ours, ours=True)]
    return [line for at, line in enumerate(lines) if line.ours or at == 0]


def _true_labels(result: Result | None, explainer: str) -> str:
    """How many predictions are trustworthy and how many are not, by the true labels."""
    if result is None:
        return ""
    labels = ("trustworthy", "untrustworthy")
    shares = (result.findings.get("trust.truth", _explained_subject(result), explainer, label) for label in labels)
    return "/".join("?" if share is None else str(round((share.value or 0.0) * (share.n or 0))) for share in shares)


def _planted(pipeline: str, strength: str) -> Source:
    def lines(result: Result | None) -> list[Line]:
        subject = _explained_subject(result)
        lines = []
        for explainer in _explainers(result):
            means = [Ours("trust.g_mean", oracle, explainer, subject) for oracle in TOKI_ORACLES]
            auc = Ours("trust.confidence_auc", "naive", explainer, subject)
            lines.append(Line((pipeline, strength, explainer, *means, auc), ours=True))
        return lines

    return Source(pipeline, {pipeline: f"sample/{pipeline}"}, lines, about=_spaces, extra=True)


def _spaces(result: Result) -> list[str]:
    """By which vector spaces words were related."""
    spaces = result.findings.distinct("group", "trust.theta_relate")
    return [f"vector spaces: {', '.join(spaces)}"] if spaces else []


def _explained_subject(result: Result | None) -> str:
    """Whose predictions were explained; the first of several."""
    return next(iter([] if result is None else result.findings.distinct("subject", "trust.trustworthy")), "")


def _explainers(result: Result | None) -> list[str]:
    return [] if result is None else result.findings.distinct("of", "trust.trustworthy")


def _attack_on(row: AttackRow) -> Source:
    pipeline = dict([TOKI_PIPELINES[row.data_set]]) if row.data_set in TOKI_PIPELINES else {}

    def lines(result: Result | None) -> Sequence[Line]:
        return [_papers_attack(row), *_attack_lines(row.data_set, result, row)]

    because = "the subject and the limits on words are others, and fewer texts are attacked"
    return Source(row.data_set, pipeline, lines, because, "" if pipeline else _NO_PIPELINE, _limits)


def _unpublished(called: str, pipelines: Mapping[str, str | None]) -> Source:
    return Source(called, pipelines, lambda result: _attack_lines(called, result), about=_limits, extra=True)


def _papers_attack(row: AttackRow) -> Line:
    def cells(attack: published.Attack) -> list[str]:
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
    cells = (
        Ours("attack.success_rate", guided, "", subject, lambda finding: str(finding.n)),
        *_attack_cells(result, subject, guided, None if row is None else row.guided),
        *_attack_cells(result, subject, other, row.a2t if row is not None and other == "a2t" else None),
        Ours("attack.success_difference", pair, "", subject, number("+.3f"), papers),
        Ours("attack.mcnemar_p", pair, "", subject, _plain_p, otherwise=apart),
    )
    return Line((called, "ours" if other in ("", "a2t") else f"ours, {other}", *cells), ours=True)


def _attack_cells(result: Result, subject: str, attack: str, paper: published.Attack | None) -> list[Cell]:
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
    findings, names = WordFindings(result.findings), _attack_names(result.settings)
    for guided in names["guided"]:
        for subject in findings.subjects:
            if findings.get("success_rate", subject, guided) is not None:
                return subject, guided, tuple(name for name in names["a2t"] if (subject, name) in findings.tried)
    return None


def _attack_names(settings: Mapping[str, object]) -> dict[str, list[str]]:
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


TOKI = (
    paper_table(
        "toki-3",
        [_oracles(data_set) for data_set in dict.fromkeys(row.data_set for row in published.TOKI_TABLE_3)],
        [_planted(pipeline, strength) for pipeline, strength in PLANTED_SHORTCUTS.items()],
    ),
    paper_table(
        "toki-4",
        [
            *map(_attack_on, published.TOKI_TABLE_4),
            *(_unpublished(name, {name: f"sample/{name}"}) for name in ("reviews", "reviews-weak", "reviews-strong")),
        ],
        users_own=UsersOwn(
            lambda settings: any(attack.get("attack") == "guided" for attack in _attacks_asked(settings)),
            lambda called: _unpublished(called, {}),
        ),
    ),
)


# Figures 5 and 6 of Werpachowski et al.: the synthetic experiment in numbers, and what the paper says of it.


SYNTHETIC = {"overfitting-synthetic": "sample/half-spaces", "overfitting-synthetic-quick": "sample/half-spaces"}
BECAUSE_OPEN = "where the dependent model switches to rejection depends on what the paper leaves open"
_REJECTED = ("rejected", "rejected_basic")
_ERRORS = ("error", "adversarial_error", "estimate", "risk")
_PAPERS_EPS = (1.0, published.TRANSITION_EPS, *published.REJECTED_EPS, 75.0, 200.0)
_LEVEL = 0.05


def _over_eps(result: Result | None) -> list[Line]:
    """p, rejections and errors of both models over ε."""
    return [_at_eps(model, eps) for model in ("independent", "dependent") for eps in _eps_of(result, model)]


def _eps_of(result: Result | None, model: str) -> list[float]:
    if result is None:
        return list(_PAPERS_EPS)
    groups = result.findings.distinct("group", "overfitting", of=model)
    return [float(group.removeprefix("eps=")) for group in groups if "N=" not in group]


def _at_eps(model: str, eps: float) -> Line:
    words, claim = _papers_words(model, eps)
    group = f"eps={eps:g}"
    p = Ours("overfitting.p_value", model, group, write=_without_interval(small), claim=claim)
    rejected = [Ours(f"overfitting.{name}", model, group, write=share()) for name in _REJECTED]
    errors = [Ours(f"overfitting.{name}", model, group, write=_without_interval(share())) for name in _ERRORS]
    return Line((model, f"{eps:g}", p, *rejected, *errors, words))


def _papers_words(model: str, eps: float) -> tuple[str, Callable[[float], bool] | None]:
    """What the paper says of a model at ε, and whether a mean p is in accord with it."""
    if model == "independent":
        return "p near 1", lambda p: p >= 0.9
    if eps in published.REJECTED_EPS:
        return "rejected" + (", basic test: not" if eps in published.BASIC_MISSES_EPS else ""), lambda p: p <= _LEVEL
    if eps in published.BASIC_MISSES_EPS:
        return "one run rejected, basic test: not", None
    if eps == published.TRANSITION_EPS:
        return "in between", lambda p: _LEVEL < p < 0.95
    return ("not rejected", lambda p: p > _LEVEL) if eps <= 1 or eps >= 200 else ("", None)


def _of_n_models(result: Result | None) -> list[Line]:
    """The p-values of N models, independent at ε = 10, dependent where one model is not settled."""
    places = [("independent", published.INDEPENDENT_EPS), ("dependent", published.TRANSITION_EPS)]
    if result is None:
        return [_n_models(model, eps, models, []) for model, eps in places for models in published.TRANSITION_P]
    lines = []
    for model, eps in (*places, *_least_settled(result)):
        groups = result.findings.distinct("group", "overfitting.p_value", of=model)
        numbers = [group.partition("N=")[2] for group in groups if group.partition(", ")[0] == f"eps={eps:g}"]
        lines += [
            _n_models(model, eps, models, _p_values(result, model, eps, models))
            for models in sorted({int(number or 1) for number in numbers})
        ]
    return lines


def _p_values(result: Result, model: str, eps: float, models: int) -> list[float]:
    """Every p that the run itself kept; a published result has none."""
    asked = (model, eps, models)
    return [
        exp(row["log_p"])
        for table in result.tables("SyntheticTests")
        for row in table.to_pylist()
        if (row["experiment"], row["eps"], row["models"]) == asked
    ]


def _n_models(model: str, eps: float, models: int, p: list[float]) -> Line:
    group = f"eps={eps:g}" + (f", N={models}" if models > 1 else "")
    papers = published.TRANSITION_P.get(models, ()) if (model, eps) == ("dependent", published.TRANSITION_EPS) else ()
    words = ", ".join(f"{value:.4f}" for value in papers)
    words += f" (median {published.TRANSITION_MEDIAN})" if papers and models == 1 else ""
    claim = (lambda value: value >= 0.9) if model == "independent" else None
    mean = Ours("overfitting.p_value", model, group, write=_without_interval(small), paper=papers, claim=claim)
    bins = Ours("overfitting.p_value", model, group, write=lambda finding: str(finding.n))
    spread = [small(Finding("p", value=value)) for value in ((median(p), min(p), max(p)) if p else ())] or ["", "", ""]
    return Line((model, f"{eps:g}", str(models), bins, mean, *spread, "near 1" if model == "independent" else words))


def _least_settled(result: Result) -> list[tuple[str, float]]:
    """Our own ε at which one dependent model is least settled, where it is another than the paper's."""
    means = {
        eps: finding.value
        for eps in _eps_of(result, "dependent")
        if (finding := result.findings.get("overfitting.p_value", of="dependent", group=f"eps={eps:g}"))
    }
    eps = min(means, key=lambda eps: abs((means[eps] or 0.0) - 0.5)) if means else published.TRANSITION_EPS
    return [("dependent", eps)] if eps != published.TRANSITION_EPS else []


def _without_interval(write: Callable[[Finding], str]) -> Callable[[Finding], str]:
    """Only the mean: what findings of this experiment hold beside it is the spread over runs, no interval of it."""
    return lambda finding: write(Finding(finding.metric, value=finding.value))


def _models_and_steps(result: Result) -> list[str]:
    runs = max((finding.n or 0 for finding in result.findings.select("overfitting.rejected")), default=0)
    synthetic = (result.settings.get("overfitting") or {}).get("synthetic") or {}
    return [f"{runs} models of {synthetic.get('steps', '?')} steps each"]


WERPACHOWSKI = tuple(
    paper_table(name, [Source("the experiment", SYNTHETIC, lines, BECAUSE_OPEN, about=_models_and_steps)])
    for name, lines in (("werpachowski-5", _over_eps), ("werpachowski-6", _of_n_models))
)


# Tables 2-6 of Araujo et al.: entities and the similarity of sentences under typing errors and synonyms.


Rows = Sequence[TermsRow]
TERM_MEASURES: Mapping[Stage, tuple[str, ...]] = {"ner": ("precision", "recall", "f1"), "sts": ("pearson", "spearman")}
TERM_DATA = {"abstracts-ner": "sample/abstracts", "abstracts-sts": "sample/abstract-pairs"}


def _terms_table(name: str, stage: Stage, printed: Mapping[str, Rows]) -> PaperTable:
    asked = list(dict.fromkeys((row.trained, row.tested) for rows in printed.values() for row in rows))
    sources = [
        _terms_source(data, published.ARAUJO_PIPELINES[data], stage, asked, rows) for data, rows in printed.items()
    ]
    return paper_table(name, [*sources, _terms_source("", published.ARAUJO_EMBEDDED[stage], stage, asked, ())])


def _terms_source(data_set: str, pipeline: str, stage: Stage, asked: Sequence[tuple[str, str]], rows: Rows) -> Source:
    papers = [_papers_terms(data_set, row, stage) for row in rows]

    def lines(result: Result | None) -> list[Line]:
        return [*papers, *([] if result is None else _our_terms(result, pipeline, stage, asked, rows))]

    because = "the subject is another, smaller model, and the terms and their synonyms were found otherwise"
    return Source(pipeline, {pipeline: TERM_DATA.get(pipeline, pipeline)}, lines, because)


def _papers_terms(data_set: str, row: TermsRow, stage: Stage) -> Line:
    numbers = [f"{getattr(row, name):.3f}" for name in TERM_MEASURES[stage]]
    return Line((data_set, f"{row.model} (paper)", row.trained, row.tested, *numbers, ""))


def _our_terms(result: Result, pipeline: str, stage: Stage, asked: Sequence[tuple[str, str]], rows: Rows) -> list[Line]:
    """Our subjects side by side: what each measures beside either of the paper's models, and what the intervals say."""
    findings, lines = TermFindings(stage, result.findings), list[Line]()
    first = {CLEAN: (CLEAN, ""), **{key[0]: key for key in findings.attacks}}
    for subject in findings.subjects:
        for trained, tested in asked:
            if published.ARAUJO_SETS[tested] not in first:
                continue
            model = subject if trained == "original" else f"{subject}+on-{published.ARAUJO_SETS[trained]}"
            place = (*first[published.ARAUJO_SETS[tested]], model)
            papers = [row for row in rows if (row.trained, row.tested) == (trained, tested)]
            numbers = {name: tuple(getattr(row, name) for row in papers) for name in TERM_MEASURES[stage]}
            cells = [Ours(f"{stage}.{name}", *place, paper=paper) for name, paper in numbers.items()]
            change = "drop" if trained == "original" else "cost" if tested == "original" else "gain"
            judged = Ours(f"{stage}.{change}", *place, write=verdict)
            lines.append(Line((pipeline, subject, trained, tested, *cells, judged), ours=True))
    return lines


ARAUJO = tuple(
    _terms_table(name, "sts" if name in ("araujo-3", "araujo-6") else "ner", printed)
    for name, printed in published.ARAUJO_TABLES.items()
)


# Of no paper: how far the claims that rest on one training move when another seed trains.


OVER_SEEDS = {
    "digits": (
        "sample/digits",
        ("subject.accuracy *", "attack.accuracy worst-case eps=[48]/255", "attack.accuracy worst-case eps=0.1"),
    ),
    "digits-defended": ("sample/digits", ("defense.accuracy * clean", "defense.accuracy * eps=0.1")),
    "reviews": ("sample/reviews", ("trust.g_mean * lime", "attack.success_rate *")),
}
"""Per pipeline that is published over several seeds, its data set and which of its claims are shown."""

OF_ONES_OWN = ("subject.accuracy *", "attack.accuracy worst-case *", "defense.accuracy *", "trust.g_mean *", "ner.f1 *")


def _over_several_seeds(called: str, pipelines: Mapping[str, str | None], claims: Sequence[str]) -> Source:
    def lines(result: Result | None) -> list[Line]:
        if result is None:
            return []
        return [_seeds_line(called, claim) for claim in result.over_seeds() if _is_claimed(claim, claims)]

    return Source(called, pipelines, lines, extra=True)


def _is_claimed(claim: OverSeeds, claims: Sequence[str]) -> bool:
    finer = ", " in claim.group or claim.group.startswith("stratum ")
    return not finer and any(fnmatchcase(f"{claim.metric} {claim.of} {claim.group}", each) for each in claims)


def _seeds_line(called: str, claim: OverSeeds) -> Line:
    write = share() if claim.metric.endswith(("accuracy", "success_rate")) else PLAIN
    mean, spread, least, largest = (
        write(Finding(claim.metric, value=value)) for value in (claim.mean, claim.spread, claim.least, claim.largest)
    )
    ours = Ours(claim.metric, claim.of, claim.group, claim.subject, write)
    about = claim.metric.partition(".")[2].replace("_", " ")
    numbers = (ours, mean, spread, f"{least} to {largest}", str(claim.seeds))
    return Line((called, about, claim.of, claim.group, claim.subject, *numbers), ours=True)


SEEDS = paper_table(
    "seeds",
    [_over_several_seeds(name, {name: data}, claims) for name, (data, claims) in OVER_SEEDS.items()],
    users_own=UsersOwn(
        lambda settings: bool(settings.get("subjects")),
        lambda called: _over_several_seeds(called, {}, OF_ONES_OWN),
        over_seeds=True,
    ),
)

TABLES: Mapping[str, PaperTable] = {
    table.name: table for table in (PUGH, *XU, *TOKI, *WERPACHOWSKI, *ARAUJO, ROBUSTBENCH, MEDMNIST_C, SEEDS)
}
