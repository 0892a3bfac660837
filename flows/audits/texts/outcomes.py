"""What single texts add to the accuracy under attack and after a defence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from assay.flows.audits.kind import Ground
from assay.flows.audits.outcomes import SAMPLES, Outcomes, Tables, codes, in_groups
from assay.flows.audits.subjects.flow import Examination
from assay.flows.audits.subjects.outcomes import CLEAN, clean_outcomes, clean_samples
from assay.flows.audits.texts.flow import TextAttack, WordAudit
from assay.infra.artifacts import Artifact
from assay.tasks.attacks.noise.measuring import EVERY_KIND, answers_under_noise
from assay.tasks.attacks.noise.rows import NEWS, ORIGINAL, SEVERITY, group_of
from assay.tasks.attacks.noise.rows import NOISE as NOISE_KIND
from assay.tasks.defenses.comparing import NONE
from assay.tasks.statistics.sampled import Sampled, right_or_wrong

WORDS, NOISE = "words", "noise"
DEFENSE = "defense.accuracy"


def outcomes(ground: Ground, result: WordAudit) -> Iterator[Outcomes]:
    """The accuracy of every model under every attack, and what each defence leaves of it."""
    examination, challenged = ground.of(Examination), result.challenged
    for name in challenged.copies:
        yield clean_outcomes(challenged.models[name], examination)
    for model, by_attack in challenged.attacked.items():
        yield from (_of_attack(one, model, attack, examination) for attack, one in by_attack.items())
    for subject, by_defence in challenged.defended.items():
        for defence, model in {NONE: subject, **by_defence}.items():
            attacked = challenged.attacked.get(model, {})
            given = [clean_outcomes(challenged.models[model], examination)]
            given += [_of_attack(one, model, attack, examination) for attack, one in attacked.items()]
            for outcome in given:
                yield replace(outcome, metric=DEFENSE, subject=subject, of=defence, key=outcome.of)


def _of_attack(attack: TextAttack, model: str, called: str, examination: Examination) -> Outcomes:
    tables: dict[str, Artifact[Any]] = {SAMPLES: examination.evaluation}
    if attack.attacked is not None:
        return Outcomes("attack.accuracy", model, WORDS, tables | {"attacked": attack.attacked}, called)
    if attack.noisy is not None and attack.answers is not None:
        tables |= {"noisy": attack.noisy, "answers": attack.answers}
    return Outcomes("attack.accuracy", model, NOISE, tables, called)


def sampled(outcomes: Outcomes, tables: Tables, _of: str, group: str) -> Sampled | None:
    """Which texts a model is right on: clean, after a word attack, or with noise."""
    defends = outcomes.metric == DEFENSE
    if outcomes.reading == CLEAN:
        per_sample = clean_samples(tables) if group == (CLEAN if defends else "") else None
    elif outcomes.reading == WORDS:
        per_sample = _attacked(tables, defends) if group == (outcomes.key if defends else "") else None
    else:
        per_sample = _noisy(tables, group)
    return None if per_sample is None else in_groups(per_sample, tables)


def _attacked(tables: Tables, from_the_start: bool) -> Sampled:
    """After a word attack; in the matrix of defences what was wrong `from_the_start` stays wrong."""
    rows = tables.read("attacked", ["id", "gold", "predicted", "attacked"])
    truth, before, after = (codes(rows[name]) for name in ("gold", "predicted", "attacked"))
    right = (after == truth) & ((before == truth) | (not from_the_start))
    return right_or_wrong(rows["id"].to_pylist(), right, truth >= 0)


def _noisy(tables: Tables, group: str) -> Sampled | None:
    samples = tables.read(SAMPLES, ["id", "gold"])
    noisy = tables.read("noisy", ["id", ORIGINAL, NOISE_KIND, SEVERITY, NEWS])
    answers = answers_under_noise(noisy, tables.read("answers", ["id", "predicted"]), samples)
    truth = codes(samples["gold"])
    wanted = [one.predicted == truth for one in answers if one.condition.group == group]
    wanted = wanted or [
        one.predicted == truth for one in answers if group_of(EVERY_KIND, one.condition.severity) == group
    ]
    return right_or_wrong(samples["id"].to_pylist(), np.all(wanted, axis=0), truth >= 0) if wanted else None
