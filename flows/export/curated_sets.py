"""`assay export`: the curated sets of a run as a folder that pandas and Hugging Face read in one line."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay import __version__
from assay.data.schemas import CuratedSets
from assay.flows.export.curated_folder import ABOUT, CuratedFolder, curated_folder
from assay.flows.export.data_card import CardFacts, Lineage, data_card, verdict_in_words
from assay.flows.export.pictures import original_paths
from assay.flows.report.records import read_table, tables_of
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.reporting.croissant import ExportedFile, Origin, croissant
from assay.tasks.statistics.run_findings import findings_of

ROWS_IN_A_GROUP = 65_536


def export_run(
    store: Store,
    record: RunRecord,
    target: Path,
    *,
    labeler: str | None = None,
    licence: str | None = None,
    creator: str = "not stated",
) -> str:
    """Writes the folder, whole or not at all, and returns a sentence on what lies there."""
    require_new(target)
    chosen, curated = _curated(store, record, labeler)
    samples = pa.concat_tables([table for *_, table in tables_of(store, record, "Samples")], promote_options="default")
    folder = curated_folder(curated, samples, _classes(store, record), original_paths(store, record))
    facts = _facts(store, record, folder, chosen, licence or _licence_of(record))
    with appearing_whole(target) as draft:
        files = _write_tables(draft, folder)
        (draft / "README.md").write_text(data_card(facts, _lineage(record, chosen)), encoding="utf-8")
        origin = Origin(
            name=facts.title,
            description=f"{facts.description} {verdict_in_words(facts.validity)}".strip(),
            licence=facts.licence,
            creator=creator,
            url=f"urn:assay:{record.id}",
            published=record.started[:10],
            version="1.0.0",
        )
        metadata = croissant(origin, files, folder.whole.schema, dict(ABOUT))
        (draft / "croissant.json").write_text(json.dumps(metadata, indent=2, ensure_ascii=False), encoding="utf-8")
    last = len(folder.sizes)
    return (
        f"{target}: D1 … D{last} ({folder.sizes[0]} … {folder.sizes[-1]} samples, {chosen}), README.md, croissant.json"
    )


def require_new(target: Path) -> None:
    """Raises unless the folder is new, or empty."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is there and not empty; name a new folder with --to.")


@contextlib.contextmanager
def appearing_whole(target: Path) -> Iterator[Path]:
    """A folder to write into that gets its name when all is written, and is gone when something went wrong."""
    draft: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        yield draft
        draft.chmod(0o755)
        if target.exists():
            target.rmdir()
        os.replace(draft, target)
    except OSError as error:
        reason = error.strerror or "it failed"
        raise InputError(f"Cannot write to {target}: {reason}; make room, or name another folder with --to.") from error
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def _write_tables(folder: Path, curated: CuratedFolder) -> list[ExportedFile]:
    last = len(curated.sizes)
    files = [_write(folder, "curated.parquet", curated.whole, "the whole order, easiest first")]
    for number in range(1, last + 1):
        about = f"D{number} of {last}: the easiest {number / last:.0%} of the order"
        files.append(_write(folder, f"D{number}.parquet", curated.dataset(number), about))
    return files


def _write(folder: Path, name: str, table: pa.Table, about: str) -> ExportedFile:
    path = folder / name
    pq.write_table(table, path, row_group_size=ROWS_IN_A_GROUP, compression="zstd")
    with path.open("rb") as content:
        checksum = hashlib.file_digest(content, "sha256").hexdigest()
    return ExportedFile(name, about, checksum, path.stat().st_size)


def _curated(store: Store, record: RunRecord, labeler: str | None) -> tuple[str, pa.Table]:
    """The labeler whose order is exported, and that order."""
    by_labeler: dict[str, Artifact[CuratedSets]] = {
        str(manifest.ingredients["arguments"]["labeler"]): Artifact.from_json(stage.outputs["result"])
        for stage in record.stages
        if stage.stage == "order_adversarially" and (manifest := store.manifest(stage.stage, stage.key))
    }
    if not by_labeler:
        asked = record.settings.get("ordering") is not None
        reason = f"it ended before the ordering, as {record.status}" if asked else "its pipeline configures no ordering"
        raise InputError(f"Run {record.id} has no curated sets: {reason}.  (assay runs shows all)")
    chosen = labeler or next(iter(by_labeler))
    if chosen not in by_labeler:
        raise InputError(
            f"Run {record.id} has no curated sets of the labeler {chosen}; it has {', '.join(by_labeler)}."
        )
    return chosen, read_table(store, by_labeler[chosen])


def _licence_of(record: RunRecord) -> str:
    """The licence that the catalogue knows for the run's data set."""
    from assay.flows.operations.data_sets import licence_of

    dataset = (record.settings.get("source") or {}).get("dataset")
    return (licence_of(dataset) if dataset else None) or "unknown"


def _classes(store: Store, record: RunRecord) -> dict[int, str]:
    rows = [row for *_, table in tables_of(store, record, "Classes") for row in table.to_pylist()]
    return {int(row["code"]): str(row["name"]) for row in rows}


def _facts(store: Store, record: RunRecord, folder: CuratedFolder, labeler: str, licence: str) -> CardFacts:
    ours = [found for found in findings_of(store, record) if found.of in ("ours", "") and found.group in (labeler, "")]
    description = str(record.settings.get("description") or "")
    schema = folder.whole.schema
    return CardFacts(
        title=f"{record.pipeline}, curated ({labeler})",
        description=description,
        licence=licence,
        sizes=folder.sizes,
        accuracy=[_accuracy(folder.dataset(number)) for number in range(1, len(folder.sizes) + 1)],
        columns=[(field.name, str(field.type), ABOUT.get(field.name, "a column of the samples")) for field in schema],
        validity=[found for found in ours if found.stage == "ordering"],
    )


def _accuracy(dataset: pa.Table) -> tuple[float | None, int]:
    known = dataset.filter(pc.is_valid(dataset["gold"]))
    if known.num_rows == 0:
        return None, 0
    hits = pc.sum(pc.cast(pc.equal(known["label"], known["gold"]), pa.int64())).as_py()
    return hits / known.num_rows, known.num_rows


def _lineage(record: RunRecord, labeler: str) -> Lineage:
    stages = [
        (stage.title, str(output["kind"]), str(output["digest"]))
        for stage in record.stages
        for output in stage.outputs.values()
    ]
    return Lineage(
        record.id, record.pipeline, record.started, record.seed, labeler, __version__, record.settings, stages
    )
