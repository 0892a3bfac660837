"""`assay export RUN --label-studio DIR`: the samples that a person should look at, as Label Studio imports them.

Every task has the sample's id (`sample`), by which `source.gold` finds it again when the answers come back, and what a
person needs to see; the weak label stands there as a prediction with its confidence. Gold is not shown: who sees it
does not look.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import pyarrow as pa
import pyarrow.compute as pc

from assay.data.classes import class_names
from assay.data.images import COLUMNS, pixels_of, png
from assay.flows.audits.hardness.showing import plain_row
from assay.flows.export.curated_sets import appearing_whole, require_new
from assay.flows.export.hardest import masked_in
from assay.flows.export.pictures import original_paths
from assay.flows.export.to_look_at import Ask, ToLookAt, to_look_at
from assay.flows.report.records import parts_of, read_table
from assay.flows.report.samples import samples_of, taken_in
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.hardness.measures import measure_named
from assay.tasks.reporting.numerals import plural

TASKS, CONFIG, PICTURES = "tasks.json", "labeling.xml", "pictures"
QUESTION, SHOWN, SAMPLE = "label", "shown", "sample"
Look = Literal["image", "text", "row"]
"""What a person sees: a picture, a text, or the columns of the row."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Showing:
    """How samples are shown: as what, the column of a text, whether pictures are files of their own, and whether words
    are masked."""

    look: Look
    column: str = ""
    files: bool = False
    masked: bool = False


def export_for_labelling(
    store: Store, record: RunRecord, target: Path, asked: Ask, *, text: str | None = None, files: bool = False
) -> str:
    """Writes tasks, the labelling interface and a README, whole or not at all; says what lies there."""
    require_new(target)
    classes = class_names(read_table(store, taken_in(record)["classes"]))
    chosen = to_look_at(store, record, asked)
    samples = _samples(store, record, chosen.ids)
    showing = how_shown(record, samples, classes, text, files)
    with appearing_whole(target) as draft:
        builder = Tasks(record.id, chosen, classes, showing, original_paths(store, record), target.name, draft)
        tasks = [builder.task(place, samples.slice(place, 1)) for place in range(samples.num_rows)]
        (draft / TASKS).write_text(json.dumps(tasks, ensure_ascii=False, indent=1), encoding="utf-8")
        (draft / CONFIG).write_text(labelling_config(classes, showing.look), encoding="utf-8")
        (draft / "README.md").write_text(_readme(record, chosen, showing, target.name), encoding="utf-8")
    known = sum(bool(task["predictions"]) for task in tasks)
    about = f"{plural(len(tasks), 'task')}, {known} with a weak label, hardest by {chosen.by}"
    return f"{target}: {about}; {CONFIG}, README.md"


def how_shown(record: RunRecord, samples: pa.Table, classes: Sequence[str], text: str | None, files: bool) -> Showing:
    """As what a sample is shown, found out or as it was asked for; refused where a person could not answer."""
    if not classes or "labels" in samples.column_names:
        raise InputError(
            f"The samples of run {record.id} have no single class each to ask for (several labels, tags or a score); "
            "use --hardest N, which writes them as files."
        )
    masked = masked_in(record.settings)
    if text is None and set(COLUMNS) <= set(samples.column_names):
        return Showing("image", files=files, masked=masked)
    column = text or _text_of(record.settings)
    if column is None:
        return Showing("row", masked=masked)
    if masked:
        raise InputError(f"The texts of {record.pipeline} are masked, so nobody could read a task: none is written.")
    if column not in samples.column_names or not pa.types.is_string(samples.schema.field(column).type):
        there = ", ".join(one.name for one in samples.schema if pa.types.is_string(one.type))
        raise InputError(
            f"The samples have no text in a column {column!r}; columns with text are {there}.  (--text NAME)"
        )
    return Showing("text", column)


@dataclass(frozen=True)
class Tasks:
    """What the tasks of one export have in common; `folder` is where pictures are written."""

    run: str
    chosen: ToLookAt
    classes: Sequence[str]
    showing: Showing
    paths: Mapping[str, str]
    name: str
    folder: Path

    def task(self, place: int, sample: pa.Table) -> dict[str, Any]:
        """One task: the sample's id, what is shown of it, why it is here, and the weak label as a prediction."""
        name = str(sample["id"][0].as_py())
        data: dict[str, Any] = {SAMPLE: name, "place": place + 1, "hardness": self.chosen.why[place], "run": self.run}
        if name in self.paths:
            data["path"] = self.paths[name]
        data[self.showing.look] = self._shown(place, name, sample)
        return {"data": data, "predictions": predictions(name, self.chosen, self.classes, self.run)}

    def _shown(self, place: int, name: str, sample: pa.Table) -> Any:
        if self.showing.look == "text":
            return sample[self.showing.column][0].as_py() or ""
        if self.showing.look == "row":
            row = plain_row(sample, self.showing.masked)
            return {column: value for column, value in row.items() if value is not None}
        picture = png(pixels_of(sample)[0])
        if not self.showing.files:
            return f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        file = f"{place + 1:05d}-{_UNSAFE.sub('_', name)[:80]}.png"
        (self.folder / PICTURES).mkdir(exist_ok=True)
        (self.folder / PICTURES / file).write_bytes(picture)
        return f"/data/local-files/?d={self.name}/{PICTURES}/{file}"


def predictions(name: str, chosen: ToLookAt, classes: Sequence[str], run: str) -> list[dict[str, Any]]:
    """The weak label of a sample as Label Studio pre-annotates; none where no class won, for then it is a default."""
    weak = chosen.labels.get(name)
    if weak is None or weak["undecided"]:
        return []
    choice = {
        "from_name": QUESTION,
        "to_name": SHOWN,
        "type": "choices",
        "value": {"choices": [classes[weak["label"]]]},
    }
    return [{"model_version": f"{chosen.labeler} {run}", "score": weak["confidence"], "result": [choice]}]


def labelling_config(classes: Sequence[str], look: Look) -> str:
    """The labelling interface: what is shown, and the choice of a class; a pre-annotation is chosen already.

    >>> print(labelling_config(["ham", 'a "spam"'], "text").splitlines()[1].strip())
    <Text name="shown" value="$text"/>
    """
    tag = {"image": "Image", "text": "Text", "row": "Table"}[look]
    choices = "\n".join(f"    <Choice value={quoteattr(name)}/>" for name in classes)
    return f"""<View>
  <{tag} name="{SHOWN}" value="${look}"/>
  <Choices name="{QUESTION}" toName="{SHOWN}" choice="single" required="true">
{choices}
  </Choices>
</View>
"""


def _samples(store: Store, record: RunRecord, ids: Sequence[str]) -> pa.Table:
    """The rows of these samples, in the order of the ids."""
    wanted = pa.array(ids, pa.string())
    samples = pa.concat_tables(
        part.filter(pc.is_in(part["id"], value_set=wanted)) for part in parts_of(store, samples_of(record))
    )
    return samples.take(pc.index_in(wanted, samples["id"].combine_chunks()))


def _text_of(settings: Mapping[str, Any]) -> str | None:
    """The column that a classifier of texts reads, where there is one."""
    subjects = [*(settings.get("subjects") or ()), *([settings["subject"]] if settings.get("subject") else [])]
    return next((str(one["text"]) for one in subjects if one.get("classifier") is not None), None)


def _readme(record: RunRecord, chosen: ToLookAt, showing: Showing, folder: str) -> str:
    serving = f"""
The pictures are served by Label Studio from its disk: start it with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true and
LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT set to the folder in which `{folder}` lies, and add `{folder}/{PICTURES}` to the
project as source storage of the kind "Local files" (no need to synchronise it).
"""
    masked = "\nThe texts of this pipeline are masked: of a row only its numbers are shown.\n"
    return f"""# {record.pipeline}: {plural(len(chosen.ids), "sample")} to look at

From run {record.id}, hardest first by `{chosen.by}`: {measure_named(chosen.by).words}. A prediction is the weak
label of the labeler {chosen.labeler or "(none)"} with its confidence, which is a score and no chance; a sample for
which no class won has none. The true class is not shown, where it is known.

1. Make a project in Label Studio, with the labelling interface of `{CONFIG}` (Code).
2. Import `{TASKS}`.
3. Export the answers as JSON (not JSON-MIN), and name them in pipelines.yaml: `source: {{…, gold: answers.json}}`.
{serving if showing.files else ""}{masked if showing.masked and showing.look == "row" else ""}
Every task has the sample's id as `{SAMPLE}`: keep that field. Several people may answer one task.
"""
