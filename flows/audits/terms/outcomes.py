"""What single sentences add to the F1, precision and recall of taggers, and single pairs to a scorer's mean error."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.flows.audits.kind import Ground
from assay.flows.audits.outcomes import SAMPLES, Handles, Outcomes, Tables, in_groups
from assay.flows.audits.subjects.flow import Examination
from assay.flows.audits.terms.flow import TermAudit
from assay.tasks.attacks.terms.matching import counts_of
from assay.tasks.statistics.sampled import Sampled

TAGGED = ("ner.f1", "ner.precision", "ner.recall")


def outcomes(ground: Ground, result: TermAudit) -> Iterator[Outcomes]:
    """The measures of every model, on the original samples and on the attacked ones; a correlation belongs to no single
    pair, so of scorers there is the mean absolute error."""
    samples = ground.of(Examination).evaluation
    for model, measured in result.challenged.measures.items():
        for name, asked in measured.sets.items():
            of, _, group = name.partition("|")
            if asked.matches is not None:
                tables: Handles = {"matches": asked.matches, SAMPLES: samples}
                yield from (Outcomes(metric, model, "matches", tables, of, key=group) for metric in TAGGED)
            else:
                yield Outcomes("sts.mae", model, "scores", {"scores": asked.answers, SAMPLES: samples}, of, key=group)


def sampled(outcomes: Outcomes, tables: Tables, _of: str, group: str) -> Sampled | None:
    """What single sentences or pairs add at one severity."""
    if group != outcomes.key:
        return None
    per_sample = _scored(tables) if outcomes.reading == "scores" else _tagged(tables, outcomes.metric)
    return in_groups(per_sample, tables)


def _tagged(tables: Tables, metric: str) -> Sampled:
    rows = tables.read("matches", ["id", "gold_hits", "said_hits"])
    hits, named, there = counts_of(rows).astype(np.float64).T
    above, below = {
        "ner.f1": (2 * hits, named + there),
        "ner.precision": (hits, named),
        "ner.recall": (hits, there),
    }[metric]
    return Sampled(np.array(rows["id"].to_pylist(), dtype=np.str_), above, below)


def _scored(tables: Tables) -> Sampled:
    rows = tables.read("scores", ["id", "gold", "predicted"])
    rows = rows.filter(rows["gold"].is_valid())
    apart = np.abs(rows["gold"].to_numpy() - rows["predicted"].to_numpy())
    return Sampled(np.array(rows["id"].to_pylist(), dtype=np.str_), apart, np.ones(len(apart)))
