"""The paths of a run's images beside its samples, read partition by partition as the samples are."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from assay.data.image_schemas import ImagePaths
from assay.flows.report.records import parts_of
from assay.infra.artifacts import Artifact
from assay.infra.manifests import RunRecord
from assay.infra.store import Store

_NONE = ImagePaths.schema.empty_table()


class PathsBeside:
    """The path of each sample's image, for tables in the order of the samples.

    What was kept of the paths is read on as far as a table needs it; what lies behind is let go. A table that begins
    anew is looked up from the beginning.
    """

    def __init__(self, store: Store, record: RunRecord) -> None:
        handles = [one for stage in record.stages for one in stage.outputs.values() if one["kind"] == "ImagePaths"]
        self._store = store
        self._kept: list[Artifact[ImagePaths]] = [Artifact.from_json(one) for one in handles if one["rows"]]
        self._are_ids = (record.settings.get("source") or {}).get("images") is not None
        self._rest: Iterator[pa.Table] = iter(())
        self._window = _NONE

    def of(self, ids: pa.ChunkedArray) -> pa.Array:
        """The paths of these samples; null where there is none."""
        if self._are_ids:  # samples of a folder of images are named by their paths
            return ids.combine_chunks()
        if not self._kept:
            return pa.nulls(len(ids), pa.string())
        wanted = ids.combine_chunks()
        if not self._reaches(wanted):
            self._rest = (part for kept in self._kept for part in parts_of(self._store, kept))
            self._window = _NONE
            self._reaches(wanted)
        places = pc.index_in(wanted, value_set=self._window["id"].combine_chunks())
        paths = self._window["path"].combine_chunks().take(places)
        self._window = self._window.slice(pc.max(places).as_py() or 0)
        return paths

    def _reaches(self, wanted: pa.Array) -> bool:
        """Whether all of them are among the paths read so far, or those read on."""
        while not pc.all(pc.is_in(wanted, value_set=self._window["id"].combine_chunks())).as_py():
            following = next(self._rest, None)
            if following is None:
                return False
            self._window = pa.concat_tables([self._window, following])
        return True
