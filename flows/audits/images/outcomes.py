"""What single images add to the accuracy under attack, after a defence, and under corruptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.flows.audits.images.attacking import Robustness
from assay.flows.audits.images.corrupting import Flips
from assay.flows.audits.kind import Ground
from assay.flows.audits.outcomes import SAMPLES, Handles, Outcomes, Tables, codes, in_groups
from assay.flows.audits.subjects.flow import Examination
from assay.flows.audits.subjects.outcomes import CLEAN, clean_outcomes, clean_samples
from assay.tasks.attacks.settings import eps_name
from assay.tasks.attacks.trials import COLUMNS, trials
from assay.tasks.attacks.worst import WORST
from assay.tasks.corruptions.tallies import ALL, MEAN, severity_group
from assay.tasks.defenses.comparing import NONE
from assay.tasks.statistics.sampled import Sampled, right_or_wrong

ATTACKED = "attacked"


def outcomes_under_attack(ground: Ground, result: Robustness) -> Iterator[Outcomes]:
    """The accuracy of every model under every attack and their worst case, and what each defence leaves of it."""
    examination, challenged = ground.of(Examination), result.challenged
    for name in challenged.copies:
        yield clean_outcomes(challenged.models[name], examination)
    attacked: dict[str, dict[str, Outcomes]] = {}
    for model, by_attack in challenged.attacked.items():
        tables = {attack: one.audited.attacked for attack, one in by_attack.items()}
        measures = challenged.measures.get(model)
        if measures is not None and measures.worst is not None:
            tables[WORST] = measures.worst
        attacked[model] = {
            attack: Outcomes(
                "attack.accuracy", model, ATTACKED, {ATTACKED: one, SAMPLES: examination.evaluation}, attack
            )
            for attack, one in tables.items()
        }
        yield from attacked[model].values()
    for subject, by_defence in challenged.defended.items():
        for defence, model in {NONE: subject, **by_defence}.items():
            decides = attacked.get(model, {})
            after = decides.get(WORST) or next(iter(decides.values()), None)
            for outcomes in (clean_outcomes(challenged.models[model], examination), after):
                if outcomes is not None:
                    yield replace(
                        outcomes, metric="defense.accuracy", subject=subject, of=defence, key=outcomes.reading
                    )


def sampled_attacks(outcomes: Outcomes, tables: Tables, _of: str, group: str) -> Sampled | None:
    """Which images a model is right on, clean or at one ε."""
    if outcomes.reading == CLEAN:
        wanted = CLEAN if outcomes.metric == "defense.accuracy" else ""
        per_sample = clean_samples(tables) if group == wanted else None
    else:
        per_sample = _attacked(tables, group)
    return None if per_sample is None else in_groups(per_sample, tables)


def _attacked(tables: Tables, group: str) -> Sampled | None:
    rows = tables.read(ATTACKED, ["id", "eps", "gold", "clean", "attacked"])
    eps = next((one for one in rows["eps"].unique().to_pylist() if eps_name(one) == group), None)
    if eps is None:
        return None
    there = pc.equal(rows["eps"], eps)
    if (rows["clean"].to_numpy() < 0).all():  # of several labels
        (trial,) = trials([tables.read(ATTACKED, COLUMNS).filter(there)])
        return right_or_wrong(trial.ids.tolist(), trial.robust == trial.truth, trial.truth >= 0)
    here = rows.filter(there)
    truth = codes(here["gold"])
    right = (here["clean"].to_numpy() == truth) & (here["attacked"].to_numpy() == truth)
    return right_or_wrong(here["id"].to_pylist(), right, truth >= 0)


def outcomes_of_corruptions(ground: Ground, result: Flips) -> Iterator[Outcomes]:
    """The accuracy and the flips of every model, per perturbation and severity."""
    if result.corrupted is not None:
        tables: Handles = {"flips": result.corrupted.flips, SAMPLES: ground.of(Examination).evaluation}
        for model in ground.of(Robustness).models:
            for metric in ("corruption.accuracy", "corruption.flip_probability"):
                yield Outcomes(metric, model.name, "corrupted", tables)


def sampled_corruptions(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """What single images add to one perturbation at one severity, or to the mean of all."""
    hits, trials_ = ("correct", "judged") if outcomes.metric == "corruption.accuracy" else ("flips", "comparisons")
    rows = tables.read("flips", ["id", "subject", "perturbation", "severity", hits, trials_])
    rows = rows.filter(pc.equal(rows["subject"], outcomes.subject))
    weights = _frames_alike(rows) if hits == "correct" else {}
    if of != MEAN:
        rows = rows.filter(pc.equal(rows["perturbation"], of))
    if group != ALL:
        rows = rows.filter(pc.equal(pc.cast(rows["severity"], pa.string()), group.rpartition("=")[2]))
        if group != severity_group(int(rows["severity"][0].as_py()) if rows.num_rows else 0):
            return None
    if not rows.num_rows:
        return None
    each = np.array([weights.get(one, 1.0) for one in rows["perturbation"].to_pylist()])
    ids, at = np.unique(np.array(rows["id"].to_pylist(), dtype=np.str_), return_inverse=True)
    above, below = (
        np.bincount(at, rows[one].to_numpy() * each, len(ids)).astype(np.float64) for one in (hits, trials_)
    )
    there = below > 0
    return in_groups(Sampled(ids[there], above[there], below[there]), tables) if there.any() else None


def _frames_alike(rows: pa.Table) -> dict[str, float]:
    """What a frame of each perturbation counts, so that all perturbations count the same in their mean: they have 1, 2
    or all but one of the frames at full strength."""
    most = rows.group_by("perturbation").aggregate([("judged", "max")])
    judged = dict(zip(most["perturbation"].to_pylist(), most["judged_max"].to_pylist(), strict=True))
    return {name: max(judged.values()) / count for name, count in judged.items() if count}
