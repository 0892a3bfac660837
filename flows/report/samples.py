"""Samples as a person sees them, from what a run left in its store: the picture or the text, the true class, and what
the rules say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from assay.data.images import COLUMNS, pixels_of, png
from assay.flows.audits.hardness import plain_row
from assay.flows.report.records import artifacts_of, ingested, read_table, shows_no_text, subjects_in, tables_of
from assay.flows.report.sentences import listed
from assay.infra.storage.artifacts import Artifact, RunRecord
from assay.infra.storage.parquet import read_rows
from assay.infra.storage.store import Store
from assay.tasks.reporting.gallery import MASK, shortened_gap
from assay.tasks.reporting.parts import Looks, NamedSample, Part, samples_named, with_looks

_VALUES = 8
"""So many values of a row of a table are shown."""


def seen_parts(store: Store, record: RunRecord, parts: Sequence[Part]) -> list[Part]:
    """The parts of a page, with the pictures or texts of the samples that they name and the votes on them."""
    looks = looks_of(store, record, {name for part in parts for name in samples_named(part)} - {""})
    return [with_looks(part, looks) for part in parts]


def looks_of(store: Store, record: RunRecord, ids: Collection[str]) -> Looks:
    """Samples of a run by their ids; as note what they are in truth."""
    if not ids or all(stage.stage != "ingest" for stage in record.stages):
        return {}
    made = ingested(record)
    classes = dict(read_table(store, made["classes"]).select(["code", "name"]).to_pandas().itertuples(index=False))
    votes = _votes(store, record, ids, classes)
    of_texts = [subject for subject in subjects_in(record.settings) if subject.get("classifier")]
    columns = [*(str(subject["text"]) for subject in of_texts if subject.get("text")), "text"]
    masked, rows, looks = shows_no_text(record.settings), rows_of(store, made["samples"], ids), {}
    for at, name in enumerate(rows["id"].to_pylist()):
        row = rows.slice(at, 1)
        pictured, gold = set(COLUMNS) <= set(row.column_names), row["gold"][0].as_py()
        text = next((str(row[column][0].as_py() or "") for column in columns if column in row.column_names), None)
        if text is None:  # a row of a table: its first values
            values = list(plain_row(row, masked).items())[:_VALUES]
            excerpt = ", ".join(f"{key.replace('_', ' ')} {_written(value)}" for key, value in values)
        else:
            excerpt = MASK if text and masked else shortened_gap(text, first=True, last=True)
        truth = "" if gold is None else f"in truth {classes.get(gold, gold)}"
        picture, excerpt = (png(pixels_of(row)[0]), "") if pictured else (None, excerpt)
        looks[name] = NamedSample(name, truth, picture, excerpt, votes=votes.get(name, ""))
    return looks


def _written(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "none" if value is None else str(value)


def rows_of(store: Store, artifact: Artifact[Any], ids: Collection[str]) -> pa.Table:
    """The rows of these ids of the table behind a handle, in sample order."""
    return read_rows(store.folder, store.output(artifact).in_order, ids)


def _votes(store: Store, record: RunRecord, ids: Collection[str], classes: Mapping[int, str]) -> dict[str, str]:
    """What the panel says of each of the samples, or all rules where none was pruned."""
    cast = artifacts_of(record, "Votes")[:1]
    kept = {
        row["function"] for panel in tables_of(store, record, "Panel")[:1] for row in panel.to_pylist() if row["kept"]
    }
    return {
        str(row.pop("id")): votes_in_words(
            {rule: code for rule, code in row.items() if not kept or rule in kept}, classes
        )
        for votes in cast
        for row in rows_of(store, votes, ids).to_pylist()
    }


def votes_in_words(votes: Mapping[str, int], classes: Mapping[int, str]) -> str:
    """What rules say of a sample, the class that most are for first.

    >>> votes_in_words({"border": 1, "colours_many": 1, "diameter": 0, "age": -1}, {0: "benign", 1: "malignant"})
    'border and colours many say malignant; diameter says benign'
    """
    rules = defaultdict[int, list[str]](list)
    for rule, code in votes.items():
        rules[code].append(rule.replace("_", " "))
    rules.pop(-1, None)
    most_first = sorted(rules.items(), key=lambda each: -len(each[1]))
    says = (f"{listed(names)} say{'' if names[1:] else 's'} {classes.get(code, code)}" for code, names in most_first)
    return "; ".join(says) or "no rule votes on it"
