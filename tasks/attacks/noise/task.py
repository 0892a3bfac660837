"""Noise as stages: noisy texts are made once for all subjects, then each subject's answers to them are measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.data.changed_text_schemas import ChangedTexts
from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Predictions, Samples
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions, tally_of
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.attacks.noise.measuring import Codes, answers_under_noise, noise_findings
from assay.tasks.attacks.noise.rows import ENDS, NEWS, NOISE, ORIGINAL, SEVERITY, STARTS, noisy_copies, noisy_rows
from assay.tasks.attacks.noise.settings import NoiseKind
from assay.tasks.attacks.noise.showing import noise_examples, telling_samples
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.grouped_samples import groups_of
from assay.tasks.subjects.gold_codes import codes_known
from assay.tasks.subjects.predictions import require_same_samples

_MEASURED = ("id", ORIGINAL, NOISE, SEVERITY, NEWS)


@stage(version=1, title="noise", draws=True)
def add_noise(
    samples: Artifact[Samples], text: str, kinds: Sequence[NoiseKind], severities: Sequence[int]
) -> Artifact[Samples]:
    """Every text with every kind of noise at every severity, as samples of their own: the same for all subjects."""
    noisy: Artifact[Samples] = map_partitions(
        noisy_rows,
        samples,
        into=Samples,
        text=text,
        kinds=tuple(kinds),
        severities=tuple(severities),
        seeds=stage_seeds(),
    )
    say(f"{samples.rows} texts · {len(kinds)} kinds at {len(severities)} severities{_unchanged(noisy)}")
    return noisy


@stage(version=1, title="noisy copies", draws=True)
def copy_with_noise(
    samples: Artifact[Samples], text: str, kinds: Sequence[NoiseKind], severities: Sequence[int]
) -> Artifact[Samples]:
    """The samples with noise of one kind and severity in each, drawn per sample: what a defence learns from."""
    copies: Artifact[Samples] = map_partitions(
        noisy_copies,
        samples,
        into=Samples,
        text=text,
        kinds=tuple(kinds),
        severities=tuple(severities),
        seeds=stage_seeds(),
    )
    say(f"{samples.rows} texts{_unchanged(copies)}")
    return copies


@stage(version=4, title="noise findings")
def measure_noise(
    noisy: Artifact[Samples],
    said: Artifact[Predictions],
    clean: Artifact[Predictions],
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    called: str,
    subject: str,
    significance: float,
) -> Artifact[Findings]:
    """The findings on noise: `said` of the `noisy` texts, beside what the subject says of them `clean`."""
    known, before, truth = _known(samples, clean, classes)
    answers = answers_under_noise(collect(noisy, list(_MEASURED)), collect(said, ["id", "predicted"]), known)
    findings = noise_findings(
        answers, before, truth, subject=subject, called=called, significance=significance, groups=groups_of(samples)
    )
    lowest = next((one for one in findings if one.metric == "attack.worst_accuracy"), None)
    shown = "no gold labels to measure by" if lowest is None else f"{lowest.value:.1%} right with {lowest.verdict}"
    say(f"{subject} · {shown}")
    return write_table(findings_table(findings), into=Findings)


@stage(version=1, title="noise examples")
def show_noise(
    noisy: Artifact[Samples],
    said: Artifact[Predictions],
    clean: Artifact[Predictions],
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    text: str,
    called: str,
    examples: int,
    masked: bool,
) -> Artifact[ChangedTexts]:
    """A few texts whose right predictions noise turns wrong, the gentlest of each kind first."""
    known, before, truth = _known(samples, clean, classes)
    rows = collect(noisy, [*_MEASURED, "gold", STARTS, ENDS])
    answers = answers_under_noise(rows, collect(said, ["id", "predicted"]), known)
    chosen = telling_samples(answers, known["id"].to_pylist(), before, truth, examples)
    texts = collect(samples, ["id", text])
    shown = noise_examples(rows, texts, chosen, before, text=text, called=called, masked=masked)
    say(f"{shown.num_rows} texts" + (", masked" if masked else ""))
    return write_table(shown, into=ChangedTexts)


def _known(
    samples: Artifact[Samples], clean: Artifact[Predictions], classes: Artifact[Classes]
) -> tuple[pa.Table, Codes, Codes]:
    """Ids and classes of the samples, what is said of them as they are, and their classes as codes."""
    known, before = collect(samples, ["id", "gold"]), collect(clean, ["id", "predicted"])
    require_same_samples(before, known, "the subject")
    truth = codes_known(known, class_names(collect(classes, None)))
    return known, before["predicted"].to_numpy().astype(np.int64), truth


def _unchanged(noisy: Artifact[Samples]) -> str:
    unchanged = tally_of(noisy).get("unchanged", 0)
    return f" · {unchanged} of {noisy.rows} have no place to change" if unchanged else ""
