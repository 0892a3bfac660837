"""`assay export RUN --hardest N`: the samples that are hard by every measure, for a person to go through."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.data.catalog import is_masked
from assay.data.images import COLUMNS
from assay.flows.audits.hardness.showing import hard_samples, plain_row
from assay.flows.configuration.mistakes import suggestion
from assay.flows.export.curated_sets import appearing_whole, require_new
from assay.flows.export.pictures import original_paths, with_pictures
from assay.flows.report.records import tables_of
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.hardness.measures import measure_named
from assay.tasks.hardness.page_samples import HardSample, reason
from assay.tasks.reporting.numerals import plural

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def export_hardest(store: Store, record: RunRecord, count: int, target: Path, subject: str | None = None) -> str:
    """Writes a table, a card, and a picture or text per sample, whole or not at all; says what lies there."""
    require_new(target)
    tables = [table for *_, table in tables_of(store, record, "HardestSamples")]
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
    every = pa.concat_tables([table for *_, table in tables_of(store, record, "Samples")], promote_options="default")
    samples, masked = _rows(every, mine["id"].to_pylist()), masked_in(record.settings)
    classes = {
        int(row["code"]): str(row["name"])
        for *_, table in tables_of(store, record, "Classes")
        for row in table.to_pylist()
    }
    hard = list(hard_samples(mine, samples, classes, _text_columns(record.settings), masked))
    with appearing_whole(target) as draft:
        pq.write_table(
            hardest_table(hard, samples, masked, original_paths(store, record)),
            draft / "hardest.parquet",
            compression="zstd",
        )
        (draft / "README.md").write_text(_card(record, chosen, hard, masked), encoding="utf-8")
        _write_each(draft, hard)
    return f"{target}: the {plural(len(hard), 'sample')} that are hardest for {chosen}, hardest.parquet, README.md"


def hardest_table(hard: Sequence[HardSample], samples: pa.Table, masked: bool, paths: Mapping[str, str]) -> pa.Table:
    """One row per sample, the hardest first: the answers, each measure and the share it is harder than, its columns."""
    places = {sample: at for at, sample in enumerate(samples["id"].to_pylist())}
    columns: dict[str, list[Any]] = {
        "place": [one.place for one in hard],
        "id": [one.id for one in hard],
        "subject": [one.subject for one in hard],
        "gold_name": [one.truth for one in hard],
        "predicted_name": [one.predicted for one in hard],
    }
    for name in dict.fromkeys(name for one in hard for name in one.why):
        reasons = [one.why.get(name, (None, None)) for one in hard]
        columns[f"hardness_{name}"] = [value for value, _ in reasons]
        columns[f"harder_than_{name}"] = [share for _, share in reasons]
    table = pa.table(columns)
    own = samples.take([places[one.id] for one in hard])
    kept = plain_row(own, masked) if len(hard) else {}
    for name in (*kept, *(COLUMNS if set(COLUMNS) <= set(own.column_names) else ())):
        if name not in table.column_names:
            table = table.append_column(name, own[name])
    return with_pictures(table, paths)


def masked_in(settings: Mapping[str, Any]) -> bool:
    """Whether the run's pipeline shows no text: as its source says, its data set in the catalogue, or an audit."""
    source = settings.get("source") or {}
    if source.get("masked") is not None:
        return bool(source["masked"])
    parts = (part for part in settings.values() if isinstance(part, dict))
    return is_masked(source.get("dataset")) or any(part.get("masked") for part in parts)


def _rows(samples: pa.Table, ids: Sequence[str]) -> pa.Table:
    """The rows of these samples, each once."""
    places = pc.index_in(pa.array(dict.fromkeys(ids), pa.string()), samples["id"].combine_chunks())
    return samples.take(places)


def _text_columns(settings: Mapping[str, Any]) -> dict[str, str]:
    """The column that each classifier of texts reads."""
    subjects = [*(settings.get("subjects") or ()), *([settings["subject"]] if settings.get("subject") else [])]
    return {str(one["name"]): str(one["text"]) for one in subjects if one.get("classifier") is not None}


def _write_each(folder: Path, hard: Sequence[HardSample]) -> None:
    """A PNG or a text file per sample, named by its place; of a masked text there is none."""
    for sample in hard:
        name = f"{sample.place:04d}-{_UNSAFE.sub('_', sample.id)[:80]}"
        if sample.png is not None:
            (folder / f"{name}.png").write_bytes(sample.png)
        elif sample.text:
            (folder / f"{name}.txt").write_text(sample.text, encoding="utf-8")


def _card(record: RunRecord, subject: str, hard: Sequence[HardSample], masked: bool) -> str:
    """What lies in the folder, and why each sample does."""
    measures = dict.fromkeys(name for one in hard for name in one.why)
    lines = [
        f"# {record.pipeline}: the samples hardest for {subject}",
        "",
        f"From run {record.id}. Every sample is among the hardest by each measure that speaks of it; place 1 is the "
        "hardest on average. Look whether label, sample or subject is at fault.",
        "",
        *(
            f"- `hardness_{name}`: {measure_named(name).words}; higher is harder, and `harder_than_{name}` is the "
            "share of samples that are easier"
            for name in measures
        ),
        "",
        *(["The texts of this pipeline are masked: none is written here.", ""] if masked else []),
        *(
            f"{one.place}. `{one.id.replace('`', ' ')}`: {'; '.join(reason(*told) for told in one.why.items())}"
            for one in hard
        ),
    ]
    return "\n".join(" ".join(line.splitlines()) for line in lines) + "\n"
