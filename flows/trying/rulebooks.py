"""A rulebook by the file that it stands in, and what it says of samples that are at hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.data.images import image_columns
from assay.flows.audits.curation.rulebooks import rulebook_of
from assay.infra.errors import InputError
from assay.infra.suggestions import suggestion
from assay.tasks.labeling.rules import Rulebook
from assay.tasks.labeling.settings import Labeling
from assay.tasks.labeling.task import AnyRulebook
from assay.tasks.labeling.voting import apply_rules
from assay.tasks.labeling.written_rulebook import WrittenRulebook

if TYPE_CHECKING:
    import pandas as pd


def rulebook_in(file: str | Path) -> AnyRulebook:
    """The rulebook of a `rules.yaml` or `rules.py` (`rules.py:OBJECT`), or one of ours by name."""
    written = str(file)
    if not written.partition(":")[0].endswith((".py", ".yaml", ".yml")):
        return rulebook_of(Labeling(functions=written), Path.cwd())[0]
    place, colon, attribute = written.partition(":")
    path = Path(place).absolute()
    return rulebook_of(Labeling(functions=f"{path.name}{colon}{attribute}"), path.parent)[0]


def cast(
    rulebook: AnyRulebook, samples: pa.Table, only: Collection[str] = ()
) -> tuple[Rulebook, pa.Table, Mapping[str, str]]:
    """The rules (`only` those, if any are named), their votes in the rulebook's codes, and what some raised."""
    book = rulebook.load()
    stranger = next((name for name in only if name not in book.names), None)
    if stranger is not None:
        raise InputError(f"There is no rule {stranger!r} in {book.name}; {suggestion(stranger, book.names)}.")
    if only:
        book = Rulebook(book.name, book.classes, [rule for rule in book.rules if rule.name in only])
    with rulebook.at_work():
        votes, faults = apply_rules(samples, book)
    return book, votes, {name: f"sample {one.sample}: {one.message}" for name, one in faults.items()}


def votes(
    rules: str | Path | Labeling,
    samples: Sequence[Mapping[str, Any]] | pa.Table | pd.DataFrame,
    *,
    only: Collection[str] = (),
) -> pd.DataFrame:
    """What rules say of samples: a column per rule, in it the name of a class, or None where the rule abstains.

    `rules` is a rules.yaml, a rules.py, a rulebook by name, or rules as `labeling` has them. Samples are a data frame,
    an Arrow table, or a list of dictionaries; a picture is an array [channels, height, width] under `image`. `only` the
    rules named there are asked, if any are: samples then need no more than those look at.

    >>> from assay.tasks.labeling.written import WrittenRule
    >>> written = [WrittenRule(keywords=("win",), vote="spam"), WrittenRule(pattern="song", vote="ham")]
    >>> table = votes(Labeling(rules=tuple(written)), [{"text": "Win a song"}, {"text": "hello"}])
    >>> table["says win"].tolist(), table["matches song"].tolist()
    (['spam', None], ['ham', None])
    """
    rulebook = WrittenRulebook(rules) if isinstance(rules, Labeling) and rules.rules else rulebook_in(str(rules))
    book, table, faults = cast(rulebook, table_of(samples), only)
    if faults:
        name = min(faults)
        raise InputError(f"The labelling function {name} raised on {faults[name]}.")
    import pandas as pd

    names = dict(enumerate(book.classes))
    return pd.DataFrame(
        {rule: pd.Series([names.get(vote) for vote in table[rule].to_pylist()], dtype=object) for rule in book.names}
    )


def table_of(samples: Sequence[Mapping[str, Any]] | pa.Table | pd.DataFrame) -> pa.Table:
    """Samples as the table that rules are shown, named by their position where they have no `id`.

    >>> table_of([{"text": "a"}, {"text": "b"}])["id"].to_pylist()
    ['0', '1']
    """
    if isinstance(samples, pa.Table):
        table = samples
    elif hasattr(samples, "columns"):
        table = pa.Table.from_pandas(samples, preserve_index=False)
    else:
        rows = list(samples)
        plain = [{name: value for name, value in row.items() if name != "image"} for row in rows]
        pictures = [row["image"] for row in rows if "image" in row]
        table = pa.Table.from_pylist([row | {"": None} for row in plain]).drop_columns([""])
        if pictures:
            stacked = np.stack(pictures)
            pixels = stacked if stacked.dtype == np.uint8 else stacked.astype(np.float32)
            table = pa.table({**dict(zip(table.column_names, table.columns, strict=True)), **image_columns(pixels)})
    if "id" not in table.column_names:
        table = table.append_column("id", pa.array([str(row) for row in range(len(table))], pa.string()))
    return table
