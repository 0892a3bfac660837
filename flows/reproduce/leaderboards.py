"""What stands in the tables of public benchmarks, at a size for CPUs: small networks beside entries of RobustBench, and
beside the AlexNet of MedMNIST-C.
"""

from __future__ import annotations

from statistics import fmean

from assay.data import published
from assay.flows.reproduce.paper_table import Line, Ours, Result, Source, number, paper_table, share
from assay.tasks.corruptions.tallies import ALL, MEAN
from assay.tasks.statistics.findings import Finding

BECAUSE = "the networks are smaller and learned for minutes, from fewer images"


# RobustBench: clean accuracy, and what AutoAttack leaves of it in L∞ and L2.


def _board(called: str, pipeline: str, data_set: str, eps: tuple[str, str], printed: list[Line]) -> Source:
    def lines(result: Result | None) -> list[Line]:
        subjects = [] if result is None else result.findings.distinct("subject", "attack.accuracy")
        return [*printed, *(_ours(subject, eps) for subject in subjects)]

    return Source(called, {pipeline: data_set}, lines, BECAUSE)


def _ours(subject: str, eps: tuple[str, str]) -> Line:
    clean = Ours("subject.accuracy", "clean", "", subject, share())
    attacks = zip(("autoattack", "autoattack-l2"), eps, strict=True)
    left = (Ours("attack.accuracy", attack, group, subject, share()) for attack, group in attacks)
    return Line((subject, "small-cnn (ours)", clean, *left), ours=True)


def _theirs(entry: published.RobustBenchEntry) -> Line:
    clean, robust = (share()(Finding("attack.accuracy", value=value)) for value in (entry.clean, entry.robust))
    return Line((entry.entry, entry.network, clean, *((robust, "–") if entry.norm == "linf" else ("–", robust))))


_ENTRIES = [_theirs(entry) for entry in published.ROBUSTBENCH]
ROBUSTBENCH = paper_table(
    "robustbench",
    [_board("CIFAR-10", "cifar-robust", "cifar10-test", ("eps=8/255", "l2=0.5"), _ENTRIES)],
    [_board("digits", "digits-robust", "sample/digits", ("eps=0.1", "l2=1"), [])],
)


# MedMNIST-C: balanced accuracy under each corruption, and the mean balanced errors beside a reference.

REFERENCE, BESIDE = "small-cnn", "vgg-cifar"
_CLEAN = "clean"


def _pneumonia(result: Result | None) -> list[Line]:
    lines = [_accuracies(name, error) for name, error in published.MEDMNIST_C.items()]
    for metric, called in (("balanced_error", "bmCE"), ("relative_balanced_error", "rmCE")):
        ratio = Ours(f"corruption.{metric}", MEAN, ALL, BESIDE, number(".2f"))
        lines.append(Line((f"{called} beside {REFERENCE}", "", "1 (the reference)", ratio), ours=True))
    over_theirs = ("" if result is None else _over_alexnet(result, subject) for subject in (REFERENCE, BESIDE))
    return [*lines, Line(("bmCE over AlexNet’s errors", "1", *over_theirs))]


def _accuracy(name: str, subject: str) -> Ours:
    place = (_CLEAN, "") if name == _CLEAN else (f"pneumoniamnist/{name}", ALL)
    return Ours(f"{'subject' if name == _CLEAN else 'corruption'}.balanced_accuracy", *place, subject, share())


def _accuracies(name: str, error: float) -> Line:
    theirs = share()(Finding("corruption.balanced_accuracy", value=1 - error))
    return Line((name, theirs, *(_accuracy(name, subject) for subject in (REFERENCE, BESIDE))))


def _over_alexnet(result: Result, subject: str) -> str:
    """The mean over the corruptions of our balanced error divided by AlexNet's; nothing where one was not measured."""
    theirs = {name: error for name, error in published.MEDMNIST_C.items() if name != _CLEAN}
    findings = {name: _accuracy(name, subject).finding(result) for name in theirs}
    values = {name: each.value for name, each in findings.items() if each is not None and each.value is not None}
    return f"{fmean((1 - values[name]) / theirs[name] for name in theirs):.2f}" if len(values) == len(theirs) else ""


MEDMNIST_C = paper_table(
    "medmnist-c", [Source("PneumoniaMNIST", {"pneumonia-c": "pneumonia-mnist"}, _pneumonia, BECAUSE)]
)
