"""The curated sets as tables to hand out: D1 … DN with the samples' own columns, and every class by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from assay.data.images import COLUMNS
from assay.flows.export.pictures import with_pictures

ABOUT: Mapping[str, str] = {
    "id": "the sample's name, unique",
    "rank": "its place in the adversarial order; 0 is the easiest",
    "dataset": "the first of D1 … DN that holds it; every later one does too",
    "label": "the weak label, as a class code",
    "label_name": "the weak label, by name",
    "confidence": "the labeler's confidence in it",
    "lower": "lower end of the Clopper-Pearson interval of that confidence; the order follows it",
    "upper": "upper end of that interval",
    "votes_cast": "how many labelling functions of the panel voted",
    "gold": "the true class where it is known, as a class code",
    "gold_name": "the true class where it is known, by name",
    "image": "the image as a PNG file, as models saw it, and its path in the table or folder that it came from",
}


@dataclass(frozen=True)
class CuratedFolder:
    """What an export holds: the whole order as one table, and how many rows each of D1 … DN takes of it."""

    whole: pa.Table
    sizes: tuple[int, ...]

    def dataset(self, number: int) -> pa.Table:
        """D_number: the first rows of the order."""
        return self.whole.slice(0, self.sizes[number - 1])


def curated_folder(
    curated: pa.Table, samples: pa.Table, classes: Mapping[int, str], paths: Mapping[str, str] = MappingProxyType({})
) -> CuratedFolder:
    """The curated table in its order, with class names, the samples' own columns, and where their images lay."""
    ordered = curated.sort_by("rank")
    columns = {name: ordered[name] for name in ordered.column_names}
    columns["label_name"] = _named(ordered["label"], classes)
    columns["gold_name"] = _named(ordered["gold"], classes)
    table = pa.table({name: columns[name] for name in ABOUT if name in columns})
    rows = pc.index_in(table["id"], samples["id"].combine_chunks())
    for name in samples.column_names:
        if name not in ("id", "gold"):
            shown = name if name not in ABOUT or name in COLUMNS else f"feature_{name}"
            table = table.append_column(shown, samples[name].take(rows))
    last = int(pc.max(ordered["dataset"]).as_py() or 0)
    counts = {int(entry["values"]): int(entry["counts"]) for entry in pc.value_counts(ordered["dataset"]).to_pylist()}
    sizes, total = [], 0
    for number in range(1, last + 1):
        total += counts.get(number, 0)
        sizes.append(total)
    return CuratedFolder(with_pictures(table, paths), tuple(sizes))


def _named(codes: pa.ChunkedArray, classes: Mapping[int, str]) -> pa.Array:
    return pa.array([None if code is None else classes.get(code, str(code)) for code in codes.to_pylist()], pa.string())
