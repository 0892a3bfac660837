"""Labels of annotators as codes, and samples that have the same ones as a pattern with its number: nothing that is
measured tells such samples apart, so that their numbers are all that has to leave the partitions. Where samples stand
in groups, whole groups are put together by a hash, and each pool of them has patterns of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.groups import group_hashes
from assay.tasks.statistics.resampling import BLOCKS

Codes = npt.NDArray[np.int64]


class Labelled(NamedTuple):
    """The labels of each annotator and gold, by sample or by pattern [n], −1 where there is none."""

    labels: dict[str, Codes]
    gold: Codes
    groups: Codes | None = None
    """What of the rows stands together: groups of samples, or pools of them; None where samples are independent."""
    times: Codes | None = None
    """How many samples have each pattern; None where each row is a sample."""


def labelled_samples(samples: pa.Table, columns: Sequence[str], classes: Mapping[str, int]) -> Labelled:
    """The labels in the columns, sample by sample, and the groups of the samples if they have such a column."""
    hashes = group_hashes(samples)
    return Labelled(*_codes(samples, columns, classes), None if hashes is None else codes_of(hashes))


def _codes(samples: pa.Table, columns: Sequence[str], classes: Mapping[str, int]) -> tuple[dict[str, Codes], Codes]:
    labels = {name: codes_in(samples[name], name, classes) for name in columns}
    return labels, pc.fill_null(samples["gold"], -1).to_numpy().astype(np.int64)


def codes_in(column: pa.ChunkedArray, name: str, classes: Mapping[str, int]) -> Codes:
    """The class codes of a column of labels, −1 where a cell is empty.

    >>> codes_in(pa.chunked_array([["yes", None, " no ", ""]]), "first", {"no": 0, "yes": 1}).tolist()
    [1, -1, 0, -1]
    """
    words = pc.utf8_trim_whitespace(column.combine_chunks().cast(pa.string())).dictionary_encode()
    differing = words.dictionary.to_pylist()  # in the order in which they first stand there
    unknown = next((word for word in differing if word and word not in classes), None)
    if unknown is not None:
        raise InputError(
            f"The column {name!r} of an annotator holds {unknown!r}, which is no class; there are {', '.join(classes)}."
        )
    codes = np.array([*(classes[word] if word else -1 for word in differing), -1], dtype=np.int64)
    return np.asarray(codes[pc.fill_null(words.indices, -1).to_numpy()])  # the last code is that of an empty cell


def count_patterns(samples: pa.Table, columns: Sequence[str], classes: Mapping[str, int]) -> dict[str, int]:
    """How many samples of a partition have each pattern: the codes of its labels, that of gold, and the pool of its
    group, if it has one.

    >>> rows = pa.table({"gold": [0, 0, None], "a": ["no", "no", "yes"], "b": ["no", "no", None]})
    >>> count_patterns(rows, ["a", "b"], {"no": 0, "yes": 1})
    {'0 0 0': 2, '1 -1 -1': 1}
    """
    labels, gold = _codes(samples, columns, classes)
    hashes = group_hashes(samples)
    coded = [*labels.values(), gold, *([] if hashes is None else [hashes % BLOCKS])]
    names = [str(place) for place in range(len(coded))]
    counted = pa.table(coded, names=names).group_by(names, use_threads=False).aggregate([([], "count_all")])
    patterns = zip(*(counted[name].to_pylist() for name in names), strict=True)
    return {
        " ".join(map(str, codes)): times
        for codes, times in zip(patterns, counted["count_all"].to_pylist(), strict=True)
    }


def labelled_patterns(counted: Mapping[str, int], columns: Sequence[str], *, grouped: bool = False) -> Labelled:
    """What `count_patterns` counted, a row per pattern, in an order of its own.

    >>> found = labelled_patterns({"0 0 0": 2, "1 -1 -1": 1}, ["a", "b"])
    >>> found.labels["b"].tolist(), found.gold.tolist(), found.times.tolist()
    ([0, -1], [0, -1], [2, 1])
    """
    patterns = sorted(counted)
    codes = np.array(" ".join(patterns).split(), dtype=np.int64).reshape(len(patterns), len(columns) + 1 + grouped)
    labels = {name: codes[:, place] for place, name in enumerate(columns)}
    pools = codes_of(codes[:, -1]) if grouped else None
    times = np.array([counted[pattern] for pattern in patterns], dtype=np.int64)
    return Labelled(labels, codes[:, len(columns)], pools, times)
