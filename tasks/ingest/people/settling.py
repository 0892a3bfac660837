"""Gold with people's answers in it, and what became of every sample that they were asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.answer_schemas import PeoplesAnswers
from assay.tasks.ingest.people.answers import CONFIRMED, NEW, OVERRULED, Said
from assay.tasks.statistics.classification import proportion
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.groups import group_hashes

_CODE = pa.int16()


def settled_samples(samples: pa.Table, judged: Mapping[str, Said], classes: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """One partition's samples with people's answers as their gold, and its PeoplesAnswers.

    >>> rows = pa.table({"id": ["a", "b", "c"], "gold": pa.array([0, None, 1], _CODE)})
    >>> told = {"a": Said("spam", 2, 2), "b": Said("ham", 1, 1), "c": Said(None, 2, 1), "elsewhere": Said("ham", 1, 1)}
    >>> settled, answers = settled_samples(rows, told, ["ham", "spam"])
    >>> settled["gold"].to_pylist(), answers["outcome"].to_pylist()
    ([1, 0, 1], ['overruled', 'new', 'tied'])
    """
    ids = samples["id"].combine_chunks()
    asked = np.flatnonzero(pc.is_in(ids, value_set=pa.array(judged, pa.string())).to_numpy(zero_copy_only=False))
    rows = samples.select([name for name in samples.column_names if name != "gold"]).take(pa.array(asked))
    names, before = rows["id"].to_pylist(), samples["gold"].take(pa.array(asked)).to_pylist()
    codes = {name: code for code, name in enumerate(classes)}
    each = [judged[name] for name in names]
    answers = [None if one.choice is None else codes[one.choice] for one in each]
    given = np.full(len(ids), -1, np.int16)
    given[asked] = [-1 if code is None else code for code in answers]
    gold = pc.coalesce(pa.array(given, _CODE, mask=given < 0), samples["gold"].combine_chunks())
    clusters = group_hashes(rows)
    columns = {
        "id": names,
        "before": before,
        "answer": answers,
        "gold": gold.take(pa.array(asked)),
        "people": [one.people for one in each],
        "agreeing": [one.agreeing for one in each],
        "skipped": [one.skipped for one in each],
        "outcome": [
            one.outcome(None if code is None else classes[code]) for one, code in zip(each, before, strict=True)
        ],
        "cluster": pa.nulls(len(names), pa.int64()) if clusters is None else clusters,
    }
    at = samples.schema.get_field_index("gold")
    return samples.set_column(at, samples.schema.field(at), gold), pa.table(columns, schema=PeoplesAnswers.schema)


def answer_findings(answers: pa.Table) -> list[Finding]:
    """`answers.given` of the samples that people were asked about, `.overruled` of those with gold before,
    `.unanimous` of those that several answered.

    >>> told = {"a": Said("spam", 2, 2), "b": Said("ham", 1, 1)}
    >>> rows = pa.table({"id": ["a", "b"], "gold": pa.array([0, None], _CODE)})
    >>> [(one.metric, one.value, one.n) for one in answer_findings(settled_samples(rows, told, ["ham", "spam"])[1])]
    [('answers.given', 1.0, 2), ('answers.overruled', 1.0, 1), ('answers.unanimous', 1.0, 1)]
    """
    outcome = np.array(answers["outcome"].to_pylist(), dtype=np.str_)
    people, agreeing = answers["people"].to_numpy(), answers["agreeing"].to_numpy()
    clusters = None if answers["cluster"].null_count else codes_of(answers["cluster"].to_numpy())
    about = About("answers", "")
    held = np.isin(outcome, [CONFIRMED, OVERRULED])
    return [
        about.finding("given", proportion(np.isin(outcome, [NEW, CONFIRMED, OVERRULED]), groups=clusters)),
        about.finding("overruled", proportion(outcome == OVERRULED, held, groups=clusters)),
        about.finding("unanimous", proportion(agreeing == people, people > 1, groups=clusters)),
    ]
