"""What is measured of samples in groups is the same bit for bit in 1, 7 and 40 partitions: by one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import (
    AttackedTexts,
    Certified,
    Classes,
    CosineLimits,
    EntityMatches,
    Predictions,
    Samples,
    Scored,
    Thresholds,
    TrustLabels,
    TrustTruth,
)
from assay.infra.stages.partitions import map_pieces
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact, Table
from assay.tasks.attacks.terms.task import compare_scorers, compare_taggers, measure_scorer, measure_tagger
from assay.tasks.attacks.texts.task import compare_words, measure_words
from assay.tasks.defenses.settings import Smoothing
from assay.tasks.defenses.smoothing_task import measure_certified
from assay.tasks.defenses.text_task import measure_text_defences
from assay.tasks.statistics.groups import GROUP
from assay.tasks.statistics.settings import Statistics
from assay.tasks.subjects.images.task import measure_images
from assay.tasks.subjects.texts.task import measure_texts
from assay.tasks.trust.task import measure_trust

N, GROUPS = 160, 40
CUTS = {1: [N], 7: [23] * 6 + [22], 40: [4] * 40}
IDS = [f"s{at:03}" for at in range(N)]
KINDS: dict[str, type[Table]] = {
    "samples": Samples,
    "predictions": Predictions,
    "words": AttackedTexts,
    "matches": EntityMatches,
    "scored": Scored,
    "certified": Certified,
    "labels": TrustLabels,
    "truth": TrustTruth,
}


@dataclass(frozen=True)
class Piece:
    kind: str
    start: int
    stop: int
    seed: int
    grouped: bool


def table_of(kind: str, seed: int, grouped: bool) -> pa.Table:
    """All rows of one kind, drawn anew in every process alike."""
    rng = np.random.default_rng([seed, sorted(KINDS).index(kind)])
    gold, said = rng.integers(0, 2, N), rng.integers(0, 2, N)
    chance = rng.random(N)
    both = [[1 - one, one] for one in chance.tolist()]
    if kind == "samples":
        truth = np.random.default_rng(0).integers(0, 2, N)
        columns: dict[str, Any] = {"id": IDS, "gold": pa.array(truth, pa.int16())}
        return pa.table(columns | ({GROUP: [str(at % GROUPS) for at in range(N)]} if grouped else {}))
    if kind == "predictions":
        columns = {"id": IDS, "predicted": (chance > 0.5).astype(int), "probabilities": both}
    elif kind == "words":
        changed = rng.integers(1, 9, N)
        status = np.where(chance < 0.6, "success", np.where(chance < 0.9, "failed", "skipped"))
        fixed = dict.fromkeys(("text", "attacked_text", "reason"), [""] * N) | {"ranking": ["gradient"] * N}
        lists = dict.fromkeys(("positions", "starts", "ends", "originals", "replacements"), [[]] * N)
        columns = (
            {
                "id": IDS,
                "gold": gold,
                "status": status,
                "predicted": gold,
                "probabilities": both,
                "attacked": said,
                "attacked_probabilities": both,
                "words": [40] * N,
                "changed": changed,
                "modified": changed / 40,
                "similarity": chance,
                "encoder": ["e"] * N,
                "second_similarity": chance,
                "second_encoder": ["f"] * N,
                "queries": 7 * changed,
                "refused": [1] * N,
                "providers": [["p"]] * N,
                "limits": [[0.5]] * N,
            }
            | fixed
            | lists
        )
    elif kind == "matches":
        hits = [[bool(one)] for one in chance < 0.7]
        one_each = {"kinds": [["D"]] * N, "lengths": [[1]] * N, "hits": hits, "seen": [[True]] * N}
        columns = {"id": IDS} | {f"{who}_{name}": one for who in ("gold", "said") for name, one in one_each.items()}
    elif kind == "scored":
        people = np.random.default_rng(1).random(N)
        columns = {"id": IDS, "gold": 5 * people, "predicted": 5 * people + chance}
    elif kind == "certified":
        columns = {
            "id": IDS,
            "subject": ["x"] * N,
            "gold": gold,
            "predicted": said,
            "radius": chance,
            "abstains": chance < 0.1,
            "lower": chance,
            "hits": [9] * N,
            "draws": [10] * N,
        }
    elif kind == "truth":
        truths = np.where(chance < 0.4, "untrustworthy", "trustworthy")
        columns = {"id": IDS, "explainer": [""] * N, "truth": truths, "precision": chance}
    else:
        return _labels(chance)
    return pa.table([pa.array(columns[f.name], f.type) for f in KINDS[kind].schema], schema=KINDS[kind].schema)


def _labels(chance: np.ndarray) -> pa.Table:
    rows = [
        {
            "id": key,
            "explainer": "lime",
            "oracle": oracle,
            "gold": 0,
            "predicted": 0,
            "confidence": one,
            "reason": "",
            "label": "untrustworthy" if (one * turn) % 1 < 0.4 else "trustworthy",
            "related_mass": one,
            "unrelated_mass": 1 - one,
            "words": [],
            "importance": [],
            "related": [],
        }
        for key, one in zip(IDS, chance.tolist(), strict=True)
        for oracle, turn in (("toki", 1), ("toki-ki", 3), ("naive", 7))
    ]
    return pa.Table.from_pylist(rows, schema=TrustLabels.schema)


def rows_of(piece: Piece) -> pa.Table:
    table = table_of(piece.kind, piece.seed, piece.grouped)
    each = table.num_rows // N
    return table.slice(each * piece.start, each * (piece.stop - piece.start))


@stage(version=1)
def put(kind: str, sizes: list[int], seed: int = 0, grouped: bool = False) -> Artifact[Any]:
    ends = np.cumsum(sizes).tolist()
    pieces = [Piece(kind, end - size, end, seed, grouped) for end, size in zip(ends, sizes, strict=True)]
    return map_pieces(rows_of, pieces, into=KINDS[kind])


@stage(version=1)
def put_small(kind: str) -> Artifact[Any]:
    if kind == "classes":
        return write_table(pa.table({"code": [0, 1], "name": ["a", "b"]}, schema=Classes.schema), into=Classes)
    if kind == "limits":
        return write_table(CosineLimits.schema.empty_table(), into=CosineLimits)
    return write_table(Thresholds.schema.empty_table(), into=Thresholds)


Put = Callable[..., Artifact[Any]]
ATTACKED = ("clean|", "swap|share=1")


def sets(put: Put, kind: str, seeds: tuple[int, int]) -> dict[str, Artifact[Any]]:
    return {name: put(kind, seed=seed) for name, seed in zip(ATTACKED, seeds, strict=True)}


MEASURED: dict[str, Callable[[Put, Artifact[Samples]], Artifact[Any]]] = {
    "images": lambda put, samples: measure_images(put("predictions"), samples, put_small("classes"), "x"),
    "texts": lambda put, samples: measure_texts(put("predictions"), samples, put_small("classes"), "x"),
    "words": lambda put, samples: measure_words(
        put("words"), "a2t", "x", put_small("limits"), samples, put_small("classes")
    ),
    "words compared": lambda put, samples: compare_words(
        put("words"), put("words", seed=1), "a", "b", "x", 0.05, samples
    ),
    "text defences": lambda put, samples: measure_text_defences(
        {"none": put("predictions"), "on-a2t": put("predictions", seed=1)},
        {"none": {"a2t": put("words")}, "on-a2t": {"a2t": put("words", seed=1)}},
        {},
        {},
        samples,
        put_small("classes"),
        "x",
        0.05,
    ),
    "tagger": lambda put, samples: measure_tagger(sets(put, "matches", (0, 1)), "x", Statistics(), samples),
    "taggers": lambda put, samples: compare_taggers(
        sets(put, "matches", (0, 1)), sets(put, "matches", (2, 3)), "x", ["swap"], samples, sets(put, "matches", (4, 5))
    ),
    "scorer": lambda put, samples: measure_scorer(sets(put, "scored", (0, 1)), "x", samples),
    "scorers": lambda put, samples: compare_scorers(
        sets(put, "scored", (0, 1)), sets(put, "scored", (2, 3)), "x", ["swap"], samples
    ),
    "trust": lambda put, samples: measure_trust(
        put("labels"),
        put_small("thresholds"),
        samples,
        put("predictions"),
        put("truth"),
        put_small("classes"),
        "lime",
        "x",
    ),
    "certificates": lambda put, samples: measure_certified(put("certified"), "x", "as-it-is", Smoothing(), samples),
}


@pytest.mark.parametrize("name", MEASURED)
def test_the_same_bits_for_1_7_and_40_partitions(make_run, name: str) -> None:
    digests, alone = set(), set()
    for partitions, sizes in CUTS.items():
        with make_run(f"cut{partitions}", fresh=True):

            def cut(kind: str, seed: int = 0, *, sizes: list[int] = sizes) -> Artifact[Any]:
                return put(kind, sizes, seed)

            digests.add(MEASURED[name](cut, put("samples", sizes, 0, True)).digest)
            if partitions == 1:
                alone.add(MEASURED[name](cut, put("samples", sizes)).digest)
    assert len(digests) == 1
    assert not alone & digests  # groups are counted
