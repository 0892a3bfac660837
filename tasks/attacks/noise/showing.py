"""Noisy texts for people to look at: per kind of noise the gentlest that turns a right prediction wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.changed_text_schemas import ChangedTexts
from assay.tasks.attacks.noise.measuring import Answered, Codes
from assay.tasks.attacks.noise.rows import ENDS, NEWS, ORIGINAL, STARTS, rows_under
from assay.tasks.subjects.texts.rows import texts_of

MASK = "\u25a0\u25a0\u25a0\u25a0"


def telling_samples(
    noisy: Sequence[Answered], ids: Sequence[str], clean: Codes, truth: Codes, limit: int
) -> list[tuple[int, Answered]]:
    """At most `limit` pairs of a sample (its row) and the noise that makes a right prediction of it wrong.

    The kinds take turns; each begins with its lowest severity. Where no class is known, a flip will do.
    """
    kinds: dict[str, list[tuple[int, str, int, Answered]]] = {}
    for answered in noisy:
        right = np.where(truth >= 0, clean == truth, True)
        for row in np.flatnonzero(right & (answered.predicted != clean) & answered.changed).tolist():
            turn = (answered.condition.severity, ids[row], row, answered)
            kinds.setdefault(answered.condition.kind, []).append(turn)
    ranked = [
        (place, order, row, answered)
        for order, turns in enumerate(kinds.values())
        for place, (_, _, row, answered) in enumerate(sorted(turns, key=lambda turn: turn[:2]))
    ]
    return [(row, answered) for _, _, row, answered in sorted(ranked, key=lambda turn: turn[:2])[:limit]]


def noise_examples(
    noisy: pa.Table,
    samples: pa.Table,
    chosen: Sequence[tuple[int, Answered]],
    clean: Codes,
    *,
    text: str,
    called: str,
    masked: bool,
) -> pa.Table:
    """The chosen texts with every change that noise made to them; masked, only that there were so many."""
    rows = []
    for row, answered in chosen:
        sample = samples.slice(row, 1)
        under = noisy.filter(rows_under(noisy, answered.condition))
        noisy_row = under.filter(pc.equal(under[ORIGINAL], sample["id"][0])).to_pylist()[0]
        count = len(noisy_row[NEWS])
        places = list(range(count))
        rows.append(
            {
                "id": noisy_row[ORIGINAL],
                "attack": called,
                "group": answered.condition.group,
                "gold": noisy_row["gold"],
                "before": int(clean[row]),
                "after": int(answered.predicted[row]),
                "status": "success",
                "text": "" if masked else texts_of(sample, text)[0],
                "starts": places if masked else noisy_row[STARTS],
                "ends": places if masked else noisy_row[ENDS],
                "news": [MASK] * count if masked else noisy_row[NEWS],
                "words": None,
                "similarity": None,
            }
        )
    return pa.Table.from_pylist(rows, schema=ChangedTexts.schema)
