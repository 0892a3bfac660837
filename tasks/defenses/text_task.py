"""Defended text subjects as a stage: every one is held against its original, clean and under every attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Predictions, Samples
from assay.data.word_schemas import AttackedTexts
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect
from assay.infra.stage import say, stage, write_table
from assay.tasks.attacks.noise.measuring import EVERY_KIND, answers_under_noise
from assay.tasks.attacks.noise.rows import NEWS, NOISE, ORIGINAL, SEVERITY, group_of
from assay.tasks.defenses.answers import CLEAN
from assay.tasks.defenses.comparing import NONE
from assay.tasks.defenses.text_comparing import (
    Tried,
    attacked_texts,
    clean_texts,
    control_comparison_findings,
    text_accuracy_findings,
    text_comparison_findings,
    tried,
)
from assay.tasks.statistics.controls import control_of
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.grouped_samples import groups_by_id
from assay.tasks.subjects.gold_codes import codes_known

Noised = Mapping[str, Artifact[Predictions]]


@stage(version=5, title="defences")
def measure_text_defences(
    predictions: Mapping[str, Artifact[Predictions]],
    attacked: Mapping[str, Mapping[str, Artifact[AttackedTexts]]],
    noisy: Mapping[str, Artifact[Samples]],
    said: Mapping[str, Noised],
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    name: str,
    significance: float,
    controlled: Mapping[str, Sequence[str]] | None = None,
) -> Artifact[Findings]:
    """The findings on one subject's defences: `defense.accuracy`, `defense.gain`, `defense.mcnemar_p`, and over a
    control `defense.gain_over_control`, `defense.control_mcnemar_p`.

    `predictions`, `attacked` (by attack) and `said` (of the `noisy` texts, by attack) go by the name of the defence,
    those of the undefended subject by `none`; `controlled` are the defences that have a control, with the attacks that
    made their copies.
    """
    names = class_names(collect(classes, None))
    known = collect(samples, ["id", "gold"])
    of_id = groups_by_id(samples)
    truth = dict(zip(known["id"].to_pylist(), codes_known(known, names).tolist(), strict=True))

    def answers_of(model: str) -> list[Tried]:
        trials = [clean_texts(collect(predictions[model], ["id", "predicted"]), truth)]
        for called, table in attacked.get(model, {}).items():
            trials.append(attacked_texts(called, collect(table, ["id", "predicted", "attacked"]), truth))
        for called, predicted in said.get(model, {}).items():
            trials += _under_noise(called, noisy[called], predicted, samples, truth)
        return [one.grouped(of_id) for one in trials]

    answers = {model: answers_of(model) for model in predictions}
    findings = [one for model in answers for one in text_accuracy_findings(answers[model], model, name, names)]
    attacks = {one: made for one, made in (controlled or {}).items() if one in answers}
    controls = {control_of(one) for one in attacks}
    for defence, defended in answers.items():
        if defence != NONE:
            findings += text_comparison_findings(
                answers[NONE], defended, defence, name, significance=significance, conclude=defence not in controls
            )
        if defence in attacks and control_of(defence) in answers:
            findings += control_comparison_findings(
                answers[control_of(defence)], defended, defence, name, attacks[defence], significance=significance
            )
    say(f"{name} · {_concluded(findings)}")
    return write_table(findings_table(findings), into=Findings)


def _under_noise(
    called: str,
    noisy: Artifact[Samples],
    predictions: Artifact[Predictions],
    samples: Artifact[Samples],
    truth: Mapping[str, int],
) -> list[Tried]:
    """The answers at the highest severity: to every kind of noise, and wrong where any kind made them wrong."""
    known = collect(samples, ["id"])
    rows = collect(noisy, ["id", ORIGINAL, NOISE, SEVERITY, NEWS])
    answers = answers_under_noise(rows, collect(predictions, ["id", "predicted"]), known)
    last = max(one.condition.severity for one in answers)
    ids = known["id"].to_pylist()
    highest = [one for one in answers if one.condition.severity == last]
    trials = [tried(one.condition.group, ids, one.predicted, truth, attack=called) for one in highest]
    if len(highest) > 1:
        worst = highest[0].predicted.copy()
        for place, sample in enumerate(ids):
            worst[place] = next(
                (one.predicted[place] for one in highest if one.predicted[place] != truth[sample]), worst[place]
            )
        trials.append(tried(group_of(EVERY_KIND, last), ids, worst, truth, attack=called, given=False))
    return trials


def _concluded(findings: Sequence[Finding]) -> str:
    """What was concluded of each defence, in a line."""
    over = {"defense.mcnemar_p": "", "defense.control_mcnemar_p": " beside its control"}
    tests = [one for one in findings if one.metric in over and one.group != CLEAN]
    conclusions = [f"{one.of} {one.verdict} on {one.group}{over[one.metric]}" for one in tests]
    return "; ".join(conclusions) if conclusions else "no attack to withstand"
