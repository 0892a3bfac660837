"""Defended text subjects as a stage: every one is held against its original, clean and under every attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Predictions, Samples
from assay.data.word_schemas import AttackedTexts
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.attacks.noise.measuring import EVERY_KIND, answers_under_noise
from assay.tasks.attacks.noise.rows import NEWS, NOISE, ORIGINAL, SEVERITY, group_of
from assay.tasks.defenses.answers import CLEAN
from assay.tasks.defenses.comparing import NONE
from assay.tasks.defenses.text_comparing import (
    Tried,
    attacked_texts,
    clean_texts,
    text_accuracy_findings,
    text_comparison_findings,
    tried,
)
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.subjects.texts.rows import codes_known

Noised = Mapping[str, Artifact[Predictions]]


@stage(version=1, title="defences", draws=True)
def measure_text_defences(
    predictions: Mapping[str, Artifact[Predictions]], attacked: Mapping[str, Mapping[str, Artifact[AttackedTexts]]],
    noisy: Mapping[str, Artifact[Samples]], said: Mapping[str, Noised], samples: Artifact[Samples],
    classes: Artifact[Classes], name: str, significance: float,
) -> Artifact[Findings]:  # fmt: skip
    """The findings on one subject's defences: `defense.accuracy`, `defense.gain`, `defense.mcnemar_p`.

    `predictions`, `attacked` (by attack) and `said` (of the `noisy` texts, by attack) go by the name of the defence,
    those of the undefended subject by `none`.
    """
    names = class_names(collect(classes, None))
    known = collect(samples, ["id", "gold"])
    truth = dict(zip(known["id"].to_pylist(), codes_known(known, names).tolist(), strict=True))

    def answers_of(model: str) -> list[Tried]:
        found = [clean_texts(collect(predictions[model], ["id", "predicted"]), truth)]
        for called, table in attacked.get(model, {}).items():
            found.append(attacked_texts(called, collect(table, ["id", "predicted", "attacked"]), truth))
        for called, heard in said.get(model, {}).items():
            found += _under_noise(noisy[called], heard, samples, truth)
        return found

    original = answers_of(NONE)
    findings = text_accuracy_findings(original, NONE, name, names)
    for defence in predictions:
        if defence != NONE:
            defended = answers_of(defence)
            findings += text_accuracy_findings(defended, defence, name, names)
            findings += text_comparison_findings(
                original, defended, defence, name, significance=significance, seeds=stage_seeds()
            )
    say(f"{name} · {_concluded(findings)}")
    return write_table(findings_table(findings), into=Findings)


def _under_noise(
    noisy: Artifact[Samples], said: Artifact[Predictions], samples: Artifact[Samples], truth: Mapping[str, int]
) -> list[Tried]:
    """The answers at the highest severity: to every kind of noise, and wrong where any kind made them wrong."""
    known = collect(samples, ["id"])
    rows = collect(noisy, ["id", ORIGINAL, NOISE, SEVERITY, NEWS])
    answers = answers_under_noise(rows, collect(said, ["id", "predicted"]), known)
    last = max(one.condition.severity for one in answers)
    ids = known["id"].to_pylist()
    highest = [one for one in answers if one.condition.severity == last]
    found = [tried(one.condition.group, ids, one.said, truth, concluded=len(highest) == 1) for one in highest]
    if len(highest) > 1:
        worst = highest[0].said.copy()
        for place, sample in enumerate(ids):
            worst[place] = next((one.said[place] for one in highest if one.said[place] != truth[sample]), worst[place])
        found.append(tried(group_of(EVERY_KIND, last), ids, worst, truth))
    return found


def _concluded(findings: Sequence[Finding]) -> str:
    """What was concluded of each defence, in a line."""
    tests = [one for one in findings if one.metric == "defense.mcnemar_p" and one.group != CLEAN]
    said = [f"{one.of} {one.verdict} on {one.group}" for one in tests]
    return "; ".join(said) if said else "no attack to withstand"
