"""The samples of a run that a person should review: the hardest as files (`--hardest N`) or as tasks for Label Studio,
and those of a draw (`assay label`) as tasks and CSV.

Every task has the sample's id (`sample`), by which `source.gold` finds it again when the answers come back; the
weak label stands there as a prediction with its confidence. Gold is not shown: who sees it does not look.
"""

from __future__ import annotations

import base64
import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.data.images import COLUMNS, pixels_of, png
from assay.data.schemas import SampleHardness
from assay.data.templates import filled
from assay.flows.audits.hardness import hard_samples, plain_row
from assay.flows.export.curated_sets import appearing_whole, classes_of, original_paths, require_new, with_pictures
from assay.flows.report.records import (
    LabelledBy,
    artifacts_of,
    labelled_by,
    parts_of,
    samples_of_run,
    shows_no_text,
    subjects_in,
    tables_of,
)
from assay.flows.report.samples import rows_of
from assay.flows.yaml_document import suggestion
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import Artifact, RunRecord
from assay.infra.storage.store import Store
from assay.tasks.hardness.measures import THETA, measure_named
from assay.tasks.hardness.page import HardSample, reason
from assay.tasks.reporting.numerals import plural

_RANKED = pa.schema([("id", pa.string()), ("value", pa.float64())])


@dataclass(frozen=True)
class SamplesToReview:
    """The samples by their ids, hardest first, each with how hard it is, and the weak label that somebody gave them."""

    ids: tuple[str, ...]
    why: tuple[str, ...]
    by: str
    labeler: str
    labels: Mapping[str, Mapping[str, Any]]
    """The row of `WeakLabels` of each of them."""
    draw: str = ""
    """The draw that they are of, where they are no hard ones: nothing is shown that would lead people."""


def samples_to_review(
    store: Store,
    record: RunRecord,
    count: int,
    by: str | None = None,
    subject: str | None = None,
    labeler: str | None = None,
    without_gold: bool | None = False,
) -> SamplesToReview:
    """What a person should look at of a run: so many samples, by which measure of hardness (the labels' order where
    left open), of which subject, with whose labels; and whether only those without gold."""
    labelled = labelled_by(store, record)
    if labeler is not None and labeler not in labelled:
        raise InputError(f"Run {record.id} has no labeler {labeler!r}; {suggestion(labeler, labelled)}")
    labeler = labeler or next(iter(labelled), "")
    ours = labelled.get(labeler)
    measures = _measured(store, record)
    by = by or (THETA if ours is not None and ours.curated is not None else next(iter(measures), THETA))
    unknown = ids_without_gold(store, record) if without_gold else None
    ranked = hardest_of(_ranked(store, record, by, subject, ours, measures), count, unknown)
    if not ranked.num_rows:
        raise InputError(f"No sample of run {record.id} is left to look at: none has a hardness by {by} and no gold.")
    ids = ranked["id"].to_pylist()
    measure = measure_named(by)
    why = tuple(measure.number_text(value) for value in ranked["value"].to_pylist())
    labels = {} if ours is None else {row["id"]: row for row in rows_of(store, ours.labels, ids).to_pylist()}
    return SamplesToReview(tuple(ids), why, by, labeler, labels)


def hardest_of(parts: Iterable[pa.Table], count: int, among: pa.Array | None = None) -> pa.Table:
    """The `count` rows of largest `value`, the hardest first; of several rows of a sample its hardest. Ties go by id.

    >>> rows = pa.table({"id": ["a", "b", "a"], "value": [0.1, 0.5, 0.7]}, schema=_RANKED)
    >>> hardest_of([rows.slice(0, 1), rows.slice(1)], 2).to_pylist()
    [{'id': 'a', 'value': 0.7}, {'id': 'b', 'value': 0.5}]
    """
    best = _RANKED.empty_table()
    for part in parts:
        rows = part if among is None else part.filter(pc.is_in(part["id"], value_set=among))
        largest = pa.concat_tables([best, rows.select(_RANKED.names).cast(_RANKED)]).group_by("id", use_threads=False)
        best = largest.aggregate([("value", "max")]).rename_columns({"value_max": "value"}).select(_RANKED.names)
        best = best.sort_by([("value", "descending"), ("id", "ascending")]).slice(0, count)
    return best


Measured = dict[str, dict[str, Artifact[SampleHardness]]]
"""The hardness of samples, by measure and subject."""


def _measured(store: Store, record: RunRecord) -> Measured:
    measured: Measured = defaultdict(dict)
    for artifact in artifacts_of(record, "SampleHardness"):
        if artifact.rows:
            first = next(part for part in parts_of(store, artifact) if part.num_rows).slice(0, 1).to_pylist()[0]
            measured[first["measure"]][first["subject"]] = artifact
    return measured


def _ranked(
    store: Store, record: RunRecord, by: str, subject: str | None, ours: LabelledBy | None, measures: Measured
) -> Iterator[pa.Table]:
    """The samples with how hard they are, a partition at a time."""
    if by == THETA and ours is not None and ours.intervals is not None:
        # The order's own score: samples whose label is a default are in it as well, and need a person most.
        for part in parts_of(store, ours.intervals, ["id", "lower"]):
            yield pa.table([part["id"], pc.negate(part["lower"])], schema=_RANKED)
        return
    if by not in measures:
        there = sorted({*measures, *([THETA] if ours is not None and ours.intervals is not None else [])})
        way = f"it has {', '.join(there)}" if there else "add `ordering` or `hardness: {}` to its pipeline"
        raise InputError(f"Run {record.id} does not say how hard samples are by {by}; {way}.")
    subjects = measures[by]
    if subject is not None and subject not in subjects and "" not in subjects:
        raise InputError(f"Run {record.id} has no {by} of the subject {subject!r}; {suggestion(subject, subjects)}")
    yield from parts_of(store, subjects.get(subject or "") or next(iter(subjects.values())), ["id", "value"])


def ids_without_gold(store: Store, record: RunRecord) -> pa.Array:
    """The ids of the samples whose true class nobody knows."""
    parts = parts_of(store, samples_of_run(record), ["id", "gold"])
    return pa.concat_tables(part.filter(pc.is_null(part["gold"])) for part in parts)["id"].combine_chunks()


def _rows_in_order(store: Store, artifact: Artifact[Any], ids: Sequence[str]) -> pa.Table:
    """The rows of a table that are of these samples, in the order of the ids."""
    rows = rows_of(store, artifact, ids)
    return rows.take(pc.drop_null(pc.index_in(pa.array(ids, pa.string()), rows["id"].combine_chunks())))


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def export_hardest(store: Store, record: RunRecord, count: int, target: Path, subject: str | None = None) -> str:
    """Writes a table, a card, and a picture or text per sample, whole or not at all; says what lies there."""
    require_new(target)
    tables = tables_of(store, record, "HardestSamples")
    if not tables:
        raise InputError(
            f"Run {record.id} says nothing of the hardest samples: add `hardness: {{}}` to its pipeline, and run it "
            "again."
        )
    hardest = pa.concat_tables(tables)
    subjects = list(dict.fromkeys(hardest["subject"].to_pylist()))
    if not subjects:
        raise InputError(f"In run {record.id} no sample is among the hardest by every measure: there is none to write.")
    if subject is not None and subject not in subjects:
        raise InputError(
            f"Run {record.id} has no hard samples of the subject {subject!r}; {suggestion(subject, subjects)}"
        )
    chosen = subject or subjects[0]
    mine = hardest.filter(pc.and_(pc.equal(hardest["subject"], chosen), pc.less_equal(hardest["place"], count)))
    ids, masked = list(dict.fromkeys(mine["id"].to_pylist())), shows_no_text(record.settings)
    samples = _rows_in_order(store, samples_of_run(record), ids)
    classes, texts = dict(enumerate(classes_of(store, record))), _text_columns(record.settings)
    hard = list(hard_samples(mine, samples, classes, texts, masked))
    table = hardest_table(hard, samples, masked, original_paths(store, record))
    with appearing_whole(target) as draft:
        pq.write_table(table, draft / "hardest.parquet", compression="zstd")
        (draft / "README.md").write_text(_hardest_card(record, chosen, hard, masked), encoding="utf-8")
        # A PNG or a text file per sample, named by its place; of a masked text there is none.
        for sample in hard:
            name = f"{sample.place:04d}-{_UNSAFE.sub('_', sample.id)[:80]}"
            if sample.png is not None:
                (draft / f"{name}.png").write_bytes(sample.png)
            elif sample.text:
                (draft / f"{name}.txt").write_text(sample.text, encoding="utf-8")
    return f"{target}: the {plural(len(hard), 'sample')} that are hardest for {chosen}, hardest.parquet, README.md"


def hardest_table(hard: Sequence[HardSample], samples: pa.Table, masked: bool, paths: Mapping[str, str]) -> pa.Table:
    """One row per sample, the hardest first: the answers, each measure and the share it is harder than, its columns."""
    places = {sample: at for at, sample in enumerate(samples["id"].to_pylist())}
    fields = {"place": "place", "id": "id", "subject": "subject", "gold_name": "truth", "predicted_name": "predicted"}
    columns = {name: [getattr(sample, field) for sample in hard] for name, field in fields.items()}
    for name in dict.fromkeys(name for sample in hard for name in sample.why):
        reasons = [sample.why.get(name, (None, None)) for sample in hard]
        columns[f"hardness_{name}"] = [value for value, _ in reasons]
        columns[f"harder_than_{name}"] = [share for _, share in reasons]
    table = pa.table(columns)
    own = samples.take([places[sample.id] for sample in hard])
    kept = plain_row(own, masked) if len(hard) else {}
    for name in (*kept, *(COLUMNS if set(COLUMNS) <= set(own.column_names) else ())):
        if name not in table.column_names:
            table = table.append_column(name, own[name])
    return with_pictures(table, paths)


def _text_columns(settings: Mapping[str, Any]) -> dict[str, str]:
    """The column that each classifier of texts reads."""
    of_texts = [subject for subject in subjects_in(settings) if subject.get("classifier") is not None]
    return {str(subject["name"]): str(subject["text"]) for subject in of_texts}


def _hardest_card(record: RunRecord, subject: str, hard: Sequence[HardSample], masked: bool) -> str:
    """What lies in the folder, and why each sample does."""
    easier = "higher is harder, and `harder_than_{0}` is the share of samples that are easier"
    measures = dict.fromkeys(name for sample in hard for name in sample.why)
    ids = [sample.id.replace("`", " ") for sample in hard]
    whys = ["; ".join(starmap(reason, sample.why.items())) for sample in hard]
    samples = [f"{sample.place}. `{name}`: {why}" for sample, name, why in zip(hard, ids, whys, strict=True)]
    return filled(
        "hardest.md",
        pipeline=record.pipeline,
        subject=" ".join(subject.splitlines()),
        run=record.id,
        biased=BIASED,
        measures="\n".join(
            f"- `hardness_{name}`: {measure_named(name).words}; {easier.format(name)}" for name in measures
        ),
        masked="The texts of this pipeline are masked: none is written here.\n\n" if masked else "",
        samples="\n".join(" ".join(line.splitlines()) for line in samples),
    )


TASKS, CONFIG, PICTURES, ANSWERS = "tasks.json", "labeling.xml", "pictures", "answers.csv"
QUESTION, SHOWN, SAMPLE, DRAW = "label", "shown", "sample", "draw"
ShownAs = Literal["image", "text", "row"]
"""What a person sees: a picture, a text, or the columns of the row."""


def export_for_labelling(
    store: Store,
    record: RunRecord,
    count: int,
    target: Path,
    by: str | None = None,
    subject: str | None = None,
    labeler: str | None = None,
    without_gold: bool | None = False,
    text: str | None = None,
    files: bool | None = False,
) -> str:
    """Writes tasks, the labelling interface and a README, whole or not at all; says what lies there."""
    chosen = samples_to_review(store, record, count, by, subject, labeler, without_gold)
    known = sum(not chosen.labels[name]["undecided"] for name in chosen.ids if name in chosen.labels)
    write_tasks(store, record, chosen, target, text, bool(files))
    about = f"{plural(len(chosen.ids), 'task')}, {known} with a weak label, hardest by {chosen.by}"
    return f"{target}: {about}; {CONFIG}, README.md"


def write_tasks(
    store: Store, record: RunRecord, chosen: SamplesToReview, target: Path, text: str | None, files: bool
) -> None:
    """Writes tasks, the labelling interface and a README, for a draw also a CSV to fill in, whole or not at all. With
    `files` Label Studio reads pictures as files, not inside the tasks."""
    require_new(target)
    classes = classes_of(store, record)
    samples = _rows_in_order(store, samples_of_run(record), chosen.ids)
    shown_as, column = display_of(record, samples, classes, text)
    paths, masked = original_paths(store, record), shows_no_text(record.settings)
    files, tasks = files and shown_as == "image", list[dict[str, Any]]()
    with appearing_whole(target) as draft:
        for place, name in enumerate(chosen.ids):
            sample = samples.slice(place, 1)
            data: dict[str, Any] = {SAMPLE: name, "place": place + 1, "run": record.id}
            data |= {DRAW: chosen.draw} if chosen.draw else {"hardness": chosen.why[place]}
            data |= {"path": paths[name]} if name in paths else {}
            if shown_as == "text":
                data["text"] = sample[column][0].as_py() or ""
            elif shown_as == "row":
                data["row"] = {key: value for key, value in plain_row(sample, masked).items() if value is not None}
            else:
                picture, file = png(pixels_of(sample)[0]), f"{place + 1:05d}-{_UNSAFE.sub('_', name)[:80]}.png"
                if files or chosen.draw:
                    (draft / PICTURES).mkdir(exist_ok=True)
                    (draft / PICTURES / file).write_bytes(picture)
                served = f"/data/local-files/?d={target.name}/{PICTURES}/{file}"
                data["image"] = served if files else f"data:image/png;base64,{base64.b64encode(picture).decode()}"
            tasks.append({"data": data, "predictions": predictions(name, chosen, classes, record.id)})
        (draft / TASKS).write_text(json.dumps(tasks, ensure_ascii=False, indent=1), encoding="utf-8")
        (draft / CONFIG).write_text(labelling_config(classes, shown_as), encoding="utf-8")
        readme = _readme(record, chosen, files, masked and shown_as == "row", classes, target.name)
        (draft / "README.md").write_text(readme, encoding="utf-8")
        if chosen.draw:
            _write_csv(draft / ANSWERS, chosen, [task["data"] for task in tasks])


def display_of(record: RunRecord, samples: pa.Table, classes: Sequence[str], text: str | None) -> tuple[ShownAs, str]:
    """As what a sample is shown, found out or as it was asked for, and the column of a text; refused where a person
    could not answer."""
    if not classes or "labels" in samples.column_names:
        raise InputError(
            f"The samples of run {record.id} have no single class each to ask for (several labels, tags or a score); "
            "use --hardest N, which writes them as files."
        )
    if text is None and set(COLUMNS) <= set(samples.column_names):
        return "image", ""
    column = text or next(iter(_text_columns(record.settings).values()), None)
    if column is None:
        return "row", ""
    if shows_no_text(record.settings):
        raise InputError(f"The texts of {record.pipeline} are masked, so nobody could read a task: none is written.")
    if column not in samples.column_names or not pa.types.is_string(samples.schema.field(column).type):
        there = ", ".join(field.name for field in samples.schema if pa.types.is_string(field.type))
        raise InputError(
            f"The samples have no text in a column {column!r}; columns with text are {there}.  (--text NAME)"
        )
    return "text", column


def predictions(name: str, chosen: SamplesToReview, classes: Sequence[str], run: str) -> list[dict[str, Any]]:
    """The weak label of a sample as Label Studio pre-annotates; none where no class won, for then it is a default."""
    weak = chosen.labels.get(name)
    if weak is None or weak["undecided"]:
        return []
    value = {"choices": [classes[weak["label"]]]}
    choice = {"from_name": QUESTION, "to_name": SHOWN, "type": "choices", "value": value}
    return [{"model_version": f"{chosen.labeler} {run}", "score": weak["confidence"], "result": [choice]}]


def labelling_config(classes: Sequence[str], shown_as: ShownAs) -> str:
    """The labelling interface: what is shown, and the choice of a class; a pre-annotation is chosen already.

    >>> print(labelling_config(["ham", 'a "spam"'], "text").splitlines()[1].strip())
    <Text name="shown" value="$text"/>
    """
    tag = {"image": "Image", "text": "Text", "row": "Table"}[shown_as]
    choices = "\n".join(f"    <Choice value={quoteattr(name)}/>" for name in classes)
    return filled("labeling.xml", tag=tag, shown_as=shown_as, choices=choices)


def _write_csv(file: Path, chosen: SamplesToReview, tasks: Sequence[Mapping[str, Any]]) -> None:
    """A row per sample of a draw, with a column to fill in and what is shown of it; a picture is named by its place."""
    rows = [
        {DRAW: chosen.draw, SAMPLE: task[SAMPLE], QUESTION: "", "place": task["place"]}
        | {name: task[name] for name in ("path", "text") if name in task}
        | task.get("row", {})
        for task in tasks
    ]
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)


BIASED = (
    "The hardest are no fair draw: how right anything is on them says nothing of all samples. For that: `assay label`."
)


def _readme(
    record: RunRecord, chosen: SamplesToReview, files: bool, masked: bool, classes: Sequence[str], folder: str
) -> str:
    """What to do with the tasks: of a draw, or of the hardest samples."""
    slots = {
        "pipeline": record.pipeline,
        "samples": plural(len(chosen.ids), "sample"),
        "run": record.id,
        "by": chosen.by,
        "serving": filled("label_studio_pictures.md", folder=folder) if files else "",
        "masked": "\nThe texts of this pipeline are masked: of a row only its numbers are shown.\n" if masked else "",
    }
    if chosen.draw:
        return filled("to_label.md", **slots, classes=", ".join(classes))
    about = {"measure": measure_named(chosen.by).words, "labeler": chosen.labeler or "none here", "biased": BIASED}
    return filled("label_studio.md", **slots, **about)
