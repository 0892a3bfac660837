"""How the rows of several inputs are cut into partitions that are worked on side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.infra.artifacts import Artifact
from assay.infra.errors import RunError
from assay.infra.manifests import PartFile
from assay.infra.partition_work import Slice
from assay.infra.workbench import Workbench


@dataclass(frozen=True)
class Cut:
    """One partition across all inputs of a step."""

    index: int
    rows: int
    sources: tuple[tuple[Slice, ...], ...]


@dataclass(frozen=True)
class Columns:
    """An input of which a step reads these columns and no others."""

    artifact: Artifact[Any]
    names: tuple[str, ...]


def artifacts_of(
    inputs: Sequence[Artifact[Any] | Columns],
) -> tuple[tuple[Artifact[Any], ...], tuple[tuple[str, ...], ...]]:
    """The inputs themselves, and beside each the columns that are read of it; none where all are."""
    return (
        tuple(one.artifact if isinstance(one, Columns) else one for one in inputs),
        tuple(one.names if isinstance(one, Columns) else () for one in inputs),
    )


def kinds_of(inputs: Sequence[Artifact[Any] | Columns]) -> list[str]:
    """What each input is, for partitions to be looked up by; with its columns, where it is not the whole of them."""
    return [f"{one.artifact.kind}[{','.join(one.names)}]" if isinstance(one, Columns) else one.kind for one in inputs]


def common_plan(bench: Workbench, inputs: Sequence[Artifact[Any]], rows: int | None = None) -> list[Cut]:
    """The partitions of the first input (or new ones of `rows` rows), and beside each the same rows of the others."""
    if not inputs:
        raise TypeError("map_partitions and reduce_partitions need at least one artifact")
    outputs = [bench.output(artifact) for artifact in inputs]
    files = _in_all([{part.index: part.files[output.place] for part in output.parts} for output in outputs])
    if rows is not None:
        return _cut_anew(files, rows, inputs)
    shared = sorted(set.intersection(*(set(found) for found in files)))
    cuts = [Cut(i, files[0][i].rows, tuple((Slice(found[i], 0, found[i].rows),) for found in files)) for i in shared]
    if all(cut.rows == slices[0].rows for cut in cuts for slices in cut.sources) and len(shared) == len(files[0]):
        return cuts
    if len({sum(file.rows for file in found.values()) for found in files}) == 1:
        # The same rows, cut differently: an input that came from the store while another was made anew.
        laid = [_Laid.out(found) for found in files]
        return [
            Cut(index, file.rows, tuple(one.slices(start, file.rows) for one in laid))
            for index, file, start in zip(sorted(files[0]), laid[0].files, laid[0].starts.tolist(), strict=True)
        ]
    raise _mismatch(inputs)


def _in_all(files: list[dict[int, PartFile]]) -> list[dict[int, PartFile]]:
    """The partitions of inputs of which some lack partitions that were quarantined: only those that all have, as what
    is made of them lacks the others, too. Inputs that are cut differently stay as they are."""
    shared = set.intersection(*(set(found) for found in files))
    alike = shared and all(len({found[index].rows for found in files}) == 1 for index in shared)
    if not alike or not any(file.rows for found in files for index, file in found.items() if index not in shared):
        return files
    return [{index: found[index] for index in shared} for found in files]


def paired_plan(bench: Workbench, inputs: Sequence[Artifact[Any]]) -> list[Cut]:
    """The partitions that all inputs have, by number, each beside the others of its number with all of its rows."""
    outputs = [bench.output(artifact) for artifact in inputs]
    files = [{part.index: part.files[output.place] for part in output.parts} for output in outputs]
    return [
        Cut(index, files[0][index].rows, tuple((Slice(found[index], 0, found[index].rows),) for found in files))
        for index in sorted(set.intersection(*(set(found) for found in files)))
    ]


def _cut_anew(files: Sequence[Mapping[int, PartFile]], rows: int, inputs: Sequence[Artifact[Any]]) -> list[Cut]:
    """Partitions of at most `rows` rows over all that the inputs hold, as few and as even as can be; at least one.

    Even, because the last to end is what a stage waits for.
    """
    totals = {sum(file.rows for file in found.values()) for found in files}
    if len(totals) > 1:
        raise _mismatch(inputs)
    total = totals.pop()
    pieces = max(1, -(-total // rows))
    ends = [total * piece // pieces for piece in range(pieces + 1)]
    laid = [_Laid.out(found) for found in files]
    return [
        Cut(index, end - start, tuple(one.slices(start, end - start) for one in laid))
        for index, (start, end) in enumerate(pairwise(ends))
    ]


class UnlikeRowsError(RunError):
    """Inputs that do not hold the same rows."""


def _mismatch(inputs: Sequence[Artifact[Any]]) -> UnlikeRowsError:
    kinds = " and ".join(f"{artifact.kind} ({artifact.rows} rows)" for artifact in inputs)
    return UnlikeRowsError(f"{kinds} do not hold the same samples, so they cannot be worked on side by side.")


@dataclass(frozen=True)
class _Laid:
    """The parts of an input one after the other, and the rows at which each starts and ends."""

    files: list[PartFile]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @classmethod
    def out(cls, parts: Mapping[int, PartFile]) -> _Laid:
        """The parts in their order."""
        files = [parts[index] for index in sorted(parts)]
        rows = np.array([file.rows for file in files], dtype=np.int64)
        ends: npt.NDArray[np.int64] = np.cumsum(rows)
        return cls(files, ends - rows, ends)

    def slices(self, start: int, rows: int) -> tuple[Slice, ...]:
        """The slices of parts that hold the given range of rows; found by halving, as there may be a partition of
        each of very many parts."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, start + rows, side="left"))
        found = [
            Slice(file, max(0, start - begin), min(start + rows, end) - max(start, begin))
            for file, begin, end in zip(
                self.files[first:last], self.starts[first:last].tolist(), self.ends[first:last].tolist(), strict=True
            )
        ]
        return tuple(found) or (Slice(self.files[0], 0, 0),)


def aligned_slices(plan: Sequence[Cut], aligned: Mapping[str, npt.NDArray[Any]]) -> list[dict[str, npt.NDArray[Any]]]:
    """The rows of arrays in sample order that belong to each partition."""
    ends = np.cumsum([cut.rows for cut in plan])
    for name, array in aligned.items():
        if len(array) != (ends[-1] if len(ends) else 0):
            raise RunError(f"The aligned array {name!r} has {len(array)} rows, the samples {ends[-1]}.")
    return [
        {name: array[end - cut.rows : end] for name, array in aligned.items()}
        for cut, end in zip(plan, ends, strict=True)
    ]
