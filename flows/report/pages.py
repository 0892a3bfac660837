"""The report of a run: the parts that each room makes of its findings and tables, laid out and kept in the store."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from assay.data.classes import class_names
from assay.data.schemas import CuratedSets, OrderingCurve, Rejects
from assay.flows.audit import Audit, headline_order
from assay.flows.pipeline import Pipeline
from assay.flows.report.all_nights import write_index
from assay.flows.report.at_a_glance import followed_in, verdicts_of
from assay.infra.artifacts import Artifact
from assay.infra.keys import package_versions
from assay.infra.manifests import RunRecord
from assay.infra.partitions import collect, collect_rows
from assay.infra.runs import Run
from assay.tasks.reporting.appendix import settings_rows
from assay.tasks.reporting.index import entry_of
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.parts import Part, Verdict
from assay.tasks.reporting.report import LineageRow, Report, SettingRow
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.gates import GateResult

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.flows.audits.images.looking_inside import Inside
    from assay.tasks.attacks.page_pictures import AttackedImages
    from assay.tasks.attacks.task import Attacks

_STAGES = (
    "labeling", "pruning", "weak_labels", "ordering", "subjects", "attacks", "corruptions", "defenses",
    "diagnostics", "smoothing", "trust", "overfitting", "gates",
)  # fmt: skip


def write_report(
    run: Run, pipeline: Pipeline, made: Audit, findings: Sequence[Finding], gates: Sequence[GateResult], status: str
) -> tuple[tuple[Verdict, ...], str]:
    """The lines of verdict, and where the page now lies; the index over all nights is brought up to date."""
    index = FindingIndex(findings)
    verdicts = verdicts_of(index, gates)
    record = run.record
    report = Report(
        run=run.id, pipeline=pipeline.name, started=record.started, seconds=record.seconds, seed=run.seed,
        status=status, verdicts=verdicts, parts=tuple(parts_of(pipeline, made, index, gates)),
        failures=tuple(record.failures), not_asked=tuple(not_asked(pipeline)), findings=tuple(findings),
        followed=followed_in(index), lineage=tuple(lineage_of(record)), settings=tuple(settings_of(pipeline)),
        versions=package_versions(), machine=machine_of(run), index_link="../index.html",
        facts={"Description": pipeline.description} if pipeline.description else {},
    )  # fmt: skip
    place = f"reports/{run.id}"
    run.store.folder.write(f"{place}/index.html", render_report(report).encode())
    entry = entry_of(report, f"{run.id}/index.html")
    run.store.folder.write(f"{place}/entry.json", entry.model_dump_json(indent=1).encode())
    write_index(run.store)
    return verdicts, f"{run.store.url}/{place}/index.html"


def parts_of(pipeline: Pipeline, made: Audit, findings: FindingIndex, gates: Sequence[GateResult]) -> Iterator[Part]:
    """One part per stage that ran, in the order of a reader's interest: the result first, the data last."""
    from assay.tasks.labeling.page import page as labeling_page
    from assay.tasks.pruning.page import page as pruning_page
    from assay.tasks.reporting.gates import page as gates_page
    from assay.tasks.subjects.page import page as subjects_page
    from assay.tasks.weak_labels.page import page as weak_labels_page

    curation = made.curation
    yield from _ordering_part(made, findings)
    yield from _robustness_parts(pipeline, made, findings)
    yield from _trust_parts(pipeline, made, findings)
    yield from _word_parts(pipeline, made, findings)
    if made.terms is not None and made.examination is not None:
        from assay.flows.audits.terms.page import term_parts

        yield from term_parts(pipeline, made.terms, made.examination, findings)
    if made.overfitting is not None:
        from assay.flows.audits.overfitting.page import overfitting_part

        yield overfitting_part(made.overfitting, findings)
    defended = {name for part in (made.defences, made.words) if part is not None for name in part.names}
    if made.examination is not None and findings.select("subject", of="clean"):
        from assay.tasks.subjects.clean_page import page as clean_page

        learned = {name: one for name, one in made.examination.subjects.items() if name not in defended}
        yield clean_page(findings, {name: _whole(one.curve) for name, one in learned.items()})
    if any(one.of != "clean" for one in findings.select("subject")):
        yield subjects_page(findings)
    if pipeline.gates or any(one.p_value is not None for one in findings):
        yield gates_page(findings, gates, pipeline.statistics)
    if curation.models:
        yield weak_labels_page(findings, {name: _whole(model) for name, model in curation.models.items()})
    panel = _whole(curation.panel) if curation.panel is not None else None
    if panel is not None and pipeline.pruning is not None:
        yield pruning_page(panel, pipeline.pruning.correlation)
    if curation.table is not None:
        yield labeling_page(findings, _whole(curation.table), panel)
    yield _data_part(made, findings)


def _data_part(made: Audit, findings: FindingIndex) -> Part:
    import pyarrow as pa

    from assay.tasks.ingest.page import page as ingest_page

    ingested = made.curation.ingested
    rejects = collect(ingested.rejects, Rejects.schema.names)
    gold = next((one.n for one in findings.select("ordering.accuracy") if one.n is not None), None)
    contracts = pa.concat_tables([_whole(one) for one in (ingested.contract, *made.curation.contracts)])
    return ingest_page(ingested.samples.rows, rejects, contracts, gold)


def _ordering_part(made: Audit, findings: FindingIndex) -> Iterator[Part]:
    from assay.tasks.ordering.page import page as ordering_page

    curated = headline_order(made.curation)
    if curated is None or not made.curation.curves:
        return
    import pyarrow as pa

    curves = pa.concat_tables([collect(curve, OrderingCurve.schema.names) for curve in made.curation.curves])
    classes = dict(enumerate(class_names(_whole(made.curation.ingested.classes))))
    sketch = collect(next(iter(made.curation.sketches.values())), CuratedSets.schema.names)
    yield ordering_page(findings, curves, sketch, classes, samples=curated.rows)


def _robustness_parts(pipeline: Pipeline, made: Audit, findings: FindingIndex) -> Iterator[Part]:
    """What was done to image subjects: attacks, corruptions, and defences against them."""
    if made.robustness is None or made.examination is None:
        return
    if made.robustness.attacked:
        from assay.tasks.attacks.page import page as attacks_page

        classes = class_names(_whole(made.examination.classes))
        attacks = (found for attacks in made.robustness.attacked.values() for found in attacks.values())
        shown = [one for found in attacks for one in pictures_of(found, classes)]
        yield attacks_page(findings, shown)
    if made.robustness.corrupted is not None:
        from assay.tasks.corruptions.page import page as corruptions_page

        yield corruptions_page(findings, _whole(made.robustness.corrupted.images))
    if made.defences is not None:
        from assay.tasks.defenses.page import page as defences_page

        subjects = made.examination.subjects
        yield defences_page(
            findings, made.defences.models, {name: _whole(subjects[name].curve) for name in made.defences.names}
        )
    if made.inside is not None and made.inside.pictures:
        yield _inside_part(made.inside, findings, class_names(_whole(made.examination.classes)))
    if made.certificates is not None and made.certificates.certified and pipeline.smoothing is not None:
        from assay.tasks.defenses.smoothing_page import page as smoothing_page

        certified = {key: _whole(one) for key, one in made.certificates.certified.items()}
        yield smoothing_page(findings, certified, pipeline.smoothing.alpha)


def _inside_part(inside: Inside, findings: FindingIndex, classes: Sequence[str]) -> Part:
    """What was seen inside the subjects."""
    from assay.tasks.diagnostics.page import InsideSubject
    from assay.tasks.diagnostics.page import page as inside_page

    return inside_page(findings, [
        InsideSubject(name, classes, _whole(pictures), _whole(inside.points[name]) if name in inside.points else None,
             [_whole(one) for one in inside.counts.get(name, ())])
        for name, pictures in inside.pictures.items()
    ])  # fmt: skip


def pictures_of(found: Attacks, classes: Sequence[str]) -> list[AttackedImages]:
    """The images of one attack that its gallery shows: however many were kept, only those are read."""
    from assay.tasks.attacks.page_pictures import CHOSEN_BY, shown_of, to_be_shown

    ids = to_be_shown(collect(found.attacked, CHOSEN_BY), collect(found.images, ["id", "eps"]))
    return shown_of(collect_rows(found.attacked, ids), collect_rows(found.images, ids), classes)


def _trust_parts(pipeline: Pipeline, made: Audit, findings: FindingIndex) -> Iterator[Part]:
    """Whether the text subjects are right for the right reasons."""
    if made.trust is not None and made.examination is not None and pipeline.trust is not None:
        from assay.flows.audits.trust.page import trust_parts

        classes = class_names(_whole(made.examination.classes))
        yield from trust_parts(made.trust, classes, pipeline.masked, findings)


def _word_parts(pipeline: Pipeline, made: Audit, findings: FindingIndex) -> Iterator[Part]:
    """What attacks did to texts, and what attacked copies taught."""
    if made.words is not None and made.examination is not None:
        from assay.flows.audits.texts.page import word_parts

        classes = class_names(_whole(made.examination.classes))
        yield from word_parts(made.words, classes, pipeline.masked, findings)


def not_asked(pipeline: Pipeline) -> Iterator[str]:
    """The stages that the pipeline leaves out; the report says so, lest their silence be taken for a good sign."""
    for name in _STAGES:
        if not getattr(pipeline, name) and not (name == "labeling" and pipeline.source.votes is not None):
            yield name.replace("_", " ")


def lineage_of(record: RunRecord) -> Iterator[LineageRow]:
    """Every artifact that the run used, in the order of the stages."""
    for stage in record.stages:
        for handle in stage.outputs.values():
            rows = None if handle["rows"] is None else int(handle["rows"])
            yield LineageRow(
                stage.title, handle["kind"], stage.key, handle["digest"][:16], rows, stage.cached, stage.seconds,
                stage.summary,
            )  # fmt: skip


def settings_of(pipeline: Pipeline) -> Iterator[SettingRow]:
    """Every option that the run was given or took by default; a stage that was left out has none."""
    for name in ("source", "labeling", "pruning", "weak_labels", "ordering", "evaluation", "corruptions", "diagnostics",
                 "smoothing", "overfitting", "statistics"):  # fmt: skip
        options = getattr(pipeline, name)
        yield from settings_rows(name.replace("_", " "), options) if options is not None else ()
    for subject in pipeline.subjects:
        yield from settings_rows(f"subject {subject.name}", subject)
    for attack in pipeline.attacks:
        yield from settings_rows(f"attack {attack.called}", attack)
    for defense in pipeline.defenses:
        yield from settings_rows(f"defence {defense.called}", defense)
    for position, gate in enumerate(pipeline.gates, start=1):
        yield SettingRow("gates", str(position), gate.title())


def machine_of(run: Run) -> dict[str, str]:
    """Where the run ran."""
    profile = run.numeric_profile()
    return {
        "host": run.record.host,
        "system": f"{platform.system()} {platform.machine()}",
        "processor features": profile["processor"],
        "workers": str(run.slots()),
    }


def _whole(artifact: Artifact[Any]) -> pa.Table:
    """A small table of a run, all its columns."""
    return collect(artifact, None)
